#include "models/zoo/layers.h"

#include <cmath>

namespace stepc::zoo {

std::string Layers::linear(const std::string& scope, const std::string& x, int64_t in, int64_t out) {
  const std::string product = w.node(scope, "MatMul", {x, w.parameter(scope + ".weight", {in, out})});
  return has_biases() ? add(scope, product, w.parameter(scope + ".bias", {out})) : product;
}

std::string Layers::norm(const std::string& scope, const std::string& x) {
  const std::string scale = w.parameter(scope + ".weight", {c.dim});
  const Attributes attributes{{"axis", int64_t{-1}}, {"epsilon", 1e-5F}};
  if (!has_biases()) return w.node(scope, "RMSNormalization", {x, scale}, attributes);
  return w.node(scope, "LayerNormalization", {x, scale, w.parameter(scope + ".bias", {c.dim})}, attributes);
}

std::string Layers::gelu(const std::string& scope, const std::string& x) {
  return w.node(scope, "Gelu", {x}, {{"approximate", std::string(c.family == ZooFamily::gpt2 ? "tanh" : "none")}});
}

void Layers::prepare_rotary() {
  std::vector<float> frequencies;
  for (int64_t i = 0; i < c.head_dim; i += 2)
    frequencies.push_back(
        static_cast<float>(std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(c.head_dim))));
  const std::string range = w.node("rotary", "Range", {w.integer(0), w.integer(c.seq), w.integer(1)});
  const std::string positions = w.node("rotary", "Cast", {range}, {{"to", int64_t{onnx::TensorProto::FLOAT}}});
  const std::string column = w.node("rotary", "Reshape", {positions, w.integers({1, c.seq, 1})});
  const std::string angles = w.node("rotary", "Mul", {column, w.reals(frequencies)});
  cos_ = w.node("rotary", "Cos", {angles});
  sin_ = w.node("rotary", "Sin", {angles});
}

