#include "tests/runtime/attention_cases.h"

#include <cmath>

namespace stepc::test {
namespace {

Tensor rounded(Tensor tensor) {
  for (int64_t i = 0; i < tensor.type().shape.numel(); ++i)
    set_element(tensor, i, std::round(element(tensor.view(), i)));
  return tensor;
}

Tensor mask_values(const AttentionCase::Mask& mask, uint32_t seed) {
  Tensor tensor = pseudo_random({mask.dtype, mask.shape}, seed);
  for (int64_t i = 0; i < mask.shape.numel(); ++i) {
    const int64_t row = mask.whole_rows ? i / mask.shape.dims().back() : i;
    const bool third = (row * 7 + row / 5) % 3 == 0;
    if (mask.dtype == Dtype::boolean) set_element(tensor, i, third ? 0 : 1);
    if (mask.some) set_element(tensor, i, third ? *mask.some : 0);
  }
  return tensor;
}

}  // namespace

Attrs attention_rules(bool causal, int64_t offset, int64_t left, int64_t right, double softcap, double scale) {
  return {{"scale", scale},      {"causal", causal},      {"causal_offset", offset},
          {"window_left", left}, {"window_right", right}, {"softcap", softcap}};
}

void AttentionCases::add(const AttentionCase& c) {
  const Values x = c.one_tensor ? slices_of_one(c) : separate(c);
  std::vector<ValueId> optional;
  if (c.mask || c.dropout > 0) optional.push_back(kNoValue);
  if (c.mask) optional[0] = input(c.label + ".mask", mask_values(*c.mask, 9));
  if (c.dropout > 0) optional.push_back(input(c.label + ".step", Tensor::of_i64(std::vector<int64_t>{11}, {})));
  Attrs attrs = c.attrs;
  attrs.set("dropout", c.dropout);
  attrs.set("dropout_key", int64_t{0x123456789abcde});

  std::vector<ValueId> forward{x.q, x.k, x.v};
  forward.insert(forward.end(), optional.begin(), optional.end());
  const std::vector<ValueId> results = graph.node(b_.make_node(Op::attention, forward, attrs)).outputs;
  const Type o = graph.type(results[0]);
  std::vector<ValueId> backward{x.q, x.k, x.v, results[0], results[1], input(c.label + ".do", pseudo_random(o, 4))};
  backward.insert(backward.end(), optional.begin(), optional.end());
  attrs.set("mask_gradient", c.mask && is_float(c.mask->dtype));
  const std::vector<ValueId> gradients = graph.node(b_.make_node(Op::attention_backward, backward, attrs)).outputs;
  output(c, "o", results[0]);
  output(c, "lse", results[1]);
  const char* const names[] = {"dq", "dk", "dv", "dmask"};
  for (size_t i = 0; i < gradients.size(); ++i) output(c, names[i], gradients[i]);
}

ValueId AttentionCases::input(const std::string& name, Tensor tensor) {
  const ValueId value = graph.add_input(tensor.type(), InputRole::data, name);
  inputs.emplace(name, std::move(tensor));
  return value;
}

void AttentionCases::output(const AttentionCase& c, const char* name, ValueId value) {
  graph.add_output(value, OutputRole::output, c.label + "/" + name);
}

// [B, rows, heads, depth] seen as [B, heads, rows, depth].
ValueId AttentionCases::operand(const AttentionCase& c, const char* name, int64_t heads, int64_t rows, int64_t depth,
                                uint32_t seed, double spread) {
  Tensor tensor = pseudo_random({c.dtype, {c.batch, rows, heads, depth}}, seed, -spread, spread);
  if (c.integers) tensor = rounded(std::move(tensor));
  return b_.transpose(input(c.label + "." + name, std::move(tensor)), {0, 2, 1, 3});
}

AttentionCases::Values AttentionCases::separate(const AttentionCase& c) {
  return {operand(c, "q", c.heads, c.queries, c.depth, 1, c.spread),
          operand(c, "k", c.key_heads, c.keys, c.depth, 2, c.spread),
          operand(c, "v", c.key_heads, c.keys, c.value_depth, 3, 1)};
}

AttentionCases::Values AttentionCases::slices_of_one(const AttentionCase& c) {
  const int64_t width = c.heads * c.depth;
  const ValueId all = input(c.label + ".qkv", pseudo_random({c.dtype, {c.batch, c.queries, 3 * width}}, 1));
  const auto part = [&](int64_t i) {
    const ValueId slice = b_.slice_axis(all, 2, i * width, width);
    return b_.transpose(b_.reshape(slice, {c.batch, c.queries, c.heads, c.depth}), {0, 2, 1, 3});
  };
  return {part(0), part(1), part(2)};
}

}  // namespace stepc::test
