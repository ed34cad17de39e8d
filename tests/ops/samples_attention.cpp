#include "ir/support/error.h"
#include "tests/ops/op_case.h"

#include <cmath>
#include <limits>

namespace stepc::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr Dtype kF64 = Dtype::f64;

void rotary_samples(std::vector<Sample>& samples, std::vector<Refusal>& refusals) {
  const Op op = Op::rotary;
  const auto attrs = [](bool interleaved, int64_t rotary_dim) {
    return Attrs{{"interleaved", interleaved}, {"rotary_dim", rotary_dim}};
  };
  for (const bool interleaved : {false, true}) {
    const std::string layout = interleaved ? "interleaved " : "halves ";
    const auto sample = [&](const char* label, const Shape& x, const Shape& angles, int64_t rotary_dim) {
      samples.push_back({op,
                         layout + label,
                         {spread(x), spread(angles, -1, 1, 2), spread(angles, -1, 1, 3)},
                         attrs(interleaved, rotary_dim)});
    };
    sample("per position", {2, 2, 3, 4}, {3, 2}, 0);
    sample("one for the batch", {2, 2, 3, 4}, {1, 1, 3, 2}, 0);
    sample("full", {2, 3, 4}, {2, 3, 2}, 0);
    sample("partial", {2, 3, 6}, {3, 1}, 2);
    sample("vector", {6}, {3}, 6);
    sample("empty", {0, 3, 4}, {3, 2}, 0);
    // Pairs (1, 3), (2, 4), or (1, 2), (3, 4); the first turns by 90°, the second keeps its place.
    samples.push_back(
        {op,
         layout + "by hand",
         {reals(kF64, {5}, {1, 2, 3, 4, 9}), reals(kF64, {2}, {0, 1}), reals(kF64, {2}, {1, 0})},
         attrs(interleaved, 4),
         {reals(kF64, {5}, interleaved ? std::vector<double>{-2, 1, 3, 4, 9} : std::vector<double>{-3, 2, 1, 4, 9})}});
  }
  const auto refuse = [&](const char* label, const Shape& x, const RefTensor& cos, int64_t rotary_dim,
                          const char* message) {
    refusals.push_back({op, label, {spread(x), cos, cos}, attrs(false, rotary_dim), message});
  };
  refuse("odd", {3}, spread({1}), 0, "an even number");
  refuse("too many", {4}, spread({3}), 6, "an even number");
  refuse("angles", {2, 4}, spread({3, 2}), 0, "cos [3,2] does not broadcast to [2,2]");
  refuse("dtype", {4}, reals(Dtype::f32, {2}, {1, 1}), 0, "cos of f32");
}

// Sizes of one attention: query heads, key heads, queries, keys.
struct Sizes {
  int64_t heads = 2, key_heads = 2, queries = 3, keys = 4;
};

std::vector<std::optional<RefTensor>> operands(const Sizes& s) {
  return {spread({2, s.heads, s.queries, 2}, -1, 1, 1), spread({2, s.key_heads, s.keys, 2}, -1, 1, 2),
          spread({2, s.key_heads, s.keys, 3}, -1, 1, 3)};
}

struct Options {
  bool causal = false;
  int64_t offset = 0, left = -1, right = -1;
  double softcap = 0;
  double dropout = 0;
};

Attrs attention_attrs(const Options& o, double scale = 0.7) {
  return {{"scale", scale},          {"causal", o.causal},   {"causal_offset", o.offset}, {"window_left", o.left},
          {"window_right", o.right}, {"softcap", o.softcap}, {"dropout", o.dropout},      {"dropout_key", int64_t{3}}};
}

