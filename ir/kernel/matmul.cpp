#include "ir/kernel/matmul.h"

#include "ir/einsum.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace stepc {
namespace {

// One label, or several merged: its extent, its stride in a, b and c, and in each addend.
struct Axis {
  MatmulWork::Batch of;
  Dims addends;

  bool continues(const Axis& inner) const {
    const int64_t extent = inner.of.extent;
    bool merges = of.a == inner.of.a * extent && of.b == inner.of.b * extent && of.c == inner.of.c * extent;
    for (size_t i = 0; i < addends.size(); ++i) merges = merges && addends[i] == inner.addends[i] * extent;
    return merges;
  }
};

// Strides of the operands over the axes of their own, those of addends over the axes of the result.
struct Strides {
  Dims a, b, c;
  std::vector<Dims> addends;

  static int64_t at(const Dims& strides, int axis) { return axis < 0 ? 0 : strides[static_cast<size_t>(axis)]; }
  Axis axis(const EinsumLabel& label) const {
    Axis axis{{label.size, at(a, label.a_axis), at(b, label.b_axis), at(c, label.result_axis)}, {}};
    for (const Dims& addend : addends) axis.addends.push_back(at(addend, label.result_axis));
    return axis;
  }
};

Dims broadcast_strides(const Dims& strides, const Shape& from, const Shape& to) {
  Dims result(to.rank(), 0);
  for (size_t i = 0; i < from.rank(); ++i)
    if (from[i] != 1) result[to.rank() - from.rank() + i] = strides[i];
  return result;
}

Strides strides_of(const Graph& graph, const Product& product, const LayoutOf& layouts) {
  Strides strides{layouts(product.a).strides, layouts(product.b).strides, layouts(product.result).strides, {}};
  for (const ValueId addend : product.addends)
    strides.addends.push_back(
        broadcast_strides(layouts(addend).strides, graph.shape(addend), graph.shape(product.result)));
  return strides;
}

// The labels of one role, outermost first in c (k: in a), merged where all strides agree.
std::vector<Axis> merged_axes(const Einsum& einsum, LabelRole role, const Strides& strides) {
  std::vector<Axis> axes;
  for (const EinsumLabel& label : einsum.with_role(role))
    if (label.size != 1) axes.push_back(strides.axis(label));
  std::stable_sort(axes.begin(), axes.end(), [&](const Axis& x, const Axis& y) {
    return role == LabelRole::k ? std::abs(x.of.a) > std::abs(y.of.a) : x.of.c > y.of.c;
  });
  std::vector<Axis> merged;
  for (Axis& axis : axes) {
    if (!merged.empty() && merged.back().continues(axis)) {
      axis.of.extent *= merged.back().of.extent;
      merged.pop_back();
    }
    merged.push_back(std::move(axis));
  }
  if (merged.empty()) merged.push_back({{1, 0, 0, 0}, Dims(strides.addends.size(), 0)});
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
  return is_matrix(m.of.extent, m.of.a, k.of.extent, k.of.a) && is_matrix(k.of.extent, k.of.b, n.of.extent, n.of.b) &&
         is_matrix(m.of.extent, m.of.c, n.of.extent, n.of.c);
}

void append_batch(MatmulWork& work, const std::vector<Axis>& axes, size_t chosen) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i == chosen || axes[i].of.extent == 1) continue;
    work.batch.push_back(axes[i].of);
    for (size_t k = 0; k < work.addends.size(); ++k) work.addends[k].batch.push_back(axes[i].addends[k]);
  }
}

bool is_library_dtype(Dtype dtype) { return dtype == Dtype::f32 || dtype == Dtype::bf16 || dtype == Dtype::f16; }

}  // namespace

