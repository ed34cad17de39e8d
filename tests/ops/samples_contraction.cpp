#include "ir/support/error.h"
#include "tests/ops/samples.h"

namespace stepc::test {
namespace {

constexpr Dtype kF64 = Dtype::f64;

Attrs einsum(const char* spec) { return {{"spec", std::string(spec)}}; }

void einsum_samples(std::vector<Sample>& samples) {
  const Op op = Op::contraction;
  const auto sample = [&](const char* spec, const Shape& a, const Shape& b) {
    samples.push_back({op,
                       fmt::format("{} {} {}", spec, to_string(a), to_string(b)),
                       {spread(a), spread(b, -2, 2, 2)},
                       einsum(spec)});
  };
  sample("ik,kj->ij", {2, 3}, {3, 4});
  sample("ik,jk->ji", {2, 3}, {4, 3});
  sample("bhik,bhjk->bhij", {2, 3, 2, 4}, {2, 3, 5, 4});
  sample("bij,kj->bki", {2, 3, 4}, {5, 4});  // the result's labels in another order
  sample("i,j->ij", {3}, {4});               // outer product
  sample("i,i->", {5}, {5});                 // inner product
  sample("i,i->i", {5}, {5});                // elementwise
  sample("ijk,jl->il", {2, 3, 4}, {3, 2});   // k is summed on one side only
  sample("i,jk->ik", {2}, {3, 2});           // j likewise, of b
  sample("ij,ij->", {2, 3}, {2, 3});
  sample(",->", {}, {});
  sample(",ij->ji", {}, {2, 3});
  sample("ghijkl,ghmnkl->ghijmn", {1, 2, 2, 1, 3, 2}, {1, 2, 2, 2, 3, 2});
  sample("bhgsd,bhtd->bhgst", {1, 2, 3, 2, 2}, {1, 2, 3, 2});
  sample("ik,kj->ij", {2, 0}, {0, 3});  // an empty sum is 0
  sample("ik,kj->ij", {0, 2}, {2, 3});
  sample("ik,kj->ij", {1, 1}, {1, 1});
  samples.push_back({op,
                     "by hand",
                     {reals(kF64, {2, 2}, {1, 2, 3, 4}), reals(kF64, {2}, {10, 1})},
                     einsum("ik,k->i"),
                     {reals(kF64, {2}, {12, 34})}});
  samples.push_back({op,
                     "i64",
                     {integers(Dtype::i64, {2}, {3, -4}), integers(Dtype::i64, {2}, {5, 6})},
                     einsum("i,i->"),
                     {integers(Dtype::i64, {}, {-9})}});
  samples.push_back({op,
                     "accumulates in f64",
                     {reals(Dtype::f32, {1}, {2}), reals(Dtype::f32, {1}, {3})},
                     {{"spec", std::string("i,i->")}, {"accumulate", Dtype::f64}},
                     {reals(Dtype::f32, {}, {6})}});
}

void einsum_refusals(std::vector<Refusal>& refusals) {
  const Op op = Op::contraction;
  const auto refuse = [&](const char* spec, const Shape& a, const Shape& b, const char* message) {
    refusals.push_back(
        {op, fmt::format("{} {} {}", spec, to_string(a), to_string(b)), {spread(a), spread(b)}, einsum(spec), message});
  };
  refuse("ik,kj", {1, 1}, {1, 1}, "not of the form");
  refuse("ik->i", {1, 1}, {1, 1}, "not of the form");
  refuse("ii,ij->j", {1, 1}, {1, 1}, "'i' occurs twice");
  refuse("ik,kj->ix", {1, 1}, {1, 1}, "'x' of the result occurs in neither");
  refuse("i1,1j->ij", {1, 1}, {1, 1}, "'1' is not a label");
  refuse("ik,kj->ij", {2, 1}, {3, 2}, "label 'k' is 1 in [2,1] and 3 in [3,2]");  // sizes never broadcast
  refuse("ik,kj->ij", {2, 2, 2}, {2, 2}, "has 2 labels for an operand of shape [2,2,2]");
  refusals.push_back(
      {op, "mixed dtypes", {spread({1}), reals(Dtype::f32, {1}, {1})}, einsum("i,i->"), "no common number type"});
  refusals.push_back({op,
                      "accumulate",
                      {spread({1}), spread({1})},
                      {{"spec", std::string("i,i->")}, {"accumulate", Dtype::bf16}},
                      "cannot accumulate in bf16"});
  refusals.push_back({op,
                      "tf32",
                      {spread({1}), spread({1})},
                      {{"spec", std::string("i,i->")}, {"tf32", true}},
                      "tf32 is for operands in f32, not f64"});
}

struct Case {
  const char* label;
  Shape x, w;
  Dims strides, pads, dilations;
  int64_t group;
  Shape y;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"1-D", {2, 2, 5}, {3, 2, 2}, {1}, {0, 0}, {1}, 1, {2, 3, 4}},
      {"patches", {1, 3, 4, 4}, {2, 3, 2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 1, {1, 2, 2, 2}},
      {"padded", {1, 2, 3, 3}, {2, 2, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1, {1, 2, 3, 3}},
      {"uneven", {1, 1, 5, 4}, {2, 1, 2, 3}, {2, 1}, {0, 1, 1, 0}, {1, 1}, 1, {1, 2, 3, 3}},
      {"dilated", {1, 1, 7}, {1, 1, 3}, {1}, {0, 0}, {2}, 1, {1, 1, 3}},
      {"grouped", {2, 4, 4}, {6, 2, 2}, {1}, {0, 0}, {1}, 2, {2, 6, 3}},
      {"depthwise causal", {1, 3, 4}, {3, 1, 3}, {1}, {2, 0}, {1}, 3, {1, 3, 4}},
      {"3-D", {1, 2, 3, 2, 3}, {1, 2, 2, 1, 2}, {1, 1, 2}, {0, 0, 0, 0, 0, 1}, {1, 1, 1}, 1, {1, 1, 2, 2, 2}},
      {"input left over", {1, 1, 6}, {1, 1, 2}, {3}, {0, 0}, {1}, 1, {1, 1, 2}},
      {"empty batch", {0, 2, 3}, {1, 2, 2}, {1}, {0, 0}, {1}, 1, {0, 1, 2}},
  };
  return all;
}

Attrs conv_attrs(const Case& c) {
  return {{"strides", c.strides}, {"pads", c.pads}, {"dilations", c.dilations}, {"group", c.group}};
}

void conv_samples(std::vector<Sample>& samples, std::vector<Refusal>& refusals) {
  for (const Case& c : cases()) {
    const RefTensor x = spread(c.x), w = spread(c.w, -2, 2, 2), dy = spread(c.y, -2, 2, 3);
    samples.push_back({Op::conv, c.label, {x, w}, conv_attrs(c)});
    samples.push_back(
        {Op::conv, fmt::format("{} with bias", c.label), {x, w, spread({c.w[0]}, -1, 1, 4)}, conv_attrs(c)});
    Attrs attrs = conv_attrs(c);
    attrs.set("input_shape", c.x.dims());
    samples.push_back({Op::conv_backward_input, c.label, {dy, w}, attrs});
    attrs = conv_attrs(c);
    attrs.set("weight_shape", c.w.dims());
    samples.push_back({Op::conv_backward_weight, c.label, {x, dy}, attrs});
  }
  // Cross-correlation, not convolution: the kernel is not flipped.
  const Case by_hand{"by hand", {1, 1, 4}, {1, 1, 2}, {1}, {1, 0}, {1}, 1, {1, 1, 4}};
  samples.push_back({Op::conv,
                     by_hand.label,
                     {reals(kF64, by_hand.x, {1, 2, 3, 4}), reals(kF64, by_hand.w, {10, 1}), reals(kF64, {1}, {100})},
                     conv_attrs(by_hand),
                     {reals(kF64, by_hand.y, {101, 112, 123, 134})}});

  const auto refuse = [&](const char* label, Case c, const char* message) {
    refusals.push_back({Op::conv, label, {spread(c.x), spread(c.w)}, conv_attrs(c), message});
  };
  refuse("kernel too large", {"", {1, 1, 2}, {1, 1, 3}, {1}, {0, 0}, {1}, 1, {}}, "does not fit the padded input of 2");
  refuse("dilated kernel too large", {"", {1, 1, 4}, {1, 1, 3}, {1}, {0, 0}, {2}, 1, {}}, "with dilation 2");
  refuse("empty kernel", {"", {1, 1, 4}, {1, 1, 0}, {1}, {0, 0}, {1}, 1, {}}, "a kernel of 0");
  refuse("groups", {"", {1, 3, 4}, {2, 1, 2}, {1}, {0, 0}, {1}, 2, {}}, "do not fit 2 group(s)");
  refuse("negative pads", {"", {1, 1, 4}, {1, 1, 2}, {1}, {-1, 0}, {1}, 1, {}}, "below 0 are not supported");
  refuse("stride zero", {"", {1, 1, 4}, {1, 1, 2}, {0}, {0, 0}, {1}, 1, {}}, "below 1 are not supported");
  refuse("strides", {"", {1, 1, 4}, {1, 1, 2}, {1, 1}, {0, 0}, {1}, 1, {}}, "strides has 2 values, expected 1");
  refuse("no spatial dims", {"", {1, 1}, {1, 1}, {}, {}, {}, 1, {}}, "equal ranks");
  const Attrs plain = conv_attrs(by_hand);
  refusals.push_back(
      {Op::conv, "bias", {spread({1, 1, 4}), spread({1, 1, 2}), spread({2})}, plain, "1 output channels"});
}

}  // namespace

void contraction_samples(std::vector<Sample>& samples, std::vector<Refusal>& refusals) {
  einsum_samples(samples);
  einsum_refusals(refusals);
  conv_samples(samples, refusals);
}

}  // namespace stepc::test
