// fuse-loss: a linear layer whose results only a cross-entropy reads becomes one operation with it. At level full.
//
//   %logits = contraction %x, %w {spec="bsk,vk->bsv"}
//   %shifted = slice %logits                           ->   %rows = slice %x
//   %loss, %lse = cross_entropy %shifted, %t                %loss = linear_cross_entropy %rows, %w, %t
//
// Its kernels never store the logits whole (docs/linear_cross_entropy.md). A bias between the two, and views that leave
// the classes alone, belong to it: the views are taken of x instead. Every cross-entropy after a linear layer gets a
// verdict.

#include "ir/builder.h"
#include "ir/einsum.h"
#include "passes/pass.h"
#include "passes/raise/match.h"
#include "passes/rewrite.h"

#include <fmt/core.h>

#include <algorithm>

namespace stepc {
namespace {

// What lies between a cross-entropy and the contraction that makes its logits.
struct LinearLayer {
  NodeId contraction;
  std::vector<NodeId> views;  // those nearest to the loss first
  ValueId bias = kNoValue;
  std::string why_not;  // empty: it can be fused

  // The reason nearest to the loss is kept.
  void refuse(std::string reason) {
    if (why_not.empty()) why_not = std::move(reason);
  }
};

// x and w among the operands of a contraction, as permutations that put the summed label last and the classes first.
struct LinearOperands {
  ValueId x, w;
  std::vector<int64_t> x_order, w_order;
};

// Rows stay rows and classes stay classes.
bool keeps_classes(const Graph& graph, const Node& view) {
  const Shape &from = graph.shape(view.inputs[0]), &to = graph.shape(view.outputs[0]);
  if (from.rank() == 0 || to.rank() == 0 || from[from.rank() - 1] != to[to.rank() - 1]) return false;
  const size_t last = from.rank() - 1;
  switch (view.op) {
    case Op::reshape: return true;
    case Op::transpose: return view.attrs.integers("perm").back() == static_cast<int64_t>(last);
    case Op::slice: return view.attrs.integers("starts")[last] == 0 && view.attrs.integers("steps")[last] == 1;
    default: return false;
  }
}

// The operand of an addition that is one number per class.
std::optional<size_t> bias_operand(const Graph& graph, const Node& add) {
  const Shape& sum = graph.shape(add.outputs[0]);
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Shape& shape = graph.shape(add.inputs[i]);
    if (graph.shape(add.inputs[1 - i]) == sum && shape.rank() > 0 && shape.numel() == sum[sum.rank() - 1] &&
        shape[shape.rank() - 1] == shape.numel())
      return i;
  }
  return std::nullopt;
}

std::optional<LinearLayer> layer_behind(const Graph& graph, const Node& loss) {
  LinearLayer layer;
  ValueId v = loss.inputs[0];
  if (graph.is_used(loss.outputs[1])) layer.refuse("the log-sum-exp has another use");
  while (true) {
    const Node* node = graph.producer(v);
    if (node == nullptr) return std::nullopt;
    if (!read_once(graph, v)) layer.refuse("the logits have another use");
    const NodeId id = graph.value(v).producer;
    if (node->op == Op::contraction) {
      layer.contraction = id;
      return layer;
    }
    if (keeps_classes(graph, *node)) {
      layer.views.push_back(id);
      v = node->inputs[0];
    } else if (node->op == Op::cast && is_float(graph.dtype(node->inputs[0]))) {
      layer.refuse(fmt::format("linear cross-entropy in {}", dtype_name(graph.dtype(node->inputs[0]))));
      v = node->inputs[0];
    } else if (const std::optional<size_t> bias = node->op == Op::add ? bias_operand(graph, *node) : std::nullopt) {
      if (layer.bias.valid()) layer.refuse("more than one bias");
      layer.bias = node->inputs[*bias];
      v = node->inputs[1 - *bias];
    } else {
      return std::nullopt;
    }
  }
}

std::optional<LinearOperands> operands_of(const Graph& graph, const Node& contraction) {
  const EinsumSpec spec = parse_einsum(contraction.attrs.text("spec"));
  if (spec.result.empty()) return std::nullopt;
  const char classes = spec.result.back();
  const bool w_first = spec.a.find(classes) != std::string::npos;
  const std::string &w = w_first ? spec.a : spec.b, &x = w_first ? spec.b : spec.a;
  if (w.size() != 2 || x.find(classes) != std::string::npos || x.size() != spec.result.size()) return std::nullopt;
  const char summed = w[0] == classes ? w[1] : w[0];
  if (spec.result.find(summed) != std::string::npos) return std::nullopt;
  LinearOperands operands{contraction.inputs[w_first ? 1 : 0], contraction.inputs[w_first ? 0 : 1], {}, {}};
  std::string order = spec.result;
  order.back() = summed;
  for (const char label : order) {
    const size_t axis = x.find(label);
    if (axis == std::string::npos) return std::nullopt;
    operands.x_order.push_back(static_cast<int64_t>(axis));
  }
  for (const char label : {classes, summed}) operands.w_order.push_back(static_cast<int64_t>(w.find(label)));
  if (graph.shape(operands.w).numel() == 0) return std::nullopt;
  return operands;
}

// A view of logits as the same view of what they are made of, whose last axis has another size.
ValueId view_of_rows(Builder& b, const Node& view, ValueId x) {
  const Shape& from = b.shape(x);
  Dims to = b.shape(view.outputs[0]).dims();
  to.back() = from[from.rank() - 1];
  switch (view.op) {
    case Op::reshape: return b.reshape(x, Shape(std::move(to)));
    case Op::transpose: return b.transpose(x, view.attrs.integers("perm"));
    default: return b.slice(x, view.attrs.integers("starts"), std::move(to), view.attrs.integers("steps"));
  }
}

void fuse(Graph& graph, NodeId id, const LinearLayer& layer, const LinearOperands& operands) {
  const ValueId labels = graph.node(id).inputs[1];
  Builder b(graph, covered_origin(graph, id, {operands.x, operands.w, labels, layer.bias}), id);
  ValueId x = b.transpose(operands.x, operands.x_order);
  for (auto view = layer.views.rbegin(); view != layer.views.rend(); ++view) x = view_of_rows(b, graph.node(*view), x);
  std::vector<ValueId> inputs{x, b.transpose(operands.w, operands.w_order), labels};
  if (layer.bias.valid()) inputs.push_back(b.reshape(layer.bias, {b.shape(layer.bias).numel()}));
  replace_node(graph, id, b.make(Op::linear_cross_entropy, std::move(inputs), graph.node(id).attrs));
}

bool run(Graph& graph, PassContext& context) {
  if (context.options.fuse != FuseLevel::full) return false;
  bool changed = false;
  for (const NodeId id : graph.order()) {
    if (!graph.alive(id) || graph.node(id).op != Op::cross_entropy) continue;
    std::optional<LinearLayer> layer = layer_behind(graph, graph.node(id));
    if (!layer) continue;
    FusionVerdict verdict{edge_end(graph, layer->contraction), edge_end(graph, id), false, {}};
    const Node& contraction = graph.node(layer->contraction);
    const std::optional<LinearOperands> operands = operands_of(graph, contraction);
    if (!context.options.fuse_loss)
      layer->why_not = "--fuse-loss off";
    else if (!operands)
      layer->refuse("the contraction is no linear layer with rows and classes");
    else if (graph.dtype(operands->x) != Dtype::f32)
      layer->refuse(fmt::format("linear cross-entropy in {}", dtype_name(graph.dtype(operands->x))));
    else if (const Dtype accumulate = contraction.attrs.dtype("accumulate"); accumulate != Dtype::f32)
      layer->refuse(fmt::format("linear cross-entropy summed in {}", dtype_name(accumulate)));
    verdict.fused = layer->why_not.empty();
    verdict.reason = verdict.fused ? "linear cross-entropy" : layer->why_not;
    context.note(fmt::format("{} {}: {}", verdict.producer, verdict.fused ? "not stored" : "stored", verdict.reason));
    context.fusion.push_back(std::move(verdict));
    if (!layer->why_not.empty()) continue;
    fuse(graph, id, *layer, *operands);
    changed = true;
  }
  return changed;
}

constexpr Fact kRefuses[] = {Fact::has_backward};
constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};

}  // namespace

extern const Pass pass_fuse_loss;
const Pass pass_fuse_loss{
    .name = "fuse-loss",
    .summary = "makes one operation of a cross-entropy and the linear layer before it (--fuse-loss)",
    .contract = {.refuses = kRefuses, .breaks = kBreaks, .preserves = Preserves::tolerance, .relative_tolerance = 1e-4},
    .run = run,
};

}  // namespace stepc
