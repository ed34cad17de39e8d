#pragma once

#include "ir/builder.h"
#include "ir/ops/cross_entropy_rows.h"

#include <string>
#include <string_view>
#include <vector>

namespace stepc {

// What linear_cross_entropy and its backward share: logits = x·wᵀ + bias of x [N.., K], w [C, K] and bias [C] or none,
// one label per row. x may be 16-bit where w and bias are f32: then so is what is summed over rows. Kernels may round w
// and the gradients of the logits to the type of x where they multiply them (CUDA's do), sums are f32.
struct LinearLogits {
  Shape rows;
  int64_t classes = 0, depth = 0;
};

// From the operands x, w, labels, and a bias at `bias`. Throws UserError where they do not fit.
LinearLogits infer_linear_logits(const InferArgs& args, size_t bias);

int64_t logit_count(const Graph& graph, const Node& node);  // N·C
// 2·N·C·K: one of the three products that the loss and its gradients need.
int64_t linear_logits_flops(const Graph& graph, const Node& node);

// The logits as nodes; bias may be kNoValue.
ValueId linear_logits(Builder& b, ValueId x, ValueId w, ValueId bias);
// "abk,vk->abv" for x, w and logits over two axes of rows; `a` and `b` name two of x, w and y (logits).
std::string linear_spec(size_t row_axes, char a, char b, char result);

// Evaluates the logits of one row after another.
class LogitRows {
 public:
  LogitRows(const RefTensor& x, const RefTensor& w, const RefTensor* bias);
  const std::vector<double>& of(int64_t row);
  int64_t classes() const { return classes_; }
  int64_t depth() const { return depth_; }

 private:
  const RefTensor &x_, &w_;
  const RefTensor* bias_;
  int64_t classes_, depth_;
  std::vector<double> logits_;
};

}  // namespace stepc
