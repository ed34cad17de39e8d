#include "models/zoo/zoo.h"

#include "ir/support/error.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace stepc {
namespace {

constexpr std::array<std::string_view, 5> kFamilies{"gpt2", "llama", "bert", "vit", "moe"};

ZooConfig decoder(std::string name, int64_t layers, int64_t dim, int64_t heads, int64_t kv_heads, int64_t ffn,
                  int64_t vocab, int64_t seq, std::string source) {
  ZooConfig c;
  c.name = std::move(name);
  c.family = ZooFamily::llama;
  c.layers = layers;
  c.dim = dim;
  c.heads = heads;
  c.kv_heads = kv_heads;
  c.head_dim = dim / heads;
  c.ffn = ffn;
  c.vocab = vocab;
  c.seq = seq;
  c.source = std::move(source);
  return c;
}

ZooConfig with_family(ZooConfig c, ZooFamily family, bool tied) {
  c.family = family;
  c.tied = tied;
  return c;
}

std::vector<ZooConfig> make_models() {
  const std::string assignment = "Stanford CS336 assignment 1 and 2 sizes";
  std::vector<ZooConfig> models{
      decoder("small", 12, 768, 12, 12, 3072, 10000, 512, assignment),
      decoder("medium", 24, 1024, 16, 16, 4096, 10000, 512, assignment),
      decoder("large", 36, 1280, 20, 20, 5120, 10000, 512, assignment),
      decoder("xl", 32, 2560, 32, 32, 10240, 10000, 512, assignment),
      decoder("xl16", 32, 2560, 16, 16, 10240, 10000, 512, assignment + ", 16 heads"),
      decoder("10b", 50, 4608, 36, 36, 12288, 10000, 512, assignment),
      with_family(decoder("gpt2-124m", 12, 768, 12, 12, 3072, 50257, 1024, "Radford et al. 2019"), ZooFamily::gpt2,
                  true),
      decoder("llama-100m", 12, 768, 12, 12, 2048, 10000, 512, "the peers' benchmark shape"),
      decoder("llama-7b", 32, 4096, 32, 32, 11008, 32000, 4096, "Touvron et al. 2023, LLaMA"),
      decoder("llama-8b", 32, 4096, 32, 8, 14336, 128256, 8192, "Llama 3 model card, 2024"),
      decoder("llama-70b", 80, 8192, 64, 8, 28672, 32000, 4096, "Touvron et al. 2023, Llama 2"),
      with_family(decoder("gpt3", 96, 12288, 96, 96, 49152, 50257, 2048, "Brown et al. 2020"), ZooFamily::gpt2, true),
      with_family(decoder("gemma-27b", 46, 4608, 32, 16, 36864, 256000, 8192,
                          "Gemma 2 report, 2024: its shapes, without soft caps and the second pair of norms"),
                  ZooFamily::llama, true),
      with_family(decoder("mixtral", 32, 4096, 32, 8, 14336, 32000, 4096, "Jiang et al. 2024"), ZooFamily::moe, false),
      with_family(decoder("bert-base", 12, 768, 12, 12, 3072, 30522, 512, "Devlin et al. 2018"), ZooFamily::bert, true),
      with_family(decoder("vit-base", 12, 768, 12, 12, 3072, 0, 197, "Dosovitskiy et al. 2020, 224x224, patch 16"),
                  ZooFamily::vit, false),
  };
  for (ZooConfig& c : models) {
    if (c.name == "gemma-27b") c.head_dim = 128;
    if (c.family == ZooFamily::moe) c.experts = 8, c.top_k = 2;
  }
  return models;
}

// A small model of each family, what `--family` alone gives.
ZooConfig family_default(ZooFamily family) {
  ZooConfig c = decoder(std::string(zoo_family_name(family)), 4, 256, 4, 4, family == ZooFamily::llama ? 688 : 1024,
                        256, family == ZooFamily::vit ? 17 : 128, "custom");
  c.family = family;
  c.tied = family == ZooFamily::gpt2 || family == ZooFamily::bert;
  if (family == ZooFamily::moe) c.experts = 4, c.top_k = 2;
  if (family == ZooFamily::vit) c.vocab = 0;
  return c;
}

std::string zoo_names() {
  std::string names;
  for (const ZooConfig& config : zoo_models()) names += (names.empty() ? "" : ", ") + config.name;
  return names;
}

ZooFamily parse_family(const std::string& text) {
  const auto found = std::ranges::find(kFamilies, text);
  if (found == kFamilies.end()) user_error("--family {}: the families are {}", text, fmt::join(kFamilies, ", "));
  return static_cast<ZooFamily>(found - kFamilies.begin());
}

void refuse_foreign(const ZooConfig& c, const ZooOverrides& o) {
  const std::string_view family = zoo_family_name(c.family);
  if ((o.experts || o.top_k) && c.family != ZooFamily::moe)
    user_error("--experts and --top-k are for the family moe, not {}", family);
  if (o.vocab && c.family == ZooFamily::vit) user_error("--vocab: the family vit has no vocabulary");
  if (o.tied && *o.tied && c.family == ZooFamily::vit) user_error("--tied: the family vit has no head to tie");
}

void check_size(const char* option, int64_t value, int64_t most) {
  if (value < 1 || value > most) user_error("{} {}: expected 1 to {}", option, value, most);
}

// Sizes that make a model, and none so large that a count of elements could overflow.
void check(const ZooConfig& c) {
  constexpr int64_t kMost = int64_t{1} << 24;
  check_size("--layers", c.layers, 4096);
  check_size("--dim", c.dim, kMost);
  check_size("--heads", c.heads, kMost);
  check_size("--kv-heads", c.kv_heads, c.heads);
  check_size("--ffn", c.ffn, kMost);
  check_size("--seq", c.seq, kMost);
  if (c.family != ZooFamily::vit) check_size("--vocab", c.vocab, kMost);
  if (c.heads % c.kv_heads != 0) user_error("{} heads do not divide into {} key heads", c.heads, c.kv_heads);
  if (c.head_dim < 1) user_error("width {} is less than {} heads", c.dim, c.heads);
  const bool rotary = c.family == ZooFamily::llama || c.family == ZooFamily::moe;
  if (rotary && c.head_dim % 2 != 0)
    user_error("heads of width {}: the rotary embedding needs an even width", c.head_dim);
  if (c.family == ZooFamily::moe) {
    check_size("--experts", c.experts, 4096);
    check_size("--top-k", c.top_k, c.experts);
  }
  if (c.family == ZooFamily::vit) {
    const auto side = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(c.seq - 1))));
    if (c.seq < 2 || side * side != c.seq - 1)
      user_error("--seq {}: vit has a class token and a square of patches, so seq - 1 is a square", c.seq);
  }
}

}  // namespace