std::optional<Product> product_of(const Graph& graph, std::span<const NodeId> nodes) {
  const auto contraction = std::ranges::find_if(nodes, [&](NodeId id) { return graph.node(id).op == Op::contraction; });
  if (contraction == nodes.end()) return std::nullopt;
  const Node& node = graph.node(*contraction);
  Product product{&node, node.inputs[0], node.inputs[1], {}, node.outputs[0]};
  const Dtype dtype = graph.dtype(product.a);
  if (!is_library_dtype(dtype) || node.attrs.dtype("accumulate") != Dtype::f32) return std::nullopt;
  // An addition to what was rounded to 16 bits rounds again: a kernel of its own.
  if (nodes.size() > 1 && dtype != Dtype::f32) return std::nullopt;
  for (size_t additions = 1; additions < nodes.size(); ++additions) {
    const std::vector<Use>& uses = graph.value(product.result).uses;
    if (uses.size() != 1 || graph.is_output(product.result)) return std::nullopt;
    const Node& add = graph.node(uses[0].node);
    if (add.op != Op::add || std::ranges::count(nodes, uses[0].node) == 0) return std::nullopt;
    const ValueId addend = add.inputs[add.inputs[0] == product.result ? 1 : 0];
    const Shape& shape = graph.shape(product.result);
    if (graph.shape(add.outputs[0]) != shape || !broadcasts_to(graph.shape(addend), shape) ||
        std::ranges::count(nodes, graph.value(addend).producer) != 0)
      return std::nullopt;
    product.addends.push_back(addend);
    product.result = add.outputs[0];
  }
  return product;
}

std::optional<Product> product_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != Op::fused) return product_of(graph, std::span(&id, 1));
  const Graph& body = *node.body;
  std::optional<Product> product = product_of(body, body.order());
  if (!product || body.outputs().size() != 1 || body.outputs()[0].value != product->result) return std::nullopt;
  const auto operand_of = [&](ValueId input) {
    size_t i = 0;
    while (body.inputs()[i].value != input) ++i;
    return node.inputs[i];
  };
  product->a = operand_of(product->a);
  product->b = operand_of(product->b);
  for (ValueId& addend : product->addends) addend = operand_of(addend);
  product->result = node.outputs[0];
  return product;
}

std::optional<MatmulWork> plan_matmul(const Graph& graph, const Product& product, const LayoutOf& layouts) {
  const Einsum einsum = bind_einsum(parse_einsum(product.contraction->attrs.text("spec")), graph.shape(product.a),
                                    graph.shape(product.b));
  if (einsum.size_of(LabelRole::sum_a) != 1 || einsum.size_of(LabelRole::sum_b) != 1 || einsum.volume() == 0)
    return std::nullopt;
  const Strides strides = strides_of(graph, product, layouts);
  const std::vector<Axis> m = merged_axes(einsum, LabelRole::m, strides);
  const std::vector<Axis> n = merged_axes(einsum, LabelRole::n, strides);
  const std::vector<Axis> k = merged_axes(einsum, LabelRole::k, strides);
  std::optional<Choice> best;
  int64_t best_volume = 0;
  for (size_t im = 0; im < m.size(); ++im)
    for (size_t in = 0; in < n.size(); ++in)
      for (size_t ik = 0; ik < k.size(); ++ik) {
        const int64_t volume = m[im].of.extent * n[in].of.extent * k[ik].of.extent;
        if (volume <= best_volume || !fits(m[im], n[in], k[ik])) continue;
        best = Choice{im, in, ik};
        best_volume = volume;
      }
  if (!best) return std::nullopt;

  const Axis &rows = m[best->m], &columns = n[best->n], &depth = k[best->k];
  MatmulWork work{.m = rows.of.extent,
                  .n = columns.of.extent,
                  .k = depth.of.extent,
                  .a_m = rows.of.a,
                  .a_k = depth.of.a,
                  .b_k = depth.of.b,
                  .b_n = columns.of.b,
                  .c_m = rows.of.c,
                  .c_n = columns.of.c,
                  .batch = {},
                  .sums = {},
                  .addends = {},
                  .tf32 = allows_tf32(product.contraction->attrs)};
  for (size_t i = 0; i < product.addends.size(); ++i) work.addends.push_back({rows.addends[i], columns.addends[i], {}});
  append_batch(work, merged_axes(einsum, LabelRole::batch, strides), einsum.labels.size());
  append_batch(work, m, best->m);
  append_batch(work, n, best->n);
  for (size_t i = 0; i < k.size(); ++i)
    if (i != best->k && k[i].of.extent != 1) work.sums.push_back(k[i].of);
  return work;
}

}  // namespace stepc
