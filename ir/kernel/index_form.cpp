#include "ir/kernel/index_form.h"

#include "ir/support/error.h"

namespace stepc {

IndexForm constant_form(size_t dims, int64_t value) { return {value, Dims(dims, 0), {}}; }

IndexForm scaled(IndexForm form, int64_t factor) {
  if (factor == 0) return constant_form(form.strides.size(), 0);
  form.offset *= factor;
  for (int64_t& stride : form.strides) stride *= factor;
  for (DynamicTerm& term : form.dynamic) term.stride *= factor;
  return form;
}

IndexForm sum(IndexForm a, const IndexForm& b) {
  a.offset += b.offset;
  for (size_t i = 0; i < a.strides.size(); ++i) a.strides[i] += b.strides[i];
  a.dynamic.insert(a.dynamic.end(), b.dynamic.begin(), b.dynamic.end());
  return a;
}

IndexForm shifted(IndexForm form, int64_t by) {
  form.offset += by;
  return form;
}

IndexForm linear(size_t dims, const Coordinates& coordinates, const Dims& strides) {
  IndexForm form = constant_form(dims, 0);
  for (size_t i = 0; i < coordinates.size(); ++i) form = sum(std::move(form), scaled(coordinates[i], strides[i]));
  return form;
}

std::optional<Division> divide(const IndexForm& form, int64_t divisor, std::span<const LoopDim> dims,
                               std::optional<DimSplit>& split) {
  Division result{constant_form(dims.size(), 0), constant_form(dims.size(), 0)};
  for (const DynamicTerm& term : form.dynamic) {
    if (term.stride % divisor != 0) return std::nullopt;
    result.quotient.dynamic.push_back({term.index, term.stride / divisor});
  }
  if (form.offset < 0) return std::nullopt;
  result.quotient.offset = form.offset / divisor;
  result.remainder.offset = form.offset % divisor;
  int64_t largest = result.remainder.offset;  // of the remainder
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t stride = form.strides[d];
    if (stride == 0 || dims[d].extent <= 1) continue;
    if (stride % divisor == 0) {
      result.quotient.strides[d] = stride / divisor;
      continue;
    }
    if (stride > 0 && stride < divisor && divisor % stride == 0 && stride * dims[d].extent > divisor &&
        dims[d].extent % (divisor / stride) == 0)
      split = DimSplit{d, divisor / stride};
    if (stride < 0) return std::nullopt;
    result.remainder.strides[d] = stride;
    largest += stride * (dims[d].extent - 1);
  }
  return largest < divisor ? std::optional(result) : std::nullopt;
}

std::optional<Coordinates> through_reshape(const Shape& from, const Shape& to, const Coordinates& coordinates,
                                           std::span<const LoopDim> dims, std::optional<DimSplit>& split) {
  Coordinates result(from.rank(), constant_form(dims.size(), 0));
  // From the right: runs of axes of both shapes with equal products correspond to each other.
  size_t from_left = from.rank();
  size_t to_left = to.rank();
  while (from_left > 0 || to_left > 0) {
    int64_t from_run = 1;
    int64_t to_run = 1;
    const size_t from_end = from_left;
    IndexForm rest = constant_form(dims.size(), 0);  // linear index within the run
    const auto take_to = [&] {
      --to_left;
      if (to[to_left] != 1) rest = sum(std::move(rest), scaled(coordinates[to_left], to_run));
      to_run *= to[to_left];
    };
    if (to_left > 0) take_to();
    if (from_left > 0) from_run *= from[--from_left];
    while (from_run != to_run) {
      if (from_run < to_run) {
        CHECK(from_left > 0, "reshape of {} to {}", to_string(from), to_string(to));
        from_run *= from[--from_left];
      } else {
        CHECK(to_left > 0, "reshape of {} to {}", to_string(from), to_string(to));
        take_to();
      }
    }
    for (size_t axis = from_end; axis-- > from_left;) {
      if (from[axis] == 1) continue;
      from_run /= from[axis];
      if (from_run == 1) {  // the outermost axis of the run takes what is left
        result[axis] = rest;
        break;
      }
      std::optional<Division> division = divide(rest, from[axis], dims, split);
      if (!division) return std::nullopt;
      result[axis] = division->remainder;
      rest = division->quotient;
    }
  }
  return result;
}

}  // namespace stepc
