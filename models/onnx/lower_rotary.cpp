#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <array>

namespace stepc::onnx_import {
namespace {

// The cache of one row per position: given as (B, S, R/2), or as (P, R/2) and taken at position_ids (B, S).
// B may be 1, as PyTorch exports it.
ValueId rows_at_positions(Lowering& l, size_t cache, int64_t pairs) {
  const ValueId rows = l.has(3) ? l.b.gather(l.in(cache), l.in(3), 0) : l.in(cache);
  const Shape& shape = l.b.shape(rows);
  if (shape.rank() != 3 || shape[2] != pairs)
    user_error("{} cache {} gives {} where (batch, sequence, {}) is expected", cache == 1 ? "cos" : "sin",
               to_string(l.shape(cache)), to_string(shape), pairs);
  return rows;
}

// X is (B, H, S, D), or (B, S, H·D) with num_heads.
void rotary_embedding(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  const Shape shape = l.shape(0);
  ValueId x = l.in(0);
  if (shape.rank() == 3) {
    const int64_t heads = n.integer("num_heads", 0);
    if (heads <= 0 || shape[2] % heads != 0)
      user_error("num_heads = {} does not divide the last dim of {}", heads, to_string(shape));
    x = b.reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
  } else if (shape.rank() != 4) {
    user_error("the operand {} has neither 3 nor 4 dimensions", to_string(shape));
  }
  const int64_t rotary_dim = n.integer("rotary_embedding_dim", 0);
  const int64_t pairs = (rotary_dim == 0 ? b.shape(x)[3] : rotary_dim) / 2;
  const size_t head_axis = shape.rank() == 3 ? 2 : 1;
  const auto cache = [&](size_t i) { return b.unsqueeze(rows_at_positions(l, i, pairs), head_axis); };
  const ValueId y = b.make(Op::rotary, {x, cache(1), cache(2)},
                           {{"interleaved", n.flag("interleaved", false)}, {"rotary_dim", rotary_dim}});
  l.set(0, b.reshape(y, shape));
}

constexpr auto kRules = std::to_array<NamedRule>({{"RotaryEmbedding", rotary_embedding}});

}  // namespace

RuleList rotary_rules() { return kRules; }

}  // namespace stepc::onnx_import
