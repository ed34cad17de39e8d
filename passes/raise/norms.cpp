#include "ir/builder.h"
#include "passes/raise/match.h"
#include "passes/raise/rules.h"
#include "passes/rewrite.h"

#include <algorithm>
#include <cmath>

namespace stepc {
namespace {

// y = numerator · (variance + epsilon)^(-1/2), as mul(numerator, rsqrt(..)), through reciprocal, or divided by sqrt(..)
struct Normalised {
  ValueId numerator;
  ValueId variance;
  double epsilon = 0;
};

// The radicand where v is 1/√radicand.
ValueId radicand_of_inverse(const Graph& graph, ValueId v) {
  if (const Node* rsqrt = part(graph, v, Op::rsqrt)) return rsqrt->inputs[0];
  const Node* reciprocal = part(graph, v, Op::reciprocal);
  const Node* sqrt = reciprocal != nullptr ? part(graph, reciprocal->inputs[0], Op::sqrt) : nullptr;
  return sqrt != nullptr ? sqrt->inputs[0] : kNoValue;
}

std::optional<Normalised> normalised(const Graph& graph, const Node& node) {
  ValueId numerator, radicand;
  if (node.op == Op::div) {
    const Node* sqrt = part(graph, node.inputs[1], Op::sqrt);
    if (sqrt != nullptr) std::tie(numerator, radicand) = std::pair(node.inputs[0], sqrt->inputs[0]);
  } else {
    for (const auto& [left, right] : both_orders(node))
      if (const ValueId found = radicand_of_inverse(graph, right); found.valid() && !radicand.valid())
        std::tie(numerator, radicand) = std::pair(left, found);
  }
  if (!radicand.valid() || !read_once(graph, radicand)) return std::nullopt;
  const std::optional<Shifted> sum = shifted(graph, radicand);
  if (!sum || !(sum->number >= 0 && std::isfinite(sum->number))) return std::nullopt;
  if (graph.shape(numerator) != graph.shape(node.outputs[0])) return std::nullopt;
  return Normalised{numerator, sum->value, sum->number};
}

// The mean of base² over trailing axes.
std::optional<TrailingMean> mean_square_of(const Graph& graph, ValueId v, ValueId base) {
  std::optional<TrailingMean> mean = trailing_mean_of(graph, v);
  if (!mean || !read_once(graph, v) || !read_once(graph, mean->of)) return std::nullopt;
  const Product square = product_of(graph, mean->of);
  return square.factor == 1 && square.values == std::vector<ValueId>{base, base} ? mean : std::nullopt;
}

// Replaces the last node of a norm's pattern by the norm.
bool replace(Graph& graph, NodeId id, Op op, ValueId x, size_t axis, double epsilon) {
  Builder b(graph, covered_origin(graph, id, {x}), id);
  replace_node(graph, id, b.make(op, {x}, {{"axis", static_cast<int64_t>(axis)}, {"epsilon", epsilon}}));
  return true;
}

// v, without leading axes of size 1, varies within a row of the norm only.
bool belongs_to_row(const Graph& graph, ValueId v, const Shape& shape, size_t axis) {
  const Shape& own = graph.shape(v);
  size_t first = 0;
  while (first < own.rank() && own[first] == 1) ++first;
  return is_float(graph.dtype(v)) && own.rank() <= shape.rank() && own.rank() - first <= shape.rank() - axis;
}

// The norm with `v` as operand `slot` takes the place of the node that reads it and v.
bool absorb(Graph& graph, NodeId id, size_t slot) {
  for (const auto& [y, v] : both_orders(graph.node(id))) {
    const NodeId norm_id = graph.value(y).producer;
    if (!norm_id.valid() || !read_once(graph, y)) continue;
    const Node& norm = graph.node(norm_id);
    const bool fits = (norm.op == Op::layer_norm || (norm.op == Op::rms_norm && slot == 1)) && norm.outputs[0] == y;
    // A scale comes before the bias.
    if (!fits || std::any_of(norm.inputs.begin() +
                                 std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(slot), std::ssize(norm.inputs)),
                             norm.inputs.end(), [](ValueId input) { return input.valid(); }))
      continue;
    const bool in_row = belongs_to_row(graph, v, graph.shape(y), static_cast<size_t>(norm.attrs.integer("axis")));
    if (!in_row || graph.type(graph.node(id).outputs[0]) != graph.type(y)) continue;
    std::vector<ValueId> operands = norm.inputs;
    operands.resize(slot + 1, kNoValue);
    operands[slot] = v;
    Builder b(graph, merge_origins(graph.node(id).origin, norm.origin), id);
    const Node& absorbed = graph.node(b.make_node(norm.op, std::move(operands), norm.attrs));
    for (size_t i = 1; i < norm.outputs.size(); ++i) {
      graph.set_name(absorbed.outputs[i], graph.value(norm.outputs[i]).name);
      graph.replace_uses(norm.outputs[i], absorbed.outputs[i]);
    }
    replace_node(graph, id, absorbed.outputs[0]);
    return true;
  }
  return false;
}

}  // namespace

// c·(mean(c²) + ε)^(-1/2) with c = x − mean(x), which nothing else reads
bool raise_layer_norm(Graph& graph, NodeId id) {
  const std::optional<Normalised> root = normalised(graph, graph.node(id));
  const Node* centred = root ? made_by(graph, root->numerator, Op::sub) : nullptr;
  if (centred == nullptr) return false;
  const ValueId x = centred->inputs[0];
  const std::optional<TrailingMean> mean = trailing_mean_of(graph, centred->inputs[1]);
  const std::optional<TrailingMean> variance = mean_square_of(graph, root->variance, root->numerator);
  if (!mean || !variance || mean->of != x || mean->axis != variance->axis) return false;
  if (!read_once(graph, centred->inputs[1])) return false;
  if (!read_only_by(graph, root->numerator, {id, graph.value(variance->of).producer})) return false;
  return replace(graph, id, Op::layer_norm, x, mean->axis, root->epsilon);
}

// x·(mean(x²) + ε)^(-1/2)
bool raise_rms_norm(Graph& graph, NodeId id) {
  const std::optional<Normalised> root = normalised(graph, graph.node(id));
  if (!root) return false;
  const std::optional<TrailingMean> mean = mean_square_of(graph, root->variance, root->numerator);
  return mean && replace(graph, id, Op::rms_norm, root->numerator, mean->axis, root->epsilon);
}

bool absorb_norm_scale(Graph& graph, NodeId id) { return absorb(graph, id, 1); }

bool absorb_norm_bias(Graph& graph, NodeId id) { return absorb(graph, id, 2); }

}  // namespace stepc