// [batch, seq, heads · head_dim] → [batch, heads, seq, head_dim]
std::string Layers::heads_first(const std::string& scope, const std::string& x, int64_t heads) {
  const std::string split = w.node(scope, "Reshape", {x, w.integers({0, c.seq, heads, c.head_dim})});
  return w.node(scope, "Transpose", {split}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
}

std::string Layers::attention(const std::string& scope, const std::string& x) {
  const int64_t query_width = c.heads * c.head_dim;
  const int64_t key_width = c.kv_heads * c.head_dim;
  std::string q = linear(scope + ".q", x, c.dim, query_width);
  std::string k = linear(scope + ".k", x, c.dim, key_width);
  std::string v = linear(scope + ".v", x, c.dim, key_width);
  q = heads_first(scope, q, c.heads);
  k = heads_first(scope, k, c.kv_heads);
  v = heads_first(scope, v, c.kv_heads);
  if (!cos_.empty()) {
    q = w.node(scope + ".rotary", "RotaryEmbedding", {q, cos_, sin_});
    k = w.node(scope + ".rotary", "RotaryEmbedding", {k, cos_, sin_});
  }
  const std::string o = w.node(scope, "Attention", {q, k, v}, {{"is_causal", int64_t{is_causal() ? 1 : 0}}});
  const std::string seq_first = w.node(scope, "Transpose", {o}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  const std::string joined = w.node(scope, "Reshape", {seq_first, w.integers({0, c.seq, query_width})});
  return linear(scope + ".o", joined, query_width, c.dim);
}

std::string Layers::mlp(const std::string& scope, const std::string& x) {
  const std::string up = linear(scope + ".up", x, c.dim, c.ffn);
  return linear(scope + ".down", gelu(scope, up), c.ffn, c.dim);
}

std::string Layers::swiglu(const std::string& scope, const std::string& x) {
  const std::string gate = linear(scope + ".gate", x, c.dim, c.ffn);
  const std::string up = linear(scope + ".up", x, c.dim, c.ffn);
  const std::string silu = w.node(scope, "Mul", {gate, w.node(scope, "Sigmoid", {gate})});
  return linear(scope + ".down", w.node(scope, "Mul", {silu, up}), c.ffn, c.dim);
}

std::string Layers::experts(const std::string& scope, const std::string& x) {
  // x as tokens [n, dim]; n = batch · seq is known once batch is bound, so its shapes are computed in the graph.
  const std::string tokens = w.node(scope, "Reshape", {x, w.integers({-1, c.dim})});
  const std::string n = w.node(scope, "Shape", {tokens}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
  const std::string k = w.integers({c.top_k});
  const std::string e = w.integers({c.experts});
  const std::string choices = w.node(scope, "Mul", {n, k});  // n · top_k
  const std::string capacity =
      w.node(scope, "Div", {w.node(scope, "Sub", {w.node(scope, "Add", {choices, e}), w.integers({1})}), e});

  const std::string logits = linear(scope + ".router", tokens, c.dim, c.experts);
  const auto top = w.nodes(scope, "TopK", {logits, k}, 2);  // [n, k] each
  const std::string weights = w.node(scope, "Softmax", {top[0]}, {{"axis", int64_t{-1}}});

  // The place of each choice among its expert's tokens: how many earlier choices went there.
  const std::string expert = w.node(scope, "Reshape", {top[1], w.integers({-1})});  // [n·k]
  const std::string one_hot =
      w.node(scope, "OneHot", {expert, w.integer(c.experts), w.integers({0, 1})});  // [n·k, experts]
  const std::string before = w.node(scope, "CumSum", {one_hot, w.integer(0)}, {{"exclusive", int64_t{1}}});
  const std::string place = w.node(scope, "ReduceSum", {w.node(scope, "Mul", {before, one_hot}), w.integers({1})},
                                   {{"keepdims", int64_t{0}}});
  const std::string fits = w.node(scope, "Less", {place, capacity});

  // Slots experts · capacity, and one more that takes what does not fit.
  const std::string slots = w.node(scope, "Mul", {e, capacity});
  const std::string own = w.node(scope, "Add", {w.node(scope, "Mul", {expert, capacity}), place});
  const std::string slot = w.node(scope, "Where", {fits, own, slots});
  const std::string empty = w.node(scope, "ConstantOfShape", {w.node(scope, "Add", {slots, w.integers({1})})});
  const std::string no_token = w.node(scope, "Cast", {empty}, {{"to", int64_t{onnx::TensorProto::INT64}}});
  const std::string range = w.node(scope, "Range", {w.integer(0), w.node(scope, "Squeeze", {choices}), w.integer(1)});
  const std::string token = w.node(scope, "Div", {range, k});  // of each choice
  const std::string taken = w.node(scope, "ScatterElements", {no_token, slot, token}, {{"axis", int64_t{0}}});
  const std::string token_of_slot = w.node(scope, "Slice", {taken, w.integers({0}), slots});

  const std::string expert_shape = w.node(scope, "Concat", {e, capacity, w.integers({c.dim})}, {{"axis", int64_t{0}}});
  const std::string routed = w.node(scope, "Reshape", {w.node(scope, "Gather", {tokens, token_of_slot}), expert_shape});
  const auto product = [&](const std::string& name, const std::string& a, int64_t in, int64_t out) {
    return w.node(scope + "." + name, "MatMul", {a, w.parameter(scope + "." + name + ".weight", {c.experts, in, out})});
  };
  const std::string gate = product("gate", routed, c.dim, c.ffn);
  const std::string up = product("up", routed, c.dim, c.ffn);
  const std::string silu = w.node(scope, "Mul", {gate, w.node(scope, "Sigmoid", {gate})});
  const std::string down = product("down", w.node(scope, "Mul", {silu, up}), c.ffn, c.dim);

  // Back to the tokens; what did not fit contributes nothing.
  const std::string rows = w.node(scope, "Reshape", {down, w.integers({-1, c.dim})});
  const std::string last = w.node(scope, "Sub", {slots, w.integers({1})});
  const std::string chosen = w.node(scope, "Gather", {rows, w.node(scope, "Min", {slot, last})});  // [n·k, dim]
  const std::string flat_weights = w.node(scope, "Reshape", {weights, w.integers({-1, 1})});
  const std::string scaled = w.node(scope, "Mul", {chosen, flat_weights});
  const std::string kept =
      w.node(scope, "Where", {w.node(scope, "Unsqueeze", {fits, w.integers({1})}), scaled, w.real(0)});
  const std::string by_token = w.node(scope, "Reshape", {kept, w.integers({-1, c.top_k, c.dim})});
  const std::string sum = w.node(scope, "ReduceSum", {by_token, w.integers({1})}, {{"keepdims", int64_t{0}}});
  return w.node(scope, "Reshape", {sum, w.integers({-1, c.seq, c.dim})});
}

}  // namespace stepc::zoo
