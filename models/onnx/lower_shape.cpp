#include "ir/support/checked.h"
#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <algorithm>
#include <array>

namespace stepc::onnx_import {
namespace {

void identity(Lowering& l, const OnnxNode&) {
  if (l.is_list(0)) {
    l.set_list(0, l.list(0));
  } else {
    l.set(0, l.in(0));
  }
}

void cast(Lowering& l, const OnnxNode& n) {
  l.set(0, l.b.cast(l.in(0), l.dtype(static_cast<int32_t>(n.integer("to", 0)))));
}

void cast_like(Lowering& l, const OnnxNode&) { l.set(0, l.b.cast(l.in(0), l.type(1).dtype)); }

// 0 copies the operand's dim unless allowzero = 1, and one -1 takes what is left.
void reshape(Lowering& l, const OnnxNode& n) {
  const Shape& from = l.shape(0);
  Dims dims = l.known_integers(1, "the shape of Reshape");
  const bool allow_zero = n.flag("allowzero", false);
  size_t inferred = dims.size();
  int64_t known = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !allow_zero) {
      if (i >= from.rank())
        user_error("shape {} copies dim {} of {}, which has none", fmt::join(dims, ","), i, to_string(from));
      dims[i] = from[i];
    }
    if (dims[i] == -1) {
      if (inferred != dims.size()) user_error("shape {} leaves two dims open", fmt::join(dims, ","));
      inferred = i;
    } else {
      known = checked_mul(known, dims[i]);
    }
  }
  if (inferred != dims.size()) {
    if (known == 0 || from.numel() % known != 0)
      user_error("{} cannot be reshaped to {}", to_string(from), fmt::join(dims, ","));
    dims[inferred] = from.numel() / known;
  }
  l.set(0, l.b.reshape(l.in(0), Shape(std::move(dims))));
}

void flatten(Lowering& l, const OnnxNode& n) {
  const Shape& shape = l.shape(0);
  const auto rank = static_cast<int64_t>(shape.rank());
  int64_t axis = n.integer("axis", 1);
  if (axis < -rank || axis > rank) user_error("axis {} is out of range for {}", axis, to_string(shape));
  if (axis < 0) axis += rank;
  const auto split = static_cast<size_t>(axis);
  l.set(0, l.b.reshape(l.in(0), {numel_between(shape, 0, split), numel_between(shape, split, shape.rank())}));
}

void squeeze(Lowering& l, const OnnxNode& n) {
  const Shape& shape = l.shape(0);
  const auto given = integers_since(l, n, 13, "axes", 1);
  Dims dims;
  if (given) {
    const std::vector<int64_t> axes = normalize_axes(*given, shape.rank());
    for (size_t i = 0; i < shape.rank(); ++i) {
      if (!std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i))) {
        dims.push_back(shape[i]);
      } else if (shape[i] != 1) {
        user_error("axis {} of {} cannot be squeezed: its size is not 1", i, to_string(shape));
      }
    }
  } else {
    for (const int64_t dim : shape)
      if (dim != 1) dims.push_back(dim);
  }
  l.set(0, l.b.reshape(l.in(0), Shape(std::move(dims))));
}

void unsqueeze(Lowering& l, const OnnxNode& n) {
  const auto given = integers_since(l, n, 13, "axes", 1);
  if (!given) user_error("axes are missing");
  const std::vector<int64_t> axes = normalize_axes(*given, l.shape(0).rank() + given->size());
  Dims dims = l.shape(0).dims();
  for (const int64_t axis : axes) dims.insert(dims.begin() + axis, 1);
  l.set(0, l.b.reshape(l.in(0), Shape(std::move(dims))));
}

// Both ways: a target dim of 1 keeps the operand's.
void expand(Lowering& l, const OnnxNode&) {
  const Shape target(l.known_integers(1, "the shape of Expand"));
  l.set(0, l.b.expand(l.in(0), broadcast_shapes(l.shape(0), target)));
}

void transpose(Lowering& l, const OnnxNode& n) {
  const size_t rank = l.shape(0).rank();
  std::vector<int64_t> perm = n.integers("perm").value_or(std::vector<int64_t>{});
  if (!n.has("perm")) {
    perm = all_axes(rank);
    std::reverse(perm.begin(), perm.end());
  }
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != all_axes(rank)) user_error("perm {} does not permute {}", fmt::join(perm, ","), to_string(l.shape(0)));
  l.set(0, l.b.transpose(l.in(0), std::move(perm)));
}

constexpr auto kRules = std::to_array<NamedRule>({
    {"Cast", cast},
    {"CastLike", cast_like},
    {"Expand", expand},
    {"Flatten", flatten},
    {"Identity", identity},
    {"Reshape", reshape},
    {"Squeeze", squeeze},
    {"Transpose", transpose},
    {"Unsqueeze", unsqueeze},
});

}  // namespace

RuleList shape_rules() { return kRules; }

}  // namespace stepc::onnx_import
