#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <algorithm>
#include <array>

namespace stepc::onnx_import {
namespace {

constexpr int64_t kLargestPad = int64_t{1} << 24;  // of a mode that needs an index per element

// Elements added before and after each axis; negative numbers remove.
struct Padding {
  Dims low, high;
};

Padding padding(const Lowering& l, const OnnxNode& n, size_t rank) {
  const auto pads = integers_since(l, n, 11, "pads", 1);
  std::vector<int64_t> axes = all_axes(rank);
  if (n.opset >= 18 && l.has(3)) axes = l.known_integers(3, "the axes of Pad");
  normalize_axes(axes, rank);
  if (!pads || pads->size() != 2 * axes.size())
    user_error("pads must give two numbers for each of {} axes", axes.size());
  Padding result{Dims(rank, 0), Dims(rank, 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = normalize_axis(axes[i], rank);
    result.low[axis] = (*pads)[i];
    result.high[axis] = (*pads)[axes.size() + i];
  }
  return result;
}

// Removes what negative padding removes and sets it to 0.
ValueId crop(Builder& b, ValueId x, Padding& pads) {
  for (size_t axis = 0; axis < pads.low.size(); ++axis) {
    const int64_t dim = b.shape(x)[axis];
    const int64_t low = -std::clamp<int64_t>(pads.low[axis], -dim - 1, 0);
    const int64_t high = -std::clamp<int64_t>(pads.high[axis], -dim - 1, 0);
    const int64_t size = dim - low - high;
    if (size < 0) user_error("pads remove more than axis {} of {} has", axis, to_string(b.shape(x)));
    x = b.slice_axis(x, axis, low, size);
    pads.low[axis] = std::max<int64_t>(pads.low[axis], 0);
    pads.high[axis] = std::max<int64_t>(pads.high[axis], 0);
  }
  return x;
}

// The fill is a number known now, or a scalar operand that is written over a mask of the added elements.
ValueId pad_constant(Lowering& l, const OnnxNode& n, ValueId x, const Padding& pads) {
  Builder& b = l.b;
  const Dims interior(pads.low.size(), 0);
  if (n.opset < 11) return b.pad(x, pads.low, pads.high, interior, n.real("value", 0));
  if (!l.has(2)) return b.pad(x, pads.low, pads.high, interior, 0);
  if (l.known(2) != nullptr) return b.pad(x, pads.low, pads.high, interior, l.known_number(2, "the value of Pad"));
  const ValueId padded = b.pad(x, pads.low, pads.high, interior, 0);
  const ValueId inside = b.full(0, Type{Dtype::boolean, b.shape(x)});
  const ValueId added = b.pad(inside, pads.low, pads.high, interior, 1);
  return b.select(added, b.reshape(l.in(2), Shape{}), padded);
}

// Where element `at` of the padded axis comes from in an axis of `dim` elements; `at` starts at -low.
int64_t mirrored(int64_t at, int64_t dim) {
  const int64_t period = std::max<int64_t>(2 * (dim - 1), 1);
  const int64_t phase = ((at % period) + period) % period;
  return phase < dim ? phase : period - phase;
}

int64_t source_of(std::string_view mode, int64_t at, int64_t dim) {
  if (mode == "edge") return std::clamp<int64_t>(at, 0, dim - 1);
  if (mode == "wrap") return ((at % dim) + dim) % dim;
  return mirrored(at, dim);
}

// Each padded axis is gathered at its source positions.
ValueId pad_by_copy(Builder& b, std::string_view mode, ValueId x, const Padding& pads) {
  for (size_t axis = 0; axis < pads.low.size(); ++axis) {
    if (pads.low[axis] == 0 && pads.high[axis] == 0) continue;
    const int64_t dim = b.shape(x)[axis];
    if (dim == 0) user_error("mode {} cannot pad axis {}, which has no elements", mode, axis);
    if (pads.low[axis] > kLargestPad || pads.high[axis] > kLargestPad || dim > kLargestPad)
      user_error("mode {} with {} and {} elements around axis {} is not supported", mode, pads.low[axis],
                 pads.high[axis], axis);
    std::vector<int64_t> sources;
    for (int64_t at = -pads.low[axis]; at < dim + pads.high[axis]; ++at) sources.push_back(source_of(mode, at, dim));
    const auto size = static_cast<int64_t>(sources.size());
    x = b.gather(x, b.constant(Tensor::of_i64(sources, Shape{size})), axis);
  }
  return x;
}

void pad(Lowering& l, const OnnxNode& n) {
  const std::string mode = n.text("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    refuse_attribute("mode", mode, "constant, reflect, edge, wrap");
  Padding pads = padding(l, n, l.shape(0).rank());
  const ValueId x = crop(l.b, l.in(0), pads);
  l.set(0, mode == "constant" ? pad_constant(l, n, x, pads) : pad_by_copy(l.b, mode, x, pads));
}

constexpr auto kRules = std::to_array<NamedRule>({{"Pad", pad}});

}  // namespace

RuleList pad_rules() { return kRules; }

}  // namespace stepc::onnx_import
