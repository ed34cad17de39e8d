#include "ir/support/checked.h"
#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <algorithm>
#include <array>

namespace stepc::onnx_import {
namespace {

void concat(Lowering& l, const OnnxNode& n) {
  std::vector<ValueId> parts;
  for (size_t i = 0; i < l.inputs(); ++i) parts.push_back(l.in(i));
  l.set(0, l.b.concat(std::move(parts), normalize_axis(n.integer("axis", 1), l.shape(0).rank())));
}

// Sizes by attribute before version 13, by operand from then on. Without sizes the parts are equal; since version 18
// (num_outputs) the last one may be smaller.
std::vector<int64_t> split_sizes(const Lowering& l, const OnnxNode& n, int64_t dim) {
  if (const auto sizes = integers_since(l, n, 13, "split", 1)) return *sizes;
  const auto outputs = static_cast<int64_t>(l.outputs());
  const int64_t parts = n.opset >= 18 ? n.integer("num_outputs", outputs) : outputs;
  if (parts < 1 || parts > outputs) user_error("num_outputs = {} but {} outputs", parts, outputs);
  if (n.opset < 18 && dim % parts != 0) user_error("{} elements cannot be split into {} equal parts", dim, parts);
  const int64_t chunk = (dim + parts - 1) / parts;
  std::vector<int64_t> sizes(static_cast<size_t>(parts));
  for (size_t i = 0; i < sizes.size(); ++i)
    sizes[i] = std::clamp<int64_t>(dim - static_cast<int64_t>(i) * chunk, 0, chunk);
  return sizes;
}

void split(Lowering& l, const OnnxNode& n) {
  const size_t axis = normalize_axis(n.integer("axis", 0), l.shape(0).rank());
  const std::vector<ValueId> parts = split_along(l.b, l.in(0), axis, split_sizes(l, n, l.shape(0)[axis]));
  for (size_t i = 0; i < parts.size(); ++i) l.set(i, parts[i]);
}

struct SliceRange {
  int64_t start, size;
};

// NumPy's rule: ends are exclusive, negative positions count from the back, everything is clamped into the dim.
SliceRange slice_range(int64_t start, int64_t end, int64_t step, int64_t dim) {
  if (step == 0) user_error("a step of 0");
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? dim : dim - 1;
  const auto clamped = [&](int64_t at) { return std::clamp(at < 0 ? at + dim : at, low, high); };
  const int64_t first = std::clamp(start < 0 ? start + dim : start, int64_t{0}, high);
  const int64_t last = clamped(end);
  if (step > 0) return {first, last <= first ? 0 : 1 + (last - first - 1) / step};
  return {std::max<int64_t>(first, 0), last >= first ? 0 : 1 + (last - first + 1) / step};
}

void slice(Lowering& l, const OnnxNode& n) {
  const Shape& shape = l.shape(0);
  const auto starts = integers_since(l, n, 10, "starts", 1);
  const auto ends = integers_since(l, n, 10, "ends", 2);
  if (!starts || !ends || starts->size() != ends->size()) user_error("starts and ends must have the same length");
  std::vector<int64_t> axes = integers_since(l, n, 10, "axes", 3).value_or(all_axes(starts->size()));
  std::vector<int64_t> steps =
      n.opset >= 10 && l.has(4) ? l.known_integers(4, "steps of Slice") : std::vector<int64_t>(starts->size(), 1);
  if (axes.size() != starts->size() || steps.size() != starts->size())
    user_error("starts, ends, axes and steps must have the same length");

  Dims first(shape.rank(), 0);
  Dims sizes = shape.dims();
  Dims strides(shape.rank(), 1);
  normalize_axes(axes, shape.rank());
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = normalize_axis(axes[i], shape.rank());
    const SliceRange range = slice_range((*starts)[i], (*ends)[i], steps[i], shape[axis]);
    first[axis] = range.size == 0 ? 0 : range.start;
    sizes[axis] = range.size;
    strides[axis] = range.size <= 1 ? 1 : steps[i];
  }
  const bool whole =
      sizes == shape.dims() && std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 1; });
  l.set(0, whole ? l.in(0) : l.b.slice(l.in(0), std::move(first), std::move(sizes), std::move(strides)));
}

// Along each repeated axis: (d) → (1, d) → (r, d) → (r·d)
void tile(Lowering& l, const OnnxNode&) {
  const std::vector<int64_t> repeats = l.known_integers(1, "the repeats of Tile");
  const Shape& shape = l.shape(0);
  if (repeats.size() != shape.rank()) user_error("{} repeats for {}", repeats.size(), to_string(shape));
  Dims apart, repeated, joined;
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (repeats[i] != 1) {
      apart.push_back(1);
      repeated.push_back(repeats[i]);
    }
    apart.push_back(shape[i]);
    repeated.push_back(shape[i]);
    joined.push_back(checked_mul(shape[i], repeats[i]));
  }
  Builder& b = l.b;
  l.set(0, b.reshape(b.expand(b.reshape(l.in(0), Shape(apart)), Shape(repeated)), Shape(joined)));
}

constexpr auto kRules = std::to_array<NamedRule>({
    {"Concat", concat},
    {"Slice", slice},
    {"Split", split},
    {"Tile", tile},
});

}  // namespace

RuleList movement_rules() { return kRules; }

}  // namespace stepc::onnx_import
