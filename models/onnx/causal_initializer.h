#pragma once

#include "ir/builder.h"

#include <optional>

namespace stepc::onnx_import {

// A stored mask [.., S, T] with one number where key <= query + offset and another elsewhere, in all planes, as nodes
// that compute it: what reads it can see what it is, and nothing of its size is stored. kNoValue for any other tensor.
// The data is read once.
ValueId causal_initializer(Builder& b, const TensorView& data, Dtype dtype);

}  // namespace stepc::onnx_import
