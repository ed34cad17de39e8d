#include "models/onnx/trainable.h"

#include "ir/op_def.h"
#include "ir/support/quote.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

namespace stepc::onnx_import {
namespace {

// Masks are filled with -inf or the lowest number of the dtype, in many places; no weight comes near. A million
// elements, evenly spread, tell.
bool looks_like_mask(const TensorView& view) {
  const double limit = view.type.dtype == Dtype::f16 ? 65503 : 1e30;
  const int64_t numel = view.type.shape.numel();
  const int64_t stride = 1 + numel / 1'000'000;
  for (int64_t i = 0; i < numel; i += stride)
    if (!(std::abs(element(view, i)) <= limit)) return true;
  return false;
}

// Whether at least half of the vectors along one axis repeat others: an expanded or gathered parameter, whose elements
// are not independent. Vectors are told apart by their bytes.
bool repeats_along(const TensorView& view, size_t axis) {
  const Shape& shape = view.type.shape;
  const int64_t length = shape[axis];
  const int64_t vectors = length == 0 ? 0 : shape.numel() / length;
  if (length < 2 || vectors < 2) return false;
  const int64_t stride = row_major_strides(shape)[axis];
  const auto width = static_cast<size_t>(dtype_bytes(view.type.dtype));
  std::set<std::string> distinct;
  for (int64_t v = 0; v < vectors; ++v) {
    const int64_t start = v / stride * stride * length + v % stride;
    std::string bytes;
    for (int64_t k = 0; k < length; ++k) {
      const auto* at = reinterpret_cast<const char*>(view.data) + static_cast<size_t>(start + k * stride) * width;
      bytes.append(at, width);
    }
    distinct.insert(std::move(bytes));
  }
  return 2 * static_cast<int64_t>(distinct.size()) <= vectors;
}

bool expanded_along(const TensorView& view, size_t axis) {
  const Shape& shape = view.type.shape;
  const int64_t inner = row_major_strides(shape)[axis];
  const auto slice = static_cast<size_t>(inner * dtype_bytes(view.type.dtype));
  if (shape[axis] < 2) return false;
  for (int64_t outer = 0; outer < shape.numel() / (inner * shape[axis]); ++outer) {
    const std::byte* first = view.data + static_cast<size_t>(outer * shape[axis]) * slice;
    for (int64_t k = 1; k < shape[axis]; ++k)
      if (std::memcmp(first, first + static_cast<size_t>(k) * slice, slice) != 0) return false;
  }
  return true;
}

bool repeats_elements(const TensorView& view) {
  if (view.type.shape.rank() < 2 || view.type.shape.numel() == 0) return false;
  for (size_t axis = 0; axis < view.type.shape.rank(); ++axis)
    if (expanded_along(view, axis) || repeats_along(view, axis)) return true;
  return false;
}

// What a value is made of, as far as rotary tables need it: nothing that trains, one vector of weights, or more.
struct Sources {
  enum class Kind : uint8_t { none, vector, many } kind = Kind::none;
  ValueId vector;

  void merge(const Sources& other) {
    if (other.kind == Kind::none || (kind == other.kind && vector == other.vector)) return;
    *this = kind == Kind::none ? other : Sources{Kind::many, kNoValue};
  }
};

std::vector<Sources> sources_of_values(const Graph& graph, const std::set<ValueId>& parameters) {
  std::vector<Sources> sources(static_cast<size_t>(graph.value_limit()));
  for (const GraphInput& input : graph.inputs()) {
    const Type& type = graph.type(input.value);
    if (!is_float(type.dtype)) continue;
    const bool vector = input.role == InputRole::weight && parameters.count(input.value) == 0 &&
                        std::find(type.shape.begin(), type.shape.end(), type.shape.numel()) != type.shape.end();
    sources[static_cast<size_t>(input.value.index)] =
        vector ? Sources{Sources::Kind::vector, input.value} : Sources{Sources::Kind::many, kNoValue};
  }
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
    const Node& node = graph.node(id);
    Sources merged;
    for (const ValueId input : node.inputs)
      if (input.valid()) merged.merge(sources[static_cast<size_t>(input.index)]);
    for (const ValueId output : node.outputs) sources[static_cast<size_t>(output.index)] = merged;
  }
  return sources;
}

}  // namespace

Decision decide_from_file(const StoredTensor& tensor, const ParameterIdentity& identity) {
  const Shape& shape = tensor.type.shape;
  if (!is_float(tensor.type.dtype)) return {false, "not a float tensor"};
  if (identity.kind == ParameterKind::buffer) return {false, "a buffer of the exported module"};
  if (identity.kind == ParameterKind::constant) return {false, "computed by the exporter from constants"};
  const std::string source = one_line(identity.derived_from, 160);
  if (!identity.derived_from.empty()) {
    if (tensor.data && repeats_elements(*tensor.data))
      return {false, "the exporter expanded parameter '" + source + "' into it, so its elements are not independent"};
    return {true, "computed by the exporter from parameter '" + source + "', trained in its place"};
  }
  if (identity.kind == ParameterKind::parameter) return {true, "a parameter of the exported module"};
  if (shape.numel() <= 1) return {false, "a scalar constant"};
  if (tensor.data && looks_like_mask(*tensor.data)) return {false, "holds infinite or extreme values: a mask"};
  return {true, "a float initializer on a path to the outputs"};
}

std::vector<bool> inputs_on_gradient_path(const Graph& graph, const std::set<ValueId>& parameters) {
  const std::vector<Sources> sources = sources_of_values(graph, parameters);
  std::vector<bool> needed(static_cast<size_t>(graph.value_limit()));
  const auto need = [&](ValueId value) {
    if (value.valid() && is_float(graph.dtype(value))) needed[static_cast<size_t>(value.index)] = true;
  };
  for (const GraphOutput& output : graph.outputs()) need(output.value);
  for (NodeId id = graph.last(); id.valid(); id = graph.previous(id)) {
    const Node& node = graph.node(id);
    if (std::none_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId output) { return needed[static_cast<size_t>(output.index)]; }))
      continue;
    if (op_def(node.op).vjp == nullptr) continue;
    const bool periodic = node.op == Op::cos || node.op == Op::sin;
    if (periodic && sources[static_cast<size_t>(node.inputs[0].index)].kind == Sources::Kind::vector) continue;
    for (const ValueId input : node.inputs) need(input);
  }
  std::vector<bool> reached;
  for (const GraphInput& input : graph.inputs()) reached.push_back(needed[static_cast<size_t>(input.value.index)]);
  return reached;
}

}  // namespace stepc::onnx_import
