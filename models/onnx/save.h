#pragma once

#include "ir/tensor.h"

#include <functional>
#include <optional>
#include <string>

namespace stepc {

// The trained value of an initializer, by its name and in the layout that it has in the file (its dtype is converted);
// nothing where it keeps what it has.
using TrainedWeight = std::function<std::optional<Tensor>(const std::string& initializer)>;

// Copies the ONNX model `source` to `path` with new payloads; everything else stays as it is. Weights are asked for
// one after the other.
void save_onnx(const std::string& source, const TrainedWeight& trained, const std::string& path);

}  // namespace stepc
