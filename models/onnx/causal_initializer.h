#pragma once

#include "ir/builder.h"

namespace stepc::onnx_import {

// A stored mask [.., S, T] with one number where key <= query + offset and another elsewhere, in all planes, as nodes
// that compute it: what reads it can see what it is, and nothing of its size is stored. Of bools or floats; kNoValue
// for any other tensor. The data is read once.
ValueId causal_initializer(Builder& b, const TensorView& data, Dtype dtype);

}  // namespace stepc::onnx_import
