#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stepc::onnx_import {
namespace {

void constant(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  if (n.has("value")) return l.set(0, b.constant(l.tensor(n, "value")));
  if (n.has("value_int")) return l.set(0, b.constant(Tensor::of_i64(std::array{n.integer("value_int", 0)}, Shape{})));
  if (n.has("value_float")) return l.set(0, b.scalar(n.real("value_float", 0), Dtype::f32));
  if (const auto integers = n.integers("value_ints"))
    return l.set(0, b.constant(Tensor::of_i64(*integers, Shape{static_cast<int64_t>(integers->size())})));
  if (const auto reals = n.reals("value_floats"))
    return l.set(0, b.constant(Tensor::of_f32(*reals, Shape{static_cast<int64_t>(reals->size())})));
  user_error("the constant is neither a dense tensor nor numbers (sparse tensors and strings are not supported)");
}

void constant_of_shape(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  const Shape shape(l.known_integers(0, "the shape of ConstantOfShape"));
  const Tensor value = n.has("value") ? l.tensor(n, "value") : Tensor::scalar(Dtype::f32, 0);
  if (value.type().shape.numel() != 1) user_error("value is {} where one element is expected", to_string(value.type()));
  l.set(0, b.expand(b.reshape(b.constant(value), Shape{}), shape));
}

// ⌈(limit − start) / delta⌉ without overflow: the distance fits 64 bits without sign.
int64_t range_size(int64_t start, int64_t limit, int64_t delta) {
  if (delta > 0 ? start >= limit : start <= limit) return 0;
  const auto from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(limit), by = static_cast<uint64_t>(delta);
  const uint64_t size = delta > 0 ? (to - from - 1) / by + 1 : (from - to - 1) / (0 - by) + 1;
  if (size > uint64_t{1} << 40) user_error("a range of {} elements is not supported", size);
  return static_cast<int64_t>(size);
}

// limit is exclusive; element i is start + i·delta, in the operands' dtype.
void range(Lowering& l, const OnnxNode&) {
  const Dtype dtype = l.type(0).dtype;
  if (!is_float(dtype)) {
    const int64_t start = l.known_integer(0, "start");
    const int64_t limit = l.known_integer(1, "limit");
    const int64_t delta = l.known_integer(2, "delta");
    if (delta == 0) user_error("delta is 0");
    ValueId result = l.b.iota(dtype, Shape{range_size(start, limit, delta)}, 0);
    if (delta != 1) result = l.b.mul(result, static_cast<double>(delta));
    if (start != 0) result = l.b.add(result, static_cast<double>(start));
    return l.set(0, result);
  }
  const double start = l.known_number(0, "start");
  const double delta = l.known_number(2, "delta");
  const double size = std::ceil((l.known_number(1, "limit") - start) / delta);
  // Written out element by element: past 2^24 a float32 position is not exact anyway.
  if (!(size <= 0x1p24)) user_error("a range of {} floats is not supported", size);
  Tensor values(Type{dtype, Shape{size > 0 ? static_cast<int64_t>(size) : 0}});
  for (int64_t i = 0; i < values.type().shape.numel(); ++i)
    set_element(values, i, start + static_cast<double>(i) * delta);
  l.set(0, l.b.constant(std::move(values)));
}

// The dims [start, end) of the operand; both count from the back when negative and are clamped.
void shape(Lowering& l, const OnnxNode& n) {
  const Dims& dims = l.shape(0).dims();
  const auto rank = static_cast<int64_t>(dims.size());
  const auto clamped = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = clamped(n.integer("start", 0));
  const int64_t end = std::max(start, clamped(n.integer("end", rank)));
  l.set(0, l.b.constant(
               Tensor::of_i64(std::span(dims).subspan(static_cast<size_t>(start), static_cast<size_t>(end - start)),
                              Shape{end - start})));
}

void size(Lowering& l, const OnnxNode&) {
  l.set(0, l.b.constant(Tensor::of_i64(std::array{l.shape(0).numel()}, Shape{})));
}

// Ones where column = row + k.
void eye_like(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  const Shape& shape = l.shape(0);
  if (shape.rank() != 2) user_error("the operand is {} where a matrix is expected", to_string(shape));
  const Dtype dtype = n.has("dtype") ? l.dtype(static_cast<int32_t>(n.integer("dtype", 0))) : l.type(0).dtype;
  const ValueId row = b.iota(Dtype::i64, shape, 0);
  const ValueId column = b.iota(Dtype::i64, shape, 1);
  l.set(0, b.cast(b.binary(Op::equal, column, b.add(row, static_cast<double>(n.integer("k", 0)))), dtype));
}

constexpr auto kRules = std::to_array<NamedRule>({
    {"Constant", constant},
    {"ConstantOfShape", constant_of_shape},
    {"EyeLike", eye_like},
    {"Range", range},
    {"Shape", shape},
    {"Size", size},
});

}  // namespace

RuleList constant_rules() { return kRules; }

}  // namespace stepc::onnx_import
