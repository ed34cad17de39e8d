#pragma once

#include "ir/attention.h"
#include "ir/builder.h"
#include "ir/op_def.h"

#include <array>
#include <string>
#include <vector>

namespace stepc {

// What attention and attention_backward share.

constexpr std::array<AttrSpec, 12> kAttentionAttrs = {{{"scale", AttrKind::real},
                                                       {"causal", AttrKind::boolean, false},
                                                       {"causal_offset", AttrKind::integer, false},
                                                       {"window_left", AttrKind::integer, false, -1},
                                                       {"window_right", AttrKind::integer, false, -1},
                                                       {"softcap", AttrKind::real, false},
                                                       {"dropout", AttrKind::real, false},
                                                       {"dropout_key", AttrKind::integer, false}}};

// Where the optional operands stand: the mask, then the offset of dropout.
constexpr size_t kAttentionMask = 3, kAttentionBackwardMask = 6;

// Throws UserError unless q, k, v are floats of one dtype with fitting shapes, the mask, where there is one, a bool or
// a float that broadcasts to [B, H, S, T], and the offset, where dropout needs it and only there, i64[].
Attention infer_attention(const InferArgs& args, size_t mask);
Attention bound_attention(const Graph& graph, const Node& node);

// --- as nodes

struct AttentionOperands {
  ValueId q, k, v;
  ValueId mask, offset;  // kNoValue where there is none
};
AttentionOperands attention_operands(const Node& node, size_t mask);

// Scores after scale, softcap, mask and limits, -∞ where a key is excluded: [B, H, S, T], statistics dtype.
struct ScoreNodes {
  ValueId scores;
  ValueId capped;  // tanh(s/c), where there is a softcap
};
ScoreNodes score_nodes(Builder& b, const Attention& attention, const AttentionOperands& operands);

// Whether a weight is kept, bool [B, H, S, T]; kNoValue without dropout.
ValueId kept_weights(Builder& b, const Attention& attention, const AttentionOperands& operands);
// Weights, or their gradients, as dropout leaves them.
ValueId dropped(Builder& b, const Attention& attention, ValueId kept, ValueId weights);

// Gradients from the result o, its gradient and, unless it is kNoValue, that of the log-sum-exp.
struct AttentionGradients {
  ValueId q, k, v;
  ValueId scores;  // of what softmax sees: [B, H, S, T], statistics dtype
};
AttentionGradients attention_gradients(Builder& b, const Attention& attention, const AttentionOperands& operands,
                                       ValueId o, ValueId d_o, ValueId dlse);

// Σ over keys or queries with grouped heads: `spec` is an einsum in which * stands for the group's label. Operands and
// result have rank 4; the query side, of H heads, is seen as [B, Hk, group, ., .] without copying keys.
ValueId grouped_contraction(Builder& b, const Attention& attention, ValueId a, ValueId c, std::string spec);

// --- evaluated

// One query's scores against all keys, as ScoreNodes has them.
class ScoreRows {
 public:
  // The operands of a node whose mask stands at `mask`.
  ScoreRows(const Attention& attention, const EvalArgs& args, size_t mask);
  // Fills `scores` (-∞ where excluded), `slope`, the derivative of the capped score by the scaled one, and `kept`, the
  // factor of dropout.
  void compute(int64_t batch, int64_t head, int64_t query);
  int64_t mask_index(int64_t batch, int64_t head, int64_t query, int64_t key) const;
  std::vector<double> scores, slope, kept;

 private:
  const Attention& attention_;
  const RefTensor &q_, &k_;
  Dtype statistics_;  // of scores: a large mask leaves few of their digits
  const RefTensor* mask_;
  int64_t offset_ = 0;
  Dims mask_strides_;
};

}  // namespace stepc
