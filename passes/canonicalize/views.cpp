#include "ir/builder.h"
#include "ir/op_def.h"
#include "ir/plain_reduction.h"
#include "passes/canonicalize/rules.h"
#include "passes/rewrite.h"

#include <algorithm>

namespace stepc {
namespace {

bool all_equal(const Dims& dims, int64_t value) {
  return std::ranges::all_of(dims, [&](int64_t dim) { return dim == value; });
}

// Whether the node's result is its first operand, given that their types are equal.
bool keeps_every_element(const Graph& graph, const Node& node) {
  switch (node.op) {
    case Op::reshape:
    case Op::expand:
    case Op::cast: return true;
    case Op::transpose: return std::ranges::is_sorted(node.attrs.integers("perm"));
    case Op::slice: return all_equal(node.attrs.integers("steps"), 1);
    case Op::concat: return node.inputs.size() == 1;
    case Op::pad:
      return all_equal(node.attrs.integers("low"), 0) && all_equal(node.attrs.integers("high"), 0) &&
             all_equal(node.attrs.integers("interior"), 0);
    default:
      return is_plain_reduction(node.op) && std::ranges::all_of(node.attrs.integers("axes"), [&](int64_t axis) {
               return graph.shape(node.inputs[0])[static_cast<size_t>(axis)] == 1;
             });
  }
}

// Every value of `from` is one of `to`.
bool casts_losslessly(Dtype from, Dtype to) {
  if (from == to) return true;
  switch (from) {
    case Dtype::boolean: return true;
    case Dtype::f16:
    case Dtype::bf16: return to == Dtype::f32 || to == Dtype::f64;
    case Dtype::f32: return to == Dtype::f64;
    case Dtype::i8: return to == Dtype::i32 || to == Dtype::i64 || is_float(to);
    case Dtype::u8: return to == Dtype::i32 || to == Dtype::i64 || is_float(to);
    case Dtype::i32: return to == Dtype::i64 || to == Dtype::f64;
    case Dtype::i64:
    case Dtype::f64: return false;
  }
  return false;
}

Builder builder_at(Graph& graph, NodeId id, const Node& inner) {
  return Builder(graph, merge_origins(graph.node(id).origin, inner.origin), id);
}

}  // namespace

bool drop_identity(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.inputs.empty() || graph.type(node.inputs[0]) != graph.type(node.outputs[0])) return false;
  if (!keeps_every_element(graph, node)) return false;
  replace_node(graph, id, node.inputs[0]);
  return true;
}

bool merge_views(Graph& graph, NodeId id) {
  const Node& outer = graph.node(id);
  const Node* inner = graph.producer(outer.inputs[0]);
  if (inner == nullptr || inner->op != outer.op) return false;
  Builder b = builder_at(graph, id, *inner);
  const ValueId source = inner->inputs[0];
  ValueId merged = kNoValue;
  if (outer.op == Op::reshape) {
    merged = b.reshape(source, b.shape(outer.outputs[0]));
  } else if (outer.op == Op::expand) {
    merged = b.expand(source, b.shape(outer.outputs[0]));
  } else if (outer.op == Op::transpose) {
    // outer[i] reads inner axis p[i], which reads source axis q[p[i]].
    std::vector<int64_t> perm;
    for (const int64_t axis : outer.attrs.integers("perm"))
      perm.push_back(inner->attrs.integers("perm")[static_cast<size_t>(axis)]);
    merged = b.transpose(source, std::move(perm));
  } else {
    // start + (outer start + k·outer step)·step
    Dims starts = inner->attrs.integers("starts");
    Dims steps = inner->attrs.integers("steps");
    for (size_t i = 0; i < starts.size(); ++i) {
      starts[i] += outer.attrs.integers("starts")[i] * steps[i];
      steps[i] *= outer.attrs.integers("steps")[i];
    }
    merged = b.slice(source, std::move(starts), outer.attrs.integers("sizes"), std::move(steps));
  }
  replace_node(graph, id, merged);
  return true;
}

bool merge_casts(Graph& graph, NodeId id) {
  const Node& outer = graph.node(id);
  const Node* inner = graph.producer(outer.inputs[0]);
  if (inner == nullptr || inner->op != Op::cast) return false;
  const ValueId source = inner->inputs[0];
  if (!casts_losslessly(graph.dtype(source), graph.dtype(inner->outputs[0]))) return false;
  Builder b = builder_at(graph, id, *inner);
  replace_node(graph, id, b.cast(source, graph.dtype(outer.outputs[0])));
  return true;
}

bool reshape_for_transpose(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Shape& shape = graph.shape(node.inputs[0]);
  std::vector<int64_t> moving;
  for (const int64_t axis : node.attrs.integers("perm"))
    if (shape[static_cast<size_t>(axis)] != 1) moving.push_back(axis);
  if (!std::ranges::is_sorted(moving)) return false;
  Builder b(graph, node.origin, id);
  replace_node(graph, id, b.reshape(node.inputs[0], graph.shape(node.outputs[0])));
  return true;
}

bool reshape_for_reduction(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!keeps_every_element(graph, node)) return false;
  Builder b(graph, node.origin, id);
  replace_node(graph, id, b.reshape(node.inputs[0], graph.shape(node.outputs[0])));
  return true;
}

}  // namespace stepc