// attention on q, k, v and a mask, and attention_backward on the same, with any o and do, but lse as it is. The
// gradients of attention go through attention_backward, where o alone has one and the mask needs none, and through
// primitives otherwise: with a float mask both are compared.
void attention_pair(std::vector<Sample>& samples, const std::string& label, const Sizes& sizes, const Options& options,
                    const std::optional<RefTensor>& mask = std::nullopt) {
  std::vector<std::optional<RefTensor>> forward = operands(sizes);
  if (mask || options.dropout > 0) forward.push_back(mask);
  if (options.dropout > 0) forward.push_back(integers(Dtype::i64, {}, {5}));
  samples.push_back({.op = Op::attention,
                     .label = label,
                     .operands = forward,
                     .attrs = attention_attrs(options),
                     .gradients = std::vector<size_t>{0, 1, 2}});
  const Shape o{2, sizes.heads, sizes.queries, 3};
  const RefTensor lse = OpCase(samples.back()).evaluate()[1];
  std::vector<std::optional<RefTensor>> backward = forward;
  backward.insert(backward.begin() + 3, {spread(o, -1, 1, 4), lse, spread(o, -1, 1, 6)});
  if (mask && mask->is_real() && std::isfinite(mask->real[0]))
    samples.push_back({Op::attention, label + ", with its gradient", forward, attention_attrs(options)});
  samples.push_back({Op::attention_backward, label, backward, attention_attrs(options)});
  if (!mask || !mask->is_real()) return;
  Attrs attrs = attention_attrs(options);
  attrs.set("mask_gradient", true);
  samples.push_back({Op::attention_backward, label + ", of the mask too", backward, attrs});
}

void attention_variants(std::vector<Sample>& samples) {
  attention_pair(samples, "plain", {}, {});
  attention_pair(samples, "grouped queries", {.heads = 4, .key_heads = 2}, {});
  attention_pair(samples, "one key head", {.heads = 3, .key_heads = 1}, {.causal = true});
  attention_pair(samples, "causal", {.queries = 4}, {.causal = true});
  attention_pair(samples, "causal with a cache", {.queries = 2, .keys = 5}, {.causal = true, .offset = 3});
  attention_pair(samples, "dead rows", {}, {.causal = true, .offset = -2});
  attention_pair(samples, "window left", {.queries = 5, .keys = 5}, {.causal = true, .left = 1});
  attention_pair(samples, "window right", {.queries = 4}, {.right = 1});
  attention_pair(samples, "window both, offset", {.queries = 4, .keys = 6}, {.offset = 2, .left = 1, .right = 1});
  attention_pair(samples, "window past the keys", {.queries = 6, .keys = 2}, {.left = 0, .right = 0});
  attention_pair(samples, "softcap", {}, {.causal = true, .softcap = 0.8});
  attention_pair(samples, "one key", {.queries = 2, .keys = 1}, {});
  attention_pair(samples, "no keys", {.keys = 0}, {});
  attention_pair(samples, "no queries", {.queries = 0}, {});
  attention_pair(samples, "dropout", {.queries = 5, .keys = 7}, {.dropout = 0.3});
  attention_pair(samples, "dropout, grouped, causal, capped", {.heads = 4, .queries = 4},
                 {.causal = true, .softcap = 1.5, .dropout = 0.5});
  attention_pair(samples, "all dropped", {}, {.dropout = 1});
}

void mask_variants(std::vector<Sample>& samples) {
  const RefTensor bools = integers(Dtype::boolean, {3, 4}, {1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0});  // query 1 is dead
  attention_pair(samples, "bool mask", {}, {}, bools);
  attention_pair(samples, "bool mask, grouped, causal, softcap", {.heads = 4}, {.causal = true, .softcap = 2}, bools);
  attention_pair(samples, "bool mask per batch", {}, {},
                 integers(Dtype::boolean, {2, 1, 1, 4}, {1, 1, 0, 0, 1, 1, 1, 1}));
  attention_pair(samples, "bias per head", {}, {.causal = true}, spread({1, 2, 3, 4}, -1, 1, 7));
  attention_pair(samples, "bias of all", {.heads = 4}, {.softcap = 1.5}, spread({2, 4, 3, 4}, -1, 1, 7));
  attention_pair(samples, "bias per key", {}, {}, spread({4}, -1, 1, 7));
  attention_pair(samples, "bias per query, dropout", {}, {.dropout = 0.4}, spread({2, 1, 3, 1}, -1, 1, 7));
  attention_pair(samples, "infinite mask", {}, {},
                 reals(kF64, {3, 4}, {-kInf, 0, 0, -kInf, -kInf, -kInf, -kInf, -kInf, 0, -1, 0, 0}));
}

