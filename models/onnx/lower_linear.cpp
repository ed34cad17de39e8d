#include "ir/support/checked.h"
#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <algorithm>
#include <array>

namespace stepc::onnx_import {
namespace {

void matmul(Lowering& l, const OnnxNode&) { l.set(0, l.b.matmul(l.in(0), l.in(1))); }

ValueId scaled(Builder& b, ValueId v, double factor) { return factor == 1 ? v : b.mul(v, factor); }

// alpha · A B + beta · C, A: (m, k), or (k, m) with transA; B: (k, n), or (n, k) with transB; C broadcasts to (m, n)
// and may be absent since version 11.
void gemm(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  const std::string spec =
      fmt::format("{},{}->mn", n.flag("transA", false) ? "km" : "mk", n.flag("transB", false) ? "nk" : "kn");
  const ValueId product = scaled(b, b.contraction(l.in(0), l.in(1), spec), n.real("alpha", 1));
  if (!l.has(2)) return l.set(0, product);
  if (!broadcasts_to(l.shape(2), b.shape(product)))
    user_error("C {} does not broadcast to {}", to_string(l.shape(2)), to_string(b.shape(product)));
  l.set(0, b.add(product, scaled(b, l.in(2), n.real("beta", 1))));
}

// Low ends of all spatial axes, then high ends. SAME_UPPER and SAME_LOWER pad so that the result has ⌈input / stride⌉
// positions, the odd element at the high or low end.
std::vector<int64_t> conv_pads(const OnnxNode& n, const Shape& x, const Shape& w, const std::vector<int64_t>& strides,
                               const std::vector<int64_t>& dilations) {
  const size_t spatial = strides.size();
  const std::string mode = n.text("auto_pad", "NOTSET");
  std::vector<int64_t> pads(2 * spatial, 0);
  if (mode == "NOTSET") return n.integers("pads").value_or(pads);
  if (mode == "VALID") return pads;
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER")
    refuse_attribute("auto_pad", mode, "NOTSET, SAME_UPPER, SAME_LOWER, VALID");
  for (size_t i = 0; i < spatial; ++i) {
    if (strides[i] <= 0) user_error("a stride of {}", strides[i]);
    const int64_t positions = x[2 + i] / strides[i] + (x[2 + i] % strides[i] != 0 ? 1 : 0);
    const int64_t reach = checked_add((positions - 1) * strides[i] + 1, checked_mul(w[2 + i] - 1, dilations[i]));
    const int64_t total = std::max<int64_t>(reach - x[2 + i], 0);
    pads[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    pads[spatial + i] = total - pads[i];
  }
  return pads;
}

// X: (N, C, in...), W: (M, C / group, kernel...), B: (M)
void conv(Lowering& l, const OnnxNode& n) {
  const Shape &x = l.shape(0), &w = l.shape(1);
  if (x.rank() < 3 || w.rank() != x.rank())
    user_error("operands {} and {} have no common spatial axes", to_string(x), to_string(w));
  const size_t spatial = x.rank() - 2;
  const auto per_axis = [&](std::string_view key) {
    std::vector<int64_t> values = n.integers(key).value_or(std::vector<int64_t>(spatial, 1));
    if (values.size() != spatial) user_error("{} has {} numbers for {} spatial axes", key, values.size(), spatial);
    return values;
  };
  const std::vector<int64_t> strides = per_axis("strides");
  const std::vector<int64_t> dilations = per_axis("dilations");
  const Dims kernel(w.begin() + 2, w.end());
  if (n.has("kernel_shape") && *n.integers("kernel_shape") != kernel)
    user_error("kernel_shape {} but W is {}", fmt::join(*n.integers("kernel_shape"), ","), to_string(w));
  std::vector<ValueId> operands{l.in(0), l.in(1)};
  if (l.has(2)) operands.push_back(l.in(2));
  l.set(0, l.b.make(Op::conv, std::move(operands),
                    {{"strides", strides},
                     {"pads", conv_pads(n, x, w, strides, dilations)},
                     {"dilations", dilations},
                     {"group", n.integer("group", 1)}}));
}

constexpr auto kRules = std::to_array<NamedRule>({
    {"Conv", conv},
    {"Gemm", gemm},
    {"MatMul", matmul},
});

}  // namespace

RuleList linear_rules() { return kRules; }

}  // namespace stepc::onnx_import
