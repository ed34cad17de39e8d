#include "models/onnx/operands.h"

#include "ir/support/checked.h"

#include <algorithm>
#include <numeric>

namespace stepc::onnx_import {

std::optional<std::vector<int64_t>> integers_since(const Lowering& l, const OnnxNode& n, int64_t since,
                                                   std::string_view key, size_t operand) {
  if (n.opset < since) return n.integers(key);
  if (!l.has(operand)) return std::nullopt;
  return l.known_integers(operand, fmt::format("'{}' of {}", key, n.op()));
}

std::vector<int64_t> normalize_axes(std::vector<int64_t> axes, size_t rank) {
  for (int64_t& axis : axes) axis = static_cast<int64_t>(normalize_axis(axis, rank));
  std::sort(axes.begin(), axes.end());
  const auto twice = std::adjacent_find(axes.begin(), axes.end());
  if (twice != axes.end()) user_error("axis {} is given twice", *twice);
  return axes;
}

std::vector<int64_t> all_axes(size_t rank) {
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

int64_t numel_between(const Shape& shape, size_t first, size_t last) {
  int64_t numel = 1;
  for (size_t i = first; i < last; ++i) numel = checked_mul(numel, shape[i]);
  return numel;
}

std::vector<ValueId> split_along(Builder& b, ValueId x, size_t axis, const std::vector<int64_t>& sizes) {
  const int64_t dim = b.shape(x)[axis];
  int64_t start = 0;
  std::vector<ValueId> parts;
  for (const int64_t size : sizes) {
    if (size < 0 || size > dim - start) break;
    parts.push_back(b.slice_axis(x, axis, start, size));
    start += size;
  }
  if (start != dim || parts.size() != sizes.size())
    user_error("sizes {} do not split axis {} of {}", fmt::join(sizes, ","), axis, to_string(b.shape(x)));
  return parts;
}

ValueId along_axis(Builder& b, ValueId v, size_t axis, size_t rank) {
  Dims dims(rank - axis, 1);
  dims[0] = b.shape(v).numel();
  return b.reshape(v, Shape(std::move(dims)));
}

void refuse_attribute(std::string_view key, std::string_view value, std::string_view supported) {
  user_error("attribute {} = {} is not supported; supported: {}", key, value, supported);
}

}  // namespace stepc::onnx_import