void attention_by_hand(std::vector<Sample>& samples) {
  const Shape one_by_two{1, 1, 1, 2}, two_by_one{1, 1, 2, 1};
  const double ln2 = std::log(2.0);
  const auto values = [](const Shape& shape, std::vector<double> v) { return reals(kF64, shape, std::move(v)); };
  const Shape row{1, 1, 1};
  // Equal scores average the values; the bias ln 3 weighs the second one threefold.
  samples.push_back({Op::attention,
                     "average",
                     {values({1, 1, 1, 1}, {2}), values(two_by_one, {3, 3}), values({1, 1, 2, 2}, {1, 2, 5, 6})},
                     attention_attrs({}, 0.5),
                     {values(one_by_two, {3, 4}), values(row, {3 + ln2})}});
  samples.push_back({Op::attention,
                     "bias",
                     {values({1, 1, 1, 1}, {2}), values(two_by_one, {3, 3}), values({1, 1, 2, 2}, {1, 2, 5, 6}),
                      values({2}, {0, std::log(3.0)})},
                     attention_attrs({}, 0.5),
                     {values(one_by_two, {4, 5}), values(row, {3 + 2 * ln2})}});
  const auto bf16 = [](const Shape& shape, std::vector<double> v) { return reals(Dtype::bf16, shape, std::move(v)); };
  samples.push_back({Op::attention,
                     "bf16",
                     {bf16({1, 1, 1, 1}, {2}), bf16(two_by_one, {3, 4}), bf16(two_by_one, {1, 5})},
                     attention_attrs({}, 0.5)});
  // A dead row among live ones; scores that would overflow without the shift.
  samples.push_back({.op = Op::attention,
                     .label = "hostile",
                     .operands = {values(two_by_one, {1e4, -1e4}), values(two_by_one, {1, 1}),
                                  values(two_by_one, {7, 9}), integers(Dtype::boolean, {2, 2}, {1, 1, 0, 0})},
                     .attrs = attention_attrs({}, 1),
                     .expected = {values(two_by_one, {8, 0}), values({1, 1, 2}, {1e4 + ln2, -kInf})},
                     .gradients = std::vector<size_t>{}});
}

void attention_refusals(std::vector<Refusal>& refusals) {
  const auto refuse = [&](const char* label, const Shape& k, const Shape& v, const Options& options,
                          const char* message, const std::optional<RefTensor>& mask = std::nullopt) {
    std::vector<std::optional<RefTensor>> all = {spread({1, 4, 3, 2}), spread(k), spread(v)};
    if (mask) all.push_back(mask);
    refusals.push_back({Op::attention, label, all, attention_attrs(options), message});
  };
  refuse("rank", {4, 3, 2}, {4, 3, 2}, {}, "rank 4");
  refuse("heads", {1, 3, 3, 2}, {1, 3, 3, 2}, {}, "divide query heads");
  refuse("keys and values", {1, 4, 3, 2}, {1, 4, 5, 2}, {}, "numbers of keys and values differ");
  refuse("depth", {1, 4, 3, 5}, {1, 4, 3, 2}, {}, "depths of queries and keys differ");
  refuse("batch", {2, 4, 3, 2}, {2, 4, 3, 2}, {}, "batch sizes differ");
  refuse("window", {1, 4, 3, 2}, {1, 4, 3, 2}, {.left = -2}, "-1 (no limit) or more");
  refuse("softcap", {1, 4, 3, 2}, {1, 4, 3, 2}, {.softcap = -1}, "softcap -1 is negative");
  refuse("dropout", {1, 4, 3, 2}, {1, 4, 3, 2}, {.dropout = 1.5}, "dropout 1.5 is not in [0, 1]");
  refuse("no offset", {1, 4, 3, 2}, {1, 4, 3, 2}, {.dropout = 0.5}, "dropout 0.5 without an offset");
  refuse("no heads", {1, 0, 3, 2}, {1, 0, 3, 2}, {}, "there are no heads");
  refuse("mask shape", {1, 4, 3, 2}, {1, 4, 3, 2}, {}, "mask [2,3] does not broadcast to scores [1,4,3,3]",
         spread({2, 3}));
  refuse("mask dtype", {1, 4, 3, 2}, {1, 4, 3, 2}, {}, "a mask of i64", integers(Dtype::i64, {1}, {1}));
}

}  // namespace

void attention_samples(std::vector<Sample>& samples, std::vector<Refusal>& refusals) {
  rotary_samples(samples, refusals);
  attention_variants(samples);
  mask_variants(samples);
  attention_by_hand(samples);
  attention_refusals(refusals);
}

}  // namespace stepc::test
