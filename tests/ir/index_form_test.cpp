#include "ir/kernel/index_form.h"

#include <gtest/gtest.h>

#include <functional>

namespace stepc {
namespace {

// Calls f with every point of the loop space.
void for_each_point(std::span<const LoopDim> dims, const std::function<void(const Dims&)>& f) {
  Dims point(dims.size(), 0);
  for (size_t d = 0; d < dims.size();) {
    if (d == 0) f(point);
    if (++point[d] < dims[d].extent)
      d = 0;
    else
      point[d++] = 0;
  }
}

int64_t at(const IndexForm& form, const Dims& point) {
  int64_t value = form.offset;
  for (size_t d = 0; d < point.size(); ++d) value += form.strides[d] * point[d];
  return value;
}

// Whether a division was found; then it is right everywhere.
bool divides(const IndexForm& form, int64_t divisor, std::span<const LoopDim> dims, std::optional<DimSplit>& split) {
  const std::optional<Division> division = divide(form, divisor, dims, split);
  if (!division) return false;
  for_each_point(dims, [&](const Dims& point) {
    EXPECT_EQ(at(division->quotient, point), at(form, point) / divisor);
    EXPECT_EQ(at(division->remainder, point), at(form, point) % divisor);
  });
  return true;
}

TEST(Divide, TermsThatTheDivisorSeparates) {
  const std::vector<LoopDim> dims{{5}, {4}, {3}};
  std::optional<DimSplit> split;
  EXPECT_TRUE(divides({0, {12, 3, 1}, {}}, 12, dims, split));
  EXPECT_TRUE(divides({0, {12, 3, 1}, {}}, 3, dims, split));
  EXPECT_TRUE(divides({7, {24, 0, 2}, {}}, 12, dims, split));
  EXPECT_FALSE(split.has_value());
}

TEST(Divide, ADimThatStraddlesTheDivisorAsksForASplit) {
  const std::vector<LoopDim> dims{{12}};
  std::optional<DimSplit> split;
  EXPECT_FALSE(divides({0, {1}, {}}, 4, dims, split));
  ASSERT_TRUE(split.has_value());
  EXPECT_EQ(split->dim, 0U);
  EXPECT_EQ(split->inner, 4);
}

TEST(Divide, WhatCannotBeSaidIsRefused) {
  const std::vector<LoopDim> dims{{4}, {3}};
  std::optional<DimSplit> split;
  EXPECT_FALSE(divides({2, {3, 1}, {}}, 3, dims, split));   // 2 + 2 carries
  EXPECT_FALSE(divides({-1, {3, 1}, {}}, 3, dims, split));  // rounding down is not what / does
  EXPECT_FALSE(divides({8, {-1, 0}, {}}, 3, dims, split));
  EXPECT_FALSE(divides({0, {0, 0}, {{ScalarId{0}, 4}}}, 3, dims, split));
  EXPECT_FALSE(split.has_value());
}

TEST(Divide, ADynamicTermOfWholeDivisors) {
  std::optional<DimSplit> split;
  const std::optional<Division> division = divide({1, {}, {{ScalarId{0}, 6}}}, 3, {}, split);
  ASSERT_TRUE(division.has_value());
  EXPECT_EQ(division->quotient, (IndexForm{0, {}, {{ScalarId{0}, 2}}}));
  EXPECT_EQ(division->remainder, (IndexForm{1, {}, {}}));
}

// Both sides of a reshape number their elements alike.
void expect_same_elements(const Shape& from, const Shape& to) {
  std::vector<LoopDim> dims;
  for (const int64_t extent : to) dims.push_back({extent});
  Coordinates coordinates;
  for (size_t axis = 0; axis < to.rank(); ++axis) {
    coordinates.push_back(constant_form(to.rank(), 0));
    coordinates.back().strides[axis] = 1;
  }
  std::optional<DimSplit> split;
  const std::optional<Coordinates> result = through_reshape(from, to, coordinates, dims, split);
  ASSERT_TRUE(result.has_value()) << to_string(from) << " to " << to_string(to);
  const IndexForm there = linear(to.rank(), coordinates, row_major_strides(to));
  const IndexForm here = linear(to.rank(), *result, row_major_strides(from));
  for_each_point(dims, [&](const Dims& point) { EXPECT_EQ(at(here, point), at(there, point)); });
}

TEST(ThroughReshape, NumbersElementsAlike) {
  expect_same_elements({6, 4}, {6, 4});
  expect_same_elements({24}, {2, 3, 4});
  expect_same_elements({6, 4}, {2, 3, 4});
  expect_same_elements({1, 6, 1, 4}, {2, 3, 1, 4, 1});
  expect_same_elements({}, {1, 1});
}

TEST(ThroughReshape, AxesThatMustBeSplitAskForIt) {
  const std::vector<LoopDim> dims{{24}};
  IndexForm whole = constant_form(1, 0);
  whole.strides[0] = 1;
  std::optional<DimSplit> split;
  EXPECT_FALSE(through_reshape({6, 4}, {24}, {whole}, dims, split).has_value());
  ASSERT_TRUE(split.has_value());
  EXPECT_EQ(split->inner, 4);
}

}  // namespace
}  // namespace stepc
