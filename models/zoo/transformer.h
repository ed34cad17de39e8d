#pragma once

#include "models/zoo/onnx_writer.h"
#include "models/zoo/zoo.h"

namespace stepc::zoo {

// The model's forward graph as ONNX, opset 23, parameters without payload.
OnnxWriter write_transformer(const ZooConfig& config);

}  // namespace stepc::zoo
