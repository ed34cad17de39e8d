#include "ir/builder.h"
#include "ir/einsum.h"
#include "passes/raise/attention_mask.h"
#include "passes/raise/match.h"
#include "passes/raise/rules.h"
#include "passes/rewrite.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

// Attention as exporters write it, whatever the order of axes:
//
//   s = contraction(q, k)            q and k scaled or not, k transposed, keys and values repeated over groups
//   s = s · scale                    or divided
//   s = c · tanh(s / c)              with a soft cap
//   s = s + mask                     one or several, or select(mask, s, −∞)
//   p = softmax(s)
//   p = select(ratio <= random, p / (1 − ratio), 0)         with dropout
//   o = contraction(p, v)
//
// The composite makes the result of a query without any key 0, where plain softmax makes it NaN. So plain softmax is
// raised only where no such row can be: masks whose sums stay finite, or constants that leave a key in every row.
namespace stepc {
namespace {

// `source`, reshaped to `shape`, has `labels`, and stands for its product with `scale`.
struct Operand {
  ValueId source;
  Shape shape;
  std::string labels;
  double scale = 1;
};

std::string permuted(const std::string& labels, const std::vector<int64_t>& perm) {
  std::string before(labels.size(), ' ');
  for (size_t i = 0; i < perm.size(); ++i) before[static_cast<size_t>(perm[i])] = labels[i];
  return before;
}

bool swaps_last_two(const std::vector<int64_t>& perm) {
  const auto rank = static_cast<int64_t>(perm.size());
  if (rank < 2 || perm[perm.size() - 1] != rank - 2 || perm[perm.size() - 2] != rank - 1) return false;
  return std::is_sorted(perm.begin(), perm.end() - 2);
}

bool peel_transpose(const Graph& graph, const Node& transpose, Operand& x) {
  const std::vector<int64_t>& perm = transpose.attrs.integers("perm");
  const Shape& outer = graph.shape(transpose.outputs[0]);
  const Shape& inner = graph.shape(transpose.inputs[0]);
  if (x.shape == outer) {
    x.labels = permuted(x.labels, perm);
    x.shape = inner;
  } else {  // of the same matrices in other batches
    const size_t rank = x.shape.rank();
    if (!swaps_last_two(perm) || rank < 2 || x.shape[rank - 1] != outer[outer.rank() - 1] ||
        x.shape[rank - 2] != outer[outer.rank() - 2])
      return false;
    Dims dims = x.shape.dims();
    std::swap(dims[rank - 1], dims[rank - 2]);
    std::swap(x.labels[rank - 1], x.labels[rank - 2]);
    x.shape = Shape(std::move(dims));
  }
  x.source = transpose.inputs[0];
  return true;
}

// Keys or values of each head repeated for its group: [B, Hk, 1, T, D] → [B, Hk, G, T, D] seen as [B, Hk·G, T, D].
bool peel_repeat(const Graph& graph, const Node& expand, const std::string& batch, Operand& x) {
  const Shape& from = graph.shape(expand.inputs[0]);
  const Shape& to = graph.shape(expand.outputs[0]);
  if (from.rank() != 5 || to.rank() != 5 || from[2] != 1 || x.labels.substr(0, 2) != batch) return false;
  if (x.shape != Shape{to[0], to[1] * to[2], to[3], to[4]}) return false;
  for (const size_t axis : {0U, 1U, 3U, 4U})
    if (from[axis] != to[axis]) return false;
  x.shape = Shape{from[0], from[1], from[3], from[4]};
  x.source = expand.inputs[0];
  return true;
}

// Looks through views, repetition over groups and, with `scales`, multiplication by constants.
Operand peel(const Graph& graph, ValueId v, const std::string& labels, const std::string& batch, bool scales) {
  Operand x{v, graph.shape(v), labels, 1};
  while (const Node* node = graph.producer(x.source)) {
    if (node->op == Op::reshape) {
      x.source = node->inputs[0];
    } else if (node->op == Op::transpose) {
      if (!peel_transpose(graph, *node, x)) break;
    } else if (node->op == Op::expand) {
      if (!peel_repeat(graph, *node, batch, x)) break;
    } else if (scales && (node->op == Op::mul || node->op == Op::div)) {
      const std::optional<double> number = splat_constant(graph, node->inputs[1]);
      if (!number || graph.shape(node->inputs[0]) != graph.shape(x.source)) break;
      x.scale *= node->op == Op::mul ? *number : 1 / *number;
      x.source = node->inputs[0];
    } else {
      break;
    }
  }
  return x;
}

// As a node of rank 4 in the order of `order`; a missing head axis has size 1.
ValueId materialise(Builder& b, const Operand& x, const std::string& order) {
  const ValueId shaped = b.reshape(x.source, x.shape);
  std::vector<int64_t> perm;
  for (const char label : order) perm.push_back(static_cast<int64_t>(x.labels.find(label)));
  const ValueId ordered = b.transpose(shaped, std::move(perm));
  return order.size() == 3 ? b.unsqueeze(ordered, 1) : ordered;
}

// What lies between the scores' contraction and softmax.
struct Scores {
  NodeId contraction;
  double scale = 1;
  double softcap = 0;
  std::vector<ValueId> added;
  ValueId causal_mask;  // added, causal and nothing else; not in `added`
  int64_t causal_offset = 0;
  ValueId chosen;  // bool: the key counts where it is true
  bool chosen_negated = false;
  double fill = 0;  // the score of other keys
};

bool leads_to_contraction(const Graph& graph, ValueId v) {
  while (const Node* node = v.valid() && read_once(graph, v) ? graph.producer(v) : nullptr) {
    if (node->op == Op::contraction) return true;
    const bool step = node->op == Op::tanh || node->op == Op::cast || node->op == Op::add ||
                      ((node->op == Op::mul || node->op == Op::div) && splat_constant(graph, node->inputs[1]));
    if (!step) return false;
    v = node->op == Op::add && !leads_to_contraction(graph, node->inputs[0]) ? node->inputs[1] : node->inputs[0];
  }
  return false;
}

ValueId without_cast(const Graph& graph, ValueId v) {
  const Node* cast = part(graph, v, Op::cast);
  return cast != nullptr && is_float(graph.dtype(cast->inputs[0])) ? cast->inputs[0] : v;
}

// Takes select(mask, s, fill) apart.
ValueId peel_choice(const Graph& graph, const Node& select, Scores& scores) {
  for (const bool negated : {false, true}) {
    const ValueId kept = select.inputs[negated ? 2 : 1];
    const std::optional<double> fill = splat_constant(graph, select.inputs[negated ? 1 : 2]);
    if (!fill || *fill > -1e30 || graph.shape(kept) != graph.shape(select.outputs[0])) continue;
    scores.chosen = select.inputs[0];
    scores.chosen_negated = negated;
    scores.fill = *fill;
    return kept;
  }
  return kNoValue;
}

ValueId peel_masks(const Graph& graph, ValueId v, Scores& scores) {
  if (const Node* select = part(graph, v, Op::select)) return peel_choice(graph, *select, scores);
  while (const Node* sum = part(graph, without_cast(graph, v), Op::add)) {
    const bool left = leads_to_contraction(graph, sum->inputs[0]);
    const ValueId inner = sum->inputs[left ? 0 : 1];
    if (graph.shape(inner) != graph.shape(v)) return kNoValue;
    scores.added.push_back(sum->inputs[left ? 1 : 0]);
    v = inner;
  }
  return v;
}

// v = c·tanh(s/c): sets softcap and the part of the scale that is in the division.
ValueId peel_softcap(const Graph& graph, ValueId v, Scores& scores) {
  const Product outer = product_of(graph, v);
  const Node* tanh = outer.values.size() == 1 ? part(graph, outer.values[0], Op::tanh) : nullptr;
  if (tanh == nullptr || !(outer.factor > 0)) return v;
  scores.softcap = outer.factor;
  scores.scale *= outer.factor;
  return tanh->inputs[0];
}

std::optional<Scores> scores_before(const Graph& graph, ValueId v) {
  Scores scores;
  v = peel_masks(graph, without_cast(graph, v), scores);
  if (!v.valid()) return std::nullopt;
  v = peel_softcap(graph, without_cast(graph, v), scores);
  const Product product = product_of(graph, without_cast(graph, v));
  if (product.values.size() != 1) return std::nullopt;
  const ValueId last = without_cast(graph, product.values[0]);
  if (part(graph, last, Op::contraction) == nullptr) return std::nullopt;
  scores.scale *= product.factor;
  scores.contraction = graph.value(last).producer;
  return scores;
}

// Takes a causal mask out of those that are added: what is left may be as small as one number per key. Such a mask
// leaves each query a key. Where it is finite, what it hides must not be outweighed by what else is hidden.
void take_causal_mask(const Graph& graph, Scores& scores) {
  for (auto mask = scores.added.begin(); mask != scores.added.end(); ++mask) {
    const std::optional<int64_t> offset = causal_offset(graph, *mask, true);
    if (!offset) continue;
    Magnitude others = Magnitude::unit;
    for (const ValueId other : scores.added)
      if (other != *mask) others = sum_of(others, magnitude_of(graph, other));
    if (magnitude_of(graph, *mask) < Magnitude::infinite && others > Magnitude::moderate) continue;
    scores.causal_mask = *mask;
    scores.causal_offset = *offset;
    scores.added.erase(mask);
    return;
  }
}

// No row of the scores can be −∞ throughout, and keys that are hidden contribute exactly nothing.
bool masks_agree(const Graph& graph, const Scores& scores, bool zero_dead_rows) {
  if (scores.chosen.valid()) {
    const bool infinite = scores.fill == -std::numeric_limits<double>::infinity();
    return (infinite && zero_dead_rows) || leaves_a_key(graph, scores.chosen, !scores.chosen_negated);
  }
  Magnitude sum = Magnitude::moderate;
  for (const ValueId mask : scores.added) sum = sum_of(sum, magnitude_of(graph, mask));
  return zero_dead_rows || sum < Magnitude::infinite;
}

// The labels of both contractions, each axis of the scores under the label that it has in its own contraction.
struct Labels {
  std::string batch;          // one or two
  char query = 0, key = 0;    // of the scores
  char depth = 0, value = 0;  // summed in the scores; of the result
  std::string a, b;           // operands of the scores' contraction
  std::string v;              // the values, in the scores' labels
  std::string result;         // likewise
};

std::string only(const Einsum& einsum, LabelRole role) {
  std::string labels;
  for (const EinsumLabel& label : einsum.with_role(role)) labels += label.label;
  return labels;
}

Einsum einsum_of(const Graph& graph, const Node& node) {
  return bind_einsum(parse_einsum(node.attrs.text("spec")), graph.shape(node.inputs[0]), graph.shape(node.inputs[1]));
}

std::optional<Labels> match_labels(const Graph& graph, const Node& scores, const Node& root, size_t p_operand) {
  const Einsum inner = einsum_of(graph, scores);
  const Einsum outer = einsum_of(graph, root);
  const std::string query = only(inner, LabelRole::m), key = only(inner, LabelRole::n),
                    depth = only(inner, LabelRole::k);
  Labels labels{only(inner, LabelRole::batch), 0, 0, 0, 0, inner.spec.a, inner.spec.b, {}, {}};
  if (query.size() != 1 || key.size() != 1 || depth.size() != 1) return std::nullopt;
  if (labels.batch.empty() || labels.batch.size() > 2 || inner.spec.result != labels.batch + query + key)
    return std::nullopt;
  const size_t rank = labels.batch.size() + 2;
  if (inner.spec.a.size() != rank || inner.spec.b.size() != rank) return std::nullopt;
  std::tie(labels.query, labels.key, labels.depth) = std::tuple(query[0], key[0], depth[0]);

  // The outer contraction, in the labels of the scores; the values' own axis is '*'.
  const std::string& p = p_operand == 0 ? outer.spec.a : outer.spec.b;
  labels.value = '*';
  const auto renamed = [&](const std::string& own) {
    std::string result;
    for (const char label : own) {
      const size_t axis = p.find(label);
      result += axis == std::string::npos ? labels.value : inner.spec.result[axis];
    }
    return result;
  };
  labels.v = renamed(p_operand == 0 ? outer.spec.b : outer.spec.a);
  labels.result = renamed(outer.spec.result);
  const auto is_order_of = [](std::string text, std::string expected) {
    std::ranges::sort(text);
    std::ranges::sort(expected);
    return text == expected;
  };
  if (!is_order_of(labels.v, labels.batch + labels.key + labels.value)) return std::nullopt;
  if (!is_order_of(labels.result, labels.batch + labels.query + labels.value)) return std::nullopt;
  return labels;
}

// A mask that fits scores [B, S, T] fits [B, 1, S, T].
ValueId with_head_axis(Builder& b, ValueId mask, const Labels& labels) {
  const Shape& shape = b.shape(mask);
  return labels.batch.size() == 1 && shape.rank() == 3 ? b.unsqueeze(mask, 1) : mask;
}

ValueId mask_operand(Builder& b, const Scores& scores, const Labels& labels) {
  if (scores.chosen.valid()) {
    const ValueId mask = scores.chosen_negated ? b.unary(Op::logical_not, scores.chosen) : scores.chosen;
    return with_head_axis(b, mask, labels);
  }
  ValueId sum = scores.added.back();
  for (size_t i = scores.added.size() - 1; i-- > 0;) sum = b.add(sum, scores.added[i]);
  return with_head_axis(b, sum, labels);
}

struct Dropout {
  double ratio = 0;
  int64_t key = 0;
  ValueId offset;
};

// Takes select(ratio <= random, p / (1 − ratio), 0) apart. The random tensor has p's shape, so p's element order too.
ValueId peel_dropout(const Graph& graph, ValueId v, Dropout& dropout) {
  const Node* choice = part(graph, v, Op::select);
  const Node* kept = choice == nullptr ? nullptr : part(graph, choice->inputs[0], Op::less_equal);
  const Node* random = kept == nullptr ? nullptr : part(graph, kept->inputs[1], Op::random);
  if (random == nullptr || graph.shape(kept->inputs[1]) != graph.shape(v)) return v;
  const std::optional<double> ratio = splat_constant(graph, kept->inputs[0]);
  if (!ratio || !(*ratio > 0 && *ratio < 1) || !is_number(graph, choice->inputs[2], 0)) return v;
  const Product scaled = product_of(graph, choice->inputs[1]);
  const double rounding = dtype_bytes(graph.dtype(v)) < 4 ? 0x1p-7 : 1e-6;
  const bool by_what_is_kept = std::fabs(scaled.factor * (1 - *ratio) - 1) <= rounding;
  if (scaled.values.size() != 1 || !by_what_is_kept || !read_once(graph, choice->inputs[1])) return v;
  dropout = {*ratio, random->attrs.integer("key"), random->inputs[0]};
  return scaled.values[0];
}

// Where the diagonal lies that keys must not be beyond, if there is one.
std::optional<int64_t> causal_limit(const Graph& graph, const Scores& scores) {
  if (scores.chosen.valid()) return causal_offset(graph, scores.chosen, !scores.chosen_negated);
  if (scores.causal_mask.valid()) return scores.causal_offset;
  return std::nullopt;
}

// The scores behind the weights that a contraction reads.
struct Weights {
  Dropout dropout;
  Scores scores;
  bool certain = false;  // the composite's result is that of the parts, whatever the masks hide
};

std::optional<Weights> weights_behind(const Graph& graph, ValueId read) {
  Weights weights;
  const ValueId p = without_cast(graph, peel_dropout(graph, without_cast(graph, read), weights.dropout));
  const Node* softmax = part(graph, p, Op::softmax);
  if (softmax == nullptr || softmax->attrs.integer("axis") + 1 != static_cast<int64_t>(graph.shape(p).rank()))
    return std::nullopt;
  std::optional<Scores> scores = scores_before(graph, softmax->inputs[0]);
  if (!scores) return std::nullopt;
  take_causal_mask(graph, *scores);
  weights.certain = masks_agree(graph, *scores, softmax->attrs.flag("zero_dead_rows"));
  weights.scores = std::move(*scores);
  return weights;
}

bool raise_with(Graph& graph, NodeId id, size_t p_operand) {
  const Node& root = graph.node(id);
  const std::optional<Weights> weights = weights_behind(graph, root.inputs[p_operand]);
  if (!weights || !weights->certain) return false;
  const Dropout& dropout = weights->dropout;
  const Scores* scores = &weights->scores;
  const Node& inner = graph.node(scores->contraction);
  const std::optional<Labels> labels = match_labels(graph, inner, root, p_operand);
  if (!labels) return false;

  const ValueId v = root.inputs[1 - p_operand];
  const Operand q = peel(graph, inner.inputs[0], labels->a, "", /*scales=*/true);
  const Operand k = peel(graph, inner.inputs[1], labels->b, labels->batch, /*scales=*/true);
  const Operand values = peel(graph, v, labels->v, labels->batch, /*scales=*/false);
  if (graph.dtype(q.source) != graph.dtype(values.source)) return false;
  // Keys and values are repeated alike, or neither is.
  const auto heads = [&](const Operand& x) { return x.shape[x.labels.find(labels->batch.back())]; };
  const bool grouped_alike = heads(k) == heads(values);
  const Operand whole_k{inner.inputs[1], graph.shape(inner.inputs[1]), labels->b, 1};
  const Operand whole_v{v, graph.shape(v), labels->v, 1};

  const double scale = scores->scale * q.scale * (grouped_alike ? k.scale : 1);
  if (!std::isfinite(scale) || !std::isfinite(scores->softcap)) return false;

  std::vector<ValueId> leaves{q.source, k.source, values.source};
  leaves.insert(leaves.end(), scores->added.begin(), scores->added.end());
  for (const ValueId mask : {scores->chosen, scores->causal_mask})
    if (mask.valid()) leaves.push_back(mask);
  if (dropout.ratio > 0) leaves.push_back(dropout.offset);
  Builder b(graph, covered_origin(graph, id, leaves), id);
  std::vector<ValueId> operands{
      materialise(b, q, labels->batch + labels->query + labels->depth),
      materialise(b, grouped_alike ? k : whole_k, labels->batch + labels->key + labels->depth),
      materialise(b, grouped_alike ? values : whole_v, labels->batch + labels->key + labels->value)};
  Attrs attrs{{"scale", scale}, {"softcap", scores->softcap}, {"dropout", dropout.ratio}, {"dropout_key", dropout.key}};
  const std::optional<int64_t> causal = causal_limit(graph, *scores);
  if (causal) {
    attrs.set("causal", true);
    attrs.set("causal_offset", *causal);
  }
  if (!scores->added.empty() || (scores->chosen.valid() && !causal))
    operands.push_back(mask_operand(b, *scores, *labels));
  if (dropout.ratio > 0) {
    operands.resize(4, kNoValue);
    operands.push_back(dropout.offset);
  }
  ValueId o = b.make(Op::attention, std::move(operands), std::move(attrs));
  if (labels->batch.size() == 1) o = b.squeeze(o, 1);
  const std::string order = labels->batch + labels->query + labels->value;
  std::vector<int64_t> perm;
  for (const char label : labels->result) perm.push_back(static_cast<int64_t>(order.find(label)));
  replace_node(graph, id, b.transpose(o, std::move(perm)));
  return true;
}

}  // namespace

bool may_lack_keys(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return node.op == Op::contraction && std::ranges::any_of(node.inputs, [&](ValueId read) {
           const std::optional<Weights> weights = weights_behind(graph, read);
           return weights && !weights->certain;
         });
}

bool raise_attention(Graph& graph, NodeId id) { return raise_with(graph, id, 0) || raise_with(graph, id, 1); }

}  // namespace stepc
