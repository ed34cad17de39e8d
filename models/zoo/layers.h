#pragma once

#include "models/zoo/onnx_writer.h"
#include "models/zoo/zoo.h"

#include <string>

namespace stepc::zoo {

// The layers that the families are made of. Activations are [batch, seq, dim]; matrices are stored [in, out].
class Layers {
 public:
  Layers(OnnxWriter& writer, const ZooConfig& config) : w(writer), c(config) {}

  OnnxWriter& w;
  const ZooConfig& c;

  bool has_biases() const { return c.family != ZooFamily::llama && c.family != ZooFamily::moe; }
  bool is_causal() const { return c.family != ZooFamily::bert && c.family != ZooFamily::vit; }

  std::string linear(const std::string& scope, const std::string& x, int64_t in, int64_t out);
  // RMS norm without biases (Zhang and Sennrich 2019), layer norm with (Ba et al. 2016).
  std::string norm(const std::string& scope, const std::string& x);
  std::string gelu(const std::string& scope, const std::string& x);  // tanh form in gpt2, erf form elsewhere
  std::string add(const std::string& scope, const std::string& a, const std::string& b) {
    return w.node(scope, "Add", {a, b});
  }

  // Cosines and sines [1, seq, head_dim / 2] of the rotary embedding (Su et al. 2021), computed in the graph.
  void prepare_rotary();
  // Self-attention, grouped queries where kv_heads < heads (Ainslie et al. 2023).
  std::string attention(const std::string& scope, const std::string& x);
  std::string mlp(const std::string& scope, const std::string& x);     // two matrices and GELU
  std::string swiglu(const std::string& scope, const std::string& x);  // three matrices (Shazeer 2020)
  // Top-k routing over `experts` SwiGLU experts (Shazeer et al. 2017), dispatched as in GShard (Lepikhin et al. 2020):
  // each expert takes ceil(tokens · top_k / experts) tokens in their order, what exceeds that passes by. Weights of the
  // chosen experts are a softmax over their logits, as in Mixtral (Jiang et al. 2024). FLOPs are top_k times one
  // expert's.
  std::string experts(const std::string& scope, const std::string& x);

 private:
  std::string heads_first(const std::string& scope, const std::string& x, int64_t heads);

  std::string cos_, sin_;
};

}  // namespace stepc::zoo
