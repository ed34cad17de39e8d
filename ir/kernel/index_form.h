#pragma once

#include "ir/kernel.h"

#include <optional>
#include <span>
#include <vector>

namespace stepc {

using Coordinates = std::vector<IndexForm>;  // one per axis of a value

IndexForm constant_form(size_t dims, int64_t value);
IndexForm scaled(IndexForm form, int64_t factor);
IndexForm sum(IndexForm a, const IndexForm& b);
IndexForm shifted(IndexForm form, int64_t by);

// Σ coordinates[i]·strides[i]
IndexForm linear(size_t dims, const Coordinates& coordinates, const Dims& strides);

// A loop dimension that must become two, the inner one with extent `inner`, before an index can be expressed.
struct DimSplit {
  size_t dim = 0;
  int64_t inner = 1;
};

// form = quotient·divisor + remainder with 0 <= remainder < divisor for every point of the loop space.
struct Division {
  IndexForm quotient, remainder;
};

// Empty where the terms of the form straddle the divisor; `split` then says which split of a dim would help, if any.
std::optional<Division> divide(const IndexForm& form, int64_t divisor, std::span<const LoopDim> dims,
                               std::optional<DimSplit>& split);

// Coordinates of a value of shape `from` that is reshaped to `to`, at `coordinates` of `to`. Empty as for `divide`.
std::optional<Coordinates> through_reshape(const Shape& from, const Shape& to, const Coordinates& coordinates,
                                           std::span<const LoopDim> dims, std::optional<DimSplit>& split);

}  // namespace stepc
