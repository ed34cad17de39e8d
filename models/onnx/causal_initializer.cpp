#include "models/onnx/causal_initializer.h"

#include <array>
#include <cmath>
#include <optional>

namespace stepc::onnx_import {
namespace {

struct CausalMask {
  int64_t offset = 0;
  double inside = 0, outside = 0;
};

// The first row shows the offset and both numbers.
std::optional<CausalMask> causal_mask(const TensorView& data) {
  const Shape& shape = data.type.shape;
  if (shape.rank() < 2 || shape.numel() == 0 || is_integer(data.type.dtype)) return std::nullopt;
  const int64_t queries = shape[shape.rank() - 2], keys = shape[shape.rank() - 1];
  const double inside = element(data, 0), outside = element(data, keys - 1);
  if (queries < 2 || inside == outside || std::isnan(inside) || std::isnan(outside)) return std::nullopt;
  int64_t offset = 0;
  while (element(data, offset + 1) == inside) ++offset;
  const int64_t rows = shape.numel() / keys;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t key = 0; key < keys; ++key)
      if (element(data, row * keys + key) != (key <= row % queries + offset ? inside : outside)) return std::nullopt;
  return CausalMask{offset, inside, outside};
}

ValueId computed(Builder& b, const CausalMask& mask, const Shape& shape, Dtype dtype) {
  const size_t last = shape.rank() - 1;
  Dims keys(shape.rank(), 1), queries = keys;
  keys[last] = shape[last];
  queries[last - 1] = shape[last - 1];
  const ValueId distance = b.sub(b.iota(Dtype::i64, Shape(keys), last), b.iota(Dtype::i64, Shape(queries), last - 1));
  const ValueId offset = b.constant(Tensor::of_i64(std::array{mask.offset}, Shape()));
  const ValueId within = b.binary(Op::less_equal, distance, offset);
  const ValueId plane = dtype == Dtype::boolean
                            ? (mask.inside != 0 ? within : b.unary(Op::logical_not, within))
                            : b.select(within, b.scalar(mask.inside, dtype), b.scalar(mask.outside, dtype));
  return b.expand(plane, shape);
}

}  // namespace

ValueId causal_initializer(Builder& b, const TensorView& data, Dtype dtype) {
  const std::optional<CausalMask> mask = causal_mask(data);
  return mask ? computed(b, *mask, data.type.shape, dtype) : kNoValue;
}

}  // namespace stepc::onnx_import
