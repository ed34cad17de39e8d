#include "ir/kernel/matmul.h"

#include "ir/einsum.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace stepc {
namespace {

using Axis = MatmulWork::Batch;  // one label, or several merged: extent and its stride in a, b, c

int64_t stride_of(const Layout& layout, int axis) { return axis < 0 ? 0 : layout.strides[static_cast<size_t>(axis)]; }

// The labels of one role, outermost first in c (k: in a), merged where all three strides agree.
std::vector<Axis> merged_axes(const Einsum& einsum, LabelRole role, const Layout& a, const Layout& b, const Layout& c) {
  std::vector<Axis> axes;
  for (const EinsumLabel& label : einsum.with_role(role))
    if (label.size != 1)
      axes.push_back(
          {label.size, stride_of(a, label.a_axis), stride_of(b, label.b_axis), stride_of(c, label.result_axis)});
  std::stable_sort(axes.begin(), axes.end(), [&](const Axis& x, const Axis& y) {
    return role == LabelRole::k ? std::abs(x.a) > std::abs(y.a) : x.c > y.c;
  });
  std::vector<Axis> merged;
  for (const Axis& axis : axes) {
    if (!merged.empty()) {
      Axis& outer = merged.back();
      if (outer.a == axis.a * axis.extent && outer.b == axis.b * axis.extent && outer.c == axis.c * axis.extent) {
        outer = {outer.extent * axis.extent, axis.a, axis.b, axis.c};
        continue;
      }
    }
    merged.push_back(axis);
  }
  if (merged.empty()) merged.push_back({1, 0, 0, 0});
  return merged;
}

// A row-major or transposed matrix as BLAS takes it: one unit stride, the other at least the extent beside it.
bool is_matrix(int64_t rows, int64_t row_stride, int64_t columns, int64_t column_stride) {
  const bool row_major = (column_stride == 1 || columns == 1) && (row_stride >= columns || rows == 1);
  const bool transposed = (row_stride == 1 || rows == 1) && (column_stride >= rows || columns == 1);
  return row_major || transposed;
}

struct Choice {
  size_t m = 0, n = 0, k = 0;
};

bool fits(const Axis& m, const Axis& n, const Axis& k) {
  return is_matrix(m.extent, m.a, k.extent, k.a) && is_matrix(k.extent, k.b, n.extent, n.b) &&
         is_matrix(m.extent, m.c, n.extent, n.c);
}

void append_others(std::vector<Axis>& to, const std::vector<Axis>& axes, size_t chosen) {
  for (size_t i = 0; i < axes.size(); ++i)
    if (i != chosen && axes[i].extent != 1) to.push_back(axes[i]);
}

}  // namespace

std::optional<MatmulWork> plan_matmul(const Graph& graph, const Node& node, const LayoutOf& layouts) {
  const Einsum einsum =
      bind_einsum(parse_einsum(node.attrs.text("spec")), graph.shape(node.inputs[0]), graph.shape(node.inputs[1]));
  if (einsum.size_of(LabelRole::sum_a) != 1 || einsum.size_of(LabelRole::sum_b) != 1 || einsum.volume() == 0)
    return std::nullopt;
  const Layout &a = layouts(node.inputs[0]), &b = layouts(node.inputs[1]), &c = layouts(node.outputs[0]);
  const std::vector<Axis> m = merged_axes(einsum, LabelRole::m, a, b, c);
  const std::vector<Axis> n = merged_axes(einsum, LabelRole::n, a, b, c);
  const std::vector<Axis> k = merged_axes(einsum, LabelRole::k, a, b, c);
  std::optional<Choice> best;
  int64_t best_volume = 0;
  for (size_t im = 0; im < m.size(); ++im)
    for (size_t in = 0; in < n.size(); ++in)
      for (size_t ik = 0; ik < k.size(); ++ik) {
        const int64_t volume = m[im].extent * n[in].extent * k[ik].extent;
        if (volume <= best_volume || !fits(m[im], n[in], k[ik])) continue;
        best = Choice{im, in, ik};
        best_volume = volume;
      }
  if (!best) return std::nullopt;

  MatmulWork work{.m = m[best->m].extent,
                  .n = n[best->n].extent,
                  .k = k[best->k].extent,
                  .a_m = m[best->m].a,
                  .a_k = k[best->k].a,
                  .b_k = k[best->k].b,
                  .b_n = n[best->n].b,
                  .c_m = m[best->m].c,
                  .c_n = n[best->n].c,
                  .batch = {},
                  .sums = {}};
  append_others(work.batch, merged_axes(einsum, LabelRole::batch, a, b, c), einsum.labels.size());
  append_others(work.batch, m, best->m);
  append_others(work.batch, n, best->n);
  append_others(work.sums, k, best->k);
  return work;
}

}  // namespace stepc