bool ZooOverrides::any() const {
  return !family.empty() || layers || dim || heads || kv_heads || ffn || vocab || seq || experts || top_k || tied ||
         blocks_only;
}

std::string_view zoo_family_name(ZooFamily family) { return kFamilies[static_cast<size_t>(family)]; }

std::span<const ZooConfig> zoo_models() {
  static const std::vector<ZooConfig> models = make_models();
  return models;
}

ZooConfig zoo_config(std::string_view name, const ZooOverrides& o) {
  ZooConfig c;
  if (name.empty()) {
    c = family_default(parse_family(o.family));
  } else {
    const auto models = zoo_models();
    const auto found = std::ranges::find(models, name, &ZooConfig::name);
    if (found == models.end() && std::ranges::find(kFamilies, name) != kFamilies.end())
      user_error("'{}' is a family of zoo models: --family {}, or one of {}", name, name, zoo_names());
    if (found == models.end()) user_error("there is no file or zoo model '{}'; the zoo has {}", name, zoo_names());
    c = *found;
    if (!o.family.empty() && parse_family(o.family) != c.family)
      user_error("--family {}: '{}' is of the family {}", o.family, name, zoo_family_name(c.family));
  }
  refuse_foreign(c, o);
  const bool own_width = o.dim || o.heads;
  const bool grouped = c.kv_heads != c.heads;
  c.layers = o.layers.value_or(c.layers);
  c.dim = o.dim.value_or(c.dim);
  c.heads = o.heads.value_or(c.heads);
  c.kv_heads = o.kv_heads.value_or(o.heads && !grouped ? c.heads : c.kv_heads);
  c.ffn = o.ffn.value_or(c.ffn);
  c.vocab = o.vocab.value_or(c.vocab);
  c.seq = o.seq.value_or(c.seq);
  c.experts = o.experts.value_or(c.experts);
  c.top_k = o.top_k.value_or(c.top_k);
  c.tied = o.tied.value_or(c.tied);
  c.blocks_only = o.blocks_only;
  if (c.heads < 1) user_error("--heads {}: a model has at least one head", c.heads);
  if (own_width) {
    if (c.dim % c.heads != 0) user_error("width {} does not divide into {} heads", c.dim, c.heads);
    c.head_dim = c.dim / c.heads;
  }
  check(c);
  return c;
}

}  // namespace stepc
