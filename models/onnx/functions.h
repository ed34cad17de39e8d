#pragma once

#include "models/onnx/operators.h"

#include <onnx/onnx_pb.h>

namespace stepc::onnx_import {

// Replaces the calls of the model's functions by their nodes, in branches too. Such a node is called after its calls
// ("/blocks.0/Block/norm/Sqrt_2"), and its scope is that of its calls ("blocks.0.norm"): see scope_of. Throws UserError
// for functions that call each other into millions of nodes, and for what cannot be inlined.
void inline_functions(onnx::ModelProto& model);

}  // namespace stepc::onnx_import
