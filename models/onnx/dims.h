#pragma once

#include "ir/shape.h"

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace stepc::onnx_import {

// One dimension of a model input as the file declares it: a size, or a symbol.
struct DeclaredDim {
  int64_t size = -1;   // -1: symbolic
  std::string symbol;  // "batch"; a dimension without a name is called after its place: "input_ids.0"
};

// A model input: a tensor that the caller gives. Initializers that old files also list as inputs are left out.
struct DeclaredInput {
  std::string name;
  int32_t element_type = 0;  // TensorProto.DataType
  bool has_rank = false;
  std::vector<DeclaredDim> dims;
};

std::vector<DeclaredInput> declared_inputs(const onnx::GraphProto& graph);
std::vector<DeclaredDim> declared_dims(const onnx::ValueInfoProto& value);  // empty without a shape

using DimBindings = std::map<std::string, int64_t>;
using InputShapes = std::map<std::string, Dims>;  // of the data, by input name

// Static shapes of the inputs, in their order, from what the caller binds and from the shapes of the data. On return
// `dims` holds every symbol's size. Throws UserError where a size disagrees, a name is unknown or symbols stay unbound:
// those are listed all at once.
std::vector<Shape> bind_dims(const std::vector<DeclaredInput>& inputs, const InputShapes& data, DimBindings& dims);

}  // namespace stepc::onnx_import
