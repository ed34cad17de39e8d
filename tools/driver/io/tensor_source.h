#pragma once

#include "ir/tensor.h"

#include <functional>
#include <string>

namespace stepc {

// A named tensor to write, made when its turn comes: a file of all weights needs one of them in memory at a time.
struct TensorSource {
  std::string name;
  Type type;
  std::function<Tensor()> make;
};

}  // namespace stepc
