#include "tests/runtime/linear_cross_entropy_cases.h"

#include <fmt/format.h>

namespace stepc::test {
namespace {

// Of the loss and of the gradients over operands x, w, labels, dloss, bias; dloss as `upstream`.
std::vector<ValueId> nodes(Builder& b, const LossCase& c, const std::vector<ValueId>& operands, ValueId upstream) {
  std::vector<ValueId> forward{operands[0], operands[1], operands[2]}, backward = forward;
  backward.push_back(upstream);
  if (c.bias) {
    forward.push_back(operands[4]);
    backward.push_back(operands[4]);
  }
  Attrs attrs = c.attrs;
  std::vector<ValueId> results{b.make(Op::linear_cross_entropy, forward, attrs)};
  for (const char* wanted : {"dx", "dw"}) attrs.set(wanted, true);
  attrs.set("dbias", c.bias);
  const NodeId gradients = b.make_node(Op::linear_cross_entropy_backward, backward, attrs);
  const std::vector<ValueId>& more = b.graph().node(gradients).outputs;
  results.insert(results.end(), more.begin(), more.end());
  return results;
}

}  // namespace

Attrs loss_rules(const char* reduction, double smoothing, double z_loss) {
  return {{"reduction", std::string(reduction)},
          {"label_smoothing", smoothing},
          {"z_loss", z_loss},
          {"ignore_index", int64_t{-100}}};
}

void LossCases::add(const LossCase& c) {
  std::vector<ValueId> operands{rows_of(c), weights_of(c), labels_of(c)};
  const ValueId bias = c.bias ? input(c.label + ".bias", pseudo_random({Dtype::f32, {c.classes}}, 3)) : kNoValue;
  const Shape rows = graph.shape(operands[2]);
  const Type loss{Dtype::f32, c.attrs.text("reduction") == "none" ? rows : Shape()};
  const ValueId upstream =
      c.constant ? b_.constant(Tensor::scalar(Dtype::f32, 0.75)) : input(c.label + ".dloss", pseudo_random(loss, 5));
  operands.push_back(c.constant ? kNoValue : upstream);
  if (c.bias) operands.push_back(bias);
  std::vector<ValueId> given;
  for (const ValueId operand : operands)
    if (operand.valid()) given.push_back(operand);

  const auto number = [&](Builder& b) { return b.expand(b.constant(Tensor::scalar(Dtype::f32, 0.75)), loss.shape); };
  add_results(c, "apart", nodes(b_, c, operands, c.constant ? number(b_) : upstream));
  Graph body;
  Builder inner(body);
  std::vector<ValueId> inside;
  for (size_t i = 0; i < operands.size(); ++i)
    inside.push_back(operands[i].valid()
                         ? body.add_input(graph.type(operands[i]), InputRole::data, fmt::format("a{}", i))
                         : kNoValue);
  const std::vector<ValueId> results = nodes(inner, c, inside, c.constant ? number(inner) : inside[3]);
  for (size_t i = 0; i < results.size(); ++i) body.add_output(results[i], OutputRole::output, fmt::format("r{}", i));
  add_results(c, "joint", graph.node(b_.make_fused(given, std::move(body))).outputs);
}

ValueId LossCases::input(const std::string& name, Tensor tensor) {
  const ValueId value = graph.add_input(tensor.type(), InputRole::data, name);
  inputs.emplace(name, std::move(tensor));
  return value;
}

ValueId LossCases::rows_of(const LossCase& c) {
  Dims dims = c.rows.dims();
  dims.push_back(c.depth);
  const size_t last = c.rows.rank() - 1;
  if (c.shifted) ++dims[last];
  const ValueId x = input(c.label + ".x", pseudo_random({c.x_dtype, Shape(dims)}, 1, -c.spread, c.spread));
  return c.shifted ? b_.slice_axis(x, last, 0, c.rows[last]) : x;
}

ValueId LossCases::weights_of(const LossCase& c) {
  const Shape shape = c.transposed ? Shape{c.depth, c.classes} : Shape{c.classes, c.depth};
  const ValueId w = input(c.label + ".w", pseudo_random({Dtype::f32, shape}, 2));
  return c.transposed ? b_.transpose(w, {1, 0}) : w;
}

ValueId LossCases::labels_of(const LossCase& c) {
  Dims dims = c.rows.dims();
  if (c.shifted) ++dims.back();
  Tensor labels({c.label_dtype, Shape(dims)});
  for (int64_t i = 0; i < labels.type().shape.numel(); ++i)
    set_element(labels, i, static_cast<double>(c.ignored || i % 7 == 3 ? -100 : i * 37 % c.classes));
  const ValueId t = input(c.label + ".t", std::move(labels));
  return c.shifted ? b_.slice_axis(t, c.rows.rank() - 1, 1, c.rows[c.rows.rank() - 1]) : t;
}

void LossCases::add_results(const LossCase& c, const char* form, const std::vector<ValueId>& results) {
  constexpr const char* kNames[] = {"loss", "dx", "dw", "dbias"};
  for (size_t i = 0; i < results.size(); ++i)
    graph.add_output(results[i], OutputRole::output, fmt::format("{}/{}/{}", c.label, form, kNames[i]));
}

}  // namespace stepc::test
