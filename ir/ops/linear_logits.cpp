#include "ir/ops/linear_logits.h"

#include "ir/support/checked.h"
#include "ir/support/error.h"

namespace stepc {

LinearLogits infer_linear_logits(const InferArgs& args, size_t bias) {
  const Type &x = args.in(0), &w = args.in(1);
  const bool fits = w.dtype == x.dtype || w.dtype == statistics_dtype(x.dtype);
  if (!is_float(x.dtype) || !fits || (args.has(bias) && args.in(bias).dtype != w.dtype))
    user_error("x {}, w {}{} have no common float type", to_string(x), to_string(w),
               args.has(bias) ? fmt::format(", bias {}", to_string(args.in(bias))) : std::string());
  if (x.shape.rank() == 0 || w.shape.rank() != 2 || w.shape[1] != x.shape[x.shape.rank() - 1])
    user_error("x {} and w {}: expected [.., K] and [classes, K]", to_string(x), to_string(w));
  const Dims& dims = x.shape.dims();
  LinearLogits logits{Shape(Dims(dims.begin(), dims.end() - 1)), w.shape[0], w.shape[1]};
  if (args.has(bias) && args.in(bias).shape != Shape{logits.classes})
    user_error("bias {} for {} classes", to_string(args.in(bias)), logits.classes);
  check_labels(args, args.in(2), logits.rows);
  return logits;
}

int64_t logit_count(const Graph& graph, const Node& node) {
  return checked_mul(graph.shape(node.inputs[2]).numel(), graph.shape(node.inputs[1])[0]);
}

int64_t linear_logits_flops(const Graph& graph, const Node& node) {
  return checked_mul(2, checked_mul(graph.shape(node.inputs[0]).numel(), graph.shape(node.inputs[1])[0]));
}

std::string linear_spec(size_t row_axes, char a, char b, char result) {
  std::string rows;
  for (size_t i = 0; i < row_axes; ++i) rows += static_cast<char>('a' + i + (i < 10 ? 0 : 1));  // without k
  const auto labels = [&](char operand) { return operand == 'x' ? rows + 'k' : operand == 'y' ? rows + 'v' : "vk"; };
  return labels(a) + ',' + labels(b) + "->" + labels(result);
}

ValueId linear_logits(Builder& b, ValueId x, ValueId w, ValueId bias) {
  const ValueId logits = b.contraction(b.cast(x, b.dtype(w)), w, linear_spec(b.shape(x).rank() - 1, 'x', 'w', 'y'));
  return bias.valid() ? b.add(logits, bias) : logits;
}

LogitRows::LogitRows(const RefTensor& x, const RefTensor& w, const RefTensor* bias)
    : x_(x),
      w_(w),
      bias_(bias),
      classes_(w.type.shape[0]),
      depth_(w.type.shape[1]),
      logits_(static_cast<size_t>(w.type.shape[0])) {}

const std::vector<double>& LogitRows::of(int64_t row) {
  const double* const x = x_.real.data() + row * depth_;
  for (int64_t c = 0; c < classes_; ++c) {
    const double* const w = w_.real.data() + c * depth_;
    double sum = 0;
    for (int64_t k = 0; k < depth_; ++k) sum += x[k] * w[k];
    logits_[static_cast<size_t>(c)] = bias_ == nullptr ? sum : sum + bias_->real[static_cast<size_t>(c)];
  }
  return logits_;
}

}  // namespace stepc
