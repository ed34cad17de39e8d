#include "ir/ops/movement.h"

#include "ir/ops/index_space.h"
#include "ir/support/error.h"

#include <algorithm>
#include <array>

namespace stepc {
namespace {

ScalarOp scalar_op(const std::string& reduction) {
  if (reduction == "add") return ScalarOp::add;
  if (reduction == "mul") return ScalarOp::mul;
  if (reduction == "max") return ScalarOp::maximum;
  CHECK(reduction == "min", "reduction {}", reduction);
  return ScalarOp::minimum;
}

ScalarValue scalar_value(const RefTensor& tensor, int64_t index) {
  const auto i = static_cast<size_t>(index);
  return tensor.is_real() ? ScalarValue{tensor.real[i], 0} : ScalarValue{0, tensor.integer[i]};
}

}  // namespace

size_t axis_of(const InferArgs& args, size_t rank) {
  const int64_t axis = args.attrs.integer("axis");
  if (axis < 0 || axis >= static_cast<int64_t>(rank)) user_error("axis {} is out of range for rank {}", axis, rank);
  return static_cast<size_t>(axis);
}

void require_indices(const Type& indices) {
  if (indices.dtype != Dtype::i64 && indices.dtype != Dtype::i32)
    user_error("indices are {}, expected i64 or i32", dtype_name(indices.dtype));
}

int64_t resolve_index(int64_t index, int64_t size, size_t axis) {
  if (index < -size || index >= size) user_error("index {} is out of range for axis {} of size {}", index, axis, size);
  return index < 0 ? index + size : index;
}

Shape gather_shape(const Shape& data, const Shape& indices, size_t axis) {
  Dims dims(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.end(), indices.begin(), indices.end());
  dims.insert(dims.end(), data.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.end());
  return Shape(std::move(dims));
}

void for_each_indexed_element(const Shape& data, const RefTensor& indices, size_t axis,
                              const std::function<void(int64_t, int64_t)>& f) {
  const Dims strides = row_major_strides(data);
  int64_t k = 0;
  for_each_point(indices.type.shape, [&](const Dims& point) {
    const int64_t index = resolve_index(indices.integer[static_cast<size_t>(k)], data[axis], axis);
    f(k, offset_of(point, strides) + (index - point[axis]) * strides[axis]);
    ++k;
  });
}

void check_element_indices(const Type& data, const Type& indices, size_t axis) {
  require_indices(indices);
  bool fits = indices.shape.rank() == data.shape.rank();
  for (size_t i = 0; fits && i < data.shape.rank(); ++i) fits = i == axis || indices.shape[i] <= data.shape[i];
  if (!fits)
    user_error("indices {} reach outside data {} on an axis other than {}", to_string(indices.shape),
               to_string(data.shape), axis);
}

void for_each_indexed_slice(const Shape& data, const RefTensor& indices, size_t batch_dims,
                            const std::function<void(int64_t, int64_t)>& f) {
  const Dims strides = row_major_strides(data);
  const Shape& shape = indices.type.shape;
  const auto tuple_length = static_cast<size_t>(shape[shape.rank() - 1]);
  int64_t k = 0;
  for_each_point(Shape(Dims(shape.begin(), shape.end() - 1)), [&](const Dims& point) {
    int64_t offset = 0;
    for (size_t i = 0; i < batch_dims; ++i) offset += point[i] * strides[i];
    for (size_t i = 0; i < tuple_length; ++i) {
      const size_t axis = batch_dims + i;
      const int64_t index = indices.integer[static_cast<size_t>(k) * tuple_length + i];
      offset += resolve_index(index, data[axis], axis) * strides[axis];
    }
    f(k++, offset);
  });
}

Shape indexed_slices_shape(const Type& data, const Type& indices, size_t batch_dims) {
  require_indices(indices);
  const Shape& shape = indices.shape;
  if (shape.rank() <= batch_dims || data.shape.rank() <= batch_dims)
    user_error("{} batch dims with data {} and indices {}", batch_dims, to_string(data.shape), to_string(shape));
  const int64_t tuple_length = shape[shape.rank() - 1];
  if (tuple_length < 1 || tuple_length > static_cast<int64_t>(data.shape.rank() - batch_dims))
    user_error("index tuples of length {} for data {} with {} batch dims", tuple_length, to_string(data.shape),
               batch_dims);
  if (!std::equal(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(batch_dims), data.shape.begin()))
    user_error("the first {} dims of data {} and indices {} differ", batch_dims, to_string(data.shape),
               to_string(shape));
  Dims dims(shape.begin(), shape.end() - 1);
  dims.insert(dims.end(), data.shape.begin() + static_cast<std::ptrdiff_t>(batch_dims) + tuple_length,
              data.shape.end());
  return Shape(std::move(dims));
}

Combine combine_of(const std::string& reduction, Dtype dtype) {
  if (reduction == "none")
    return [](RefTensor& out, int64_t index, const RefTensor& updates, int64_t k) { out.copy(index, updates, k); };
  ScalarDag dag;
  const ScalarId result = dag.binary(scalar_op(reduction), dag.operand(0, dtype), dag.operand(1, dtype));
  return [dag, result](RefTensor& out, int64_t index, const RefTensor& updates, int64_t k) {
    const std::array operands{scalar_value(out, index), scalar_value(updates, k)};
    const ScalarValue value = evaluate(dag, result, operands, false);
    if (out.is_real())
      out.real[static_cast<size_t>(index)] = value.real;
    else
      out.integer[static_cast<size_t>(index)] = value.integer;
  };
}

void check_reduction(const InferArgs& args) {
  const std::string& reduction = args.attrs.text("reduction");
  constexpr std::array<std::string_view, 5> kKnown{"none", "add", "mul", "max", "min"};
  if (std::find(kKnown.begin(), kKnown.end(), reduction) == kKnown.end())
    user_error("reduction is \"{}\", expected none, add, mul, max or min", reduction);
  if (reduction != "none" && args.in(0).dtype == Dtype::boolean) user_error("bools have no reduction {}", reduction);
}

Cost gather_bytes(const Graph& graph, const Node& node) {
  const int64_t taken = graph.type(node.outputs[0]).bytes();
  const int64_t data = std::min(taken, graph.type(node.inputs[0]).bytes());
  return Cost{.read_bytes = data + graph.type(node.inputs[1]).bytes(), .write_bytes = taken};
}

int64_t scatter_flops(const Graph& graph, const Node& node) {
  const bool overwrites = node.attrs.has("reduction") && node.attrs.text("reduction") == "none";
  return overwrites ? 0 : graph.shape(node.inputs[2]).numel();
}

}  // namespace stepc
