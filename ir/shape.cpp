#include "ir/shape.h"

#include "ir/support/checked.h"

#include <algorithm>

namespace stepc {

Shape::Shape(Dims dims) : dims_(std::move(dims)) {
  // Zero dims make the count zero, but the other dims must multiply without overflow all the same: strides use them.
  int64_t product = 1;
  bool empty = false;
  for (const int64_t dim : dims_) {
    if (dim < 0) user_error("negative dimension {} in shape", dim);
    if (dim == 0)
      empty = true;
    else
      product = checked_mul(product, dim);
  }
  numel_ = empty ? 0 : product;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape.dims(), ",")); }

int64_t Type::bytes() const { return checked_mul(shape.numel(), dtype_bytes(dtype)); }

std::string to_string(const Type& type) { return fmt::format("{}{}", dtype_name(type.dtype), to_string(type.shape)); }

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  Dims dims(std::max(a.rank(), b.rank()));
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t from_end = dims.size() - i;
    const int64_t da = from_end <= a.rank() ? a[a.rank() - from_end] : 1;
    const int64_t db = from_end <= b.rank() ? b[b.rank() - from_end] : 1;
    if (da != db && da != 1 && db != 1) user_error("shapes {} and {} do not broadcast", to_string(a), to_string(b));
    dims[i] = da == 1 ? db : da;
  }
  return Shape(std::move(dims));
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  const size_t skip = to.rank() - from.rank();
  for (size_t i = 0; i < from.rank(); ++i)
    if (from[i] != 1 && from[i] != to[skip + i]) return false;
  return true;
}

size_t normalize_axis(int64_t axis, size_t rank) {
  const auto signed_rank = static_cast<int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) user_error("axis {} is out of range for rank {}", axis, rank);
  return static_cast<size_t>(axis < 0 ? axis + signed_rank : axis);
}

Dims row_major_strides(const Shape& shape) {
  Dims strides(shape.rank());
  int64_t stride = 1;
  for (size_t i = shape.rank(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

Dims broadcast_strides(const Shape& from, const Shape& to) {
  CHECK(broadcasts_to(from, to), "{} to {}", to_string(from), to_string(to));
  const Dims own = row_major_strides(from);
  const size_t skip = to.rank() - from.rank();
  Dims strides(to.rank(), 0);
  for (size_t i = 0; i < from.rank(); ++i)
    if (from[i] != 1) strides[skip + i] = own[i];
  return strides;
}

Shape permute(const Shape& shape, std::span<const int64_t> perm) {
  CHECK(perm.size() == shape.rank(), "permutation of {} axes for {}", perm.size(), to_string(shape));
  Dims dims(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) dims[i] = shape[static_cast<size_t>(perm[i])];
  return Shape(std::move(dims));
}

Shape reduce(const Shape& shape, std::span<const int64_t> axes, bool keepdims) {
  Dims dims;
  for (size_t i = 0; i < shape.rank(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    if (!reduced)
      dims.push_back(shape[i]);
    else if (keepdims)
      dims.push_back(1);
  }
  return Shape(std::move(dims));
}

Dims inverse_permutation(std::span<const int64_t> perm) {
  Dims inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return inverse;
}

}  // namespace stepc
