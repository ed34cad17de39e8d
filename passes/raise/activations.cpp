#include "ir/builder.h"
#include "passes/raise/match.h"
#include "passes/raise/rules.h"
#include "passes/rewrite.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace stepc {
namespace {

constexpr double kSqrt2OverPi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
constexpr double kCubic = 0.044715;
constexpr double kRounding = 1e-6;  // of the constants that exporters write

bool near(double a, double b) { return std::abs(a - b) <= kRounding * std::abs(b); }

bool is_product(const Product& product, double factor, std::vector<ValueId> values) {
  std::ranges::sort(values);
  return near(product.factor, factor) && product.values == values;
}

// u = √(2/π) · (x + 0.044715·x³), or with x taken out: √(2/π) · x · (1 + 0.044715·x²)
bool is_tanh_argument(const Graph& graph, ValueId u, ValueId x) {
  const Product outer = product_of(graph, u);
  if (!near(outer.factor, kSqrt2OverPi)) return false;
  if (outer.values.size() == 1) {
    const Node* sum = part(graph, outer.values[0], Op::add);
    if (sum == nullptr) return false;
    return std::ranges::any_of(both_orders(*sum), [&](const auto& terms) {
      return terms.first == x && is_product(product_of(graph, terms.second), kCubic, {x, x, x});
    });
  }
  if (outer.values.size() != 2 || std::ranges::find(outer.values, x) == outer.values.end()) return false;
  const std::optional<Shifted> sum = shifted(graph, outer.values[outer.values[0] == x ? 1 : 0]);
  return sum && sum->number == 1 && is_product(product_of(graph, sum->value), kCubic, {x, x});
}

// 1 + t or, scaled, c + c·t: sets the value t, and the c.
struct Bell {
  ValueId t;
  double scale = 1;
};
std::optional<Bell> bell_of(const Graph& graph, ValueId v) {
  const std::optional<Shifted> sum = shifted(graph, v);
  if (!sum) return std::nullopt;
  const Product product = product_of(graph, sum->value);
  if (product.values.size() != 1 || !near(product.factor, sum->number)) return std::nullopt;
  return Bell{product.values[0], sum->number};
}

void replace(Graph& graph, NodeId id, Op op, ValueId x, Attrs attrs = {}) {
  Builder b(graph, covered_origin(graph, id, {x}), id);
  replace_node(graph, id, b.make(op, {x}, std::move(attrs)));
}

}  // namespace

// 1/√x as reciprocal(sqrt(x)) or 1 / sqrt(x)
bool raise_rsqrt(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op == Op::div &&
      (!is_number(graph, node.inputs[0], 1) || graph.shape(node.inputs[1]) != graph.shape(node.outputs[0])))
    return false;
  const Node* root = part(graph, node.inputs[node.op == Op::div ? 1 : 0], Op::sqrt);
  if (root == nullptr) return false;
  replace(graph, id, Op::rsqrt, root->inputs[0]);
  return true;
}

// x·σ(x)
bool raise_silu(Graph& graph, NodeId id) {
  const Node& product = graph.node(id);
  for (const auto& [x, other] : both_orders(product)) {
    const Node* sigmoid = part(graph, other, Op::sigmoid);
    if (sigmoid == nullptr || sigmoid->inputs[0] != x) continue;
    replace(graph, id, Op::silu, x);
    return true;
  }
  return false;
}

// x/2 · (1 + erf(x/√2)), or x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³))), factors in any order
bool raise_gelu(Graph& graph, NodeId id) {
  const Product product = product_of(graph, graph.node(id).outputs[0]);
  if (product.values.size() != 2) return false;
  for (size_t i = 0; i < 2; ++i) {
    const ValueId x = product.values[i];
    const ValueId other = product.values[1 - i];
    const std::optional<Bell> bell = read_once(graph, other) ? bell_of(graph, other) : std::nullopt;
    if (!bell || !near(product.factor * bell->scale, 0.5)) continue;
    const Node* erf = part(graph, bell->t, Op::erf);
    const Node* tanh = part(graph, bell->t, Op::tanh);
    const bool exact = erf != nullptr && is_product(product_of(graph, erf->inputs[0]), 1 / std::numbers::sqrt2, {x});
    const bool approximate = tanh != nullptr && is_tanh_argument(graph, tanh->inputs[0], x);
    if (!exact && !approximate) continue;
    if (graph.shape(x) != graph.shape(graph.node(id).outputs[0])) continue;
    replace(graph, id, Op::gelu, x, {{"approximate", std::string(exact ? "none" : "tanh")}});
    return true;
  }
  return false;
}

}  // namespace stepc
