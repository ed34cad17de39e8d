#pragma once

#include "ir/tensor.h"

#include <map>
#include <string>

namespace stepc {

// Copies the ONNX model `source` to `path` with new payloads for initializers, by their names and in the layout that
// they have there (dtypes are converted); other initializers keep theirs. Metadata and nodes stay as they are.
void save_onnx(const std::string& source, const std::map<std::string, Tensor>& weights, const std::string& path);

}  // namespace stepc
