#include "models/zoo/transformer.h"

#include "models/zoo/layers.h"

#include <fmt/format.h>

#include <cmath>

namespace stepc::zoo {
namespace {

constexpr int64_t kOpset = 23;  // the first with RMSNormalization, RotaryEmbedding and Attention
constexpr int64_t kPatch = 16;  // vit

// x + f(norm(x)), twice (Xiong et al. 2020, "On layer normalization in the Transformer architecture").
std::string pre_norm_block(Layers& l, const std::string& scope, const std::string& x) {
  const std::string attended = l.add(scope, x, l.attention(scope + ".attn", l.norm(scope + ".norm1", x)));
  const std::string normed = l.norm(scope + ".norm2", attended);
  const std::string fed = l.c.family == ZooFamily::moe     ? l.experts(scope + ".mlp", normed)
                          : l.c.family == ZooFamily::llama ? l.swiglu(scope + ".mlp", normed)
                                                           : l.mlp(scope + ".mlp", normed);
  return l.add(scope, attended, fed);
}

// norm(x + f(x)), twice (Devlin et al. 2018).
std::string post_norm_block(Layers& l, const std::string& scope, const std::string& x) {
  const std::string attended = l.norm(scope + ".norm1", l.add(scope, x, l.attention(scope + ".attn", x)));
  return l.norm(scope + ".norm2", l.add(scope, attended, l.mlp(scope + ".mlp", attended)));
}

std::string blocks(Layers& l, std::string x) {
  if (l.c.family == ZooFamily::llama || l.c.family == ZooFamily::moe) l.prepare_rotary();
  for (int64_t i = 0; i < l.c.layers; ++i) {
    const std::string scope = fmt::format("blocks.{}", i);
    x = l.c.family == ZooFamily::bert ? post_norm_block(l, scope, x) : pre_norm_block(l, scope, x);
  }
  return x;
}

std::string embed_tokens(Layers& l) {
  const ZooConfig& c = l.c;
  const std::string ids = l.w.input("input_ids", onnx::TensorProto::INT64, {kBatch, {c.seq}});
  const std::string x = l.w.node("embed", "Gather", {l.w.parameter("embed.weight", {c.vocab, c.dim}), ids});
  if (c.family == ZooFamily::llama || c.family == ZooFamily::moe) return x;
  const std::string placed = l.add("position", x, l.w.parameter("position.weight", {c.seq, c.dim}));
  return c.family == ZooFamily::bert ? l.norm("norm", placed) : placed;
}

// Patches by a strided convolution, a class token before them, learned positions (Dosovitskiy et al. 2020).
std::string embed_patches(Layers& l) {
  const ZooConfig& c = l.c;
  const auto side = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(c.seq - 1))));
  const std::string pixels =
      l.w.input("pixel_values", onnx::TensorProto::FLOAT, {kBatch, {3}, {side * kPatch}, {side * kPatch}});
  const std::string grid = l.w.node(
      "patches", "Conv",
      {pixels, l.w.parameter("patches.weight", {c.dim, 3, kPatch, kPatch}), l.w.parameter("patches.bias", {c.dim})},
      {{"kernel_shape", std::vector<int64_t>{kPatch, kPatch}}, {"strides", std::vector<int64_t>{kPatch, kPatch}}});
  const std::string flat = l.w.node("patches", "Reshape", {grid, l.w.integers({0, c.dim, side * side})});
  const std::string patches = l.w.node("patches", "Transpose", {flat}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  const std::string batch = l.w.node("class", "Shape", {pixels}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
  const std::string shape = l.w.node("class", "Concat", {batch, l.w.integers({1, c.dim})}, {{"axis", int64_t{0}}});
  const std::string token = l.w.node("class", "Expand", {l.w.parameter("class.weight", {1, 1, c.dim}), shape});
  const std::string x = l.w.node("class", "Concat", {token, patches}, {{"axis", int64_t{1}}});
  return l.add("position", x, l.w.parameter("position.weight", {c.seq, c.dim}));
}

// [batch, seq, dim] → logits [batch, seq, vocab]
std::string head(Layers& l, std::string x) {
  const ZooConfig& c = l.c;
  if (c.family == ZooFamily::bert)
    x = l.norm("head.norm", l.gelu("head", l.linear("head.transform", x, c.dim, c.dim)));
  else
    x = l.norm("norm", x);
  const std::string matrix =
      c.tied ? l.w.node("head", "Transpose", {"embed.weight"}, {{"perm", std::vector<int64_t>{1, 0}}})
             : l.w.parameter("head.weight", {c.dim, c.vocab});
  const std::string logits = l.w.node("head", "MatMul", {x, matrix});
  return c.family == ZooFamily::bert ? l.add("head", logits, l.w.parameter("head.bias", {c.vocab})) : logits;
}

}  // namespace

OnnxWriter write_transformer(const ZooConfig& c) {
  OnnxWriter writer(c.name, kOpset);
  Layers l(writer, c);
  const std::vector<Dim> hidden{kBatch, {c.seq}, {c.dim}};
  if (c.blocks_only)
    writer.output(blocks(l, writer.input("x", onnx::TensorProto::FLOAT, hidden)), "y", hidden);
  else if (c.family == ZooFamily::vit)
    writer.output(l.norm("norm", blocks(l, embed_patches(l))), "last_hidden_state", hidden);
  else
    writer.output(head(l, blocks(l, embed_tokens(l))), "logits", {kBatch, {c.seq}, {c.vocab}});
  return writer;
}

}  // namespace stepc::zoo
