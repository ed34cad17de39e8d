#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <array>

namespace stepc::onnx_import {
namespace {

void matmul(Lowering& l, const OnnxNode&) { l.set(0, l.b.matmul(l.in(0), l.in(1))); }

ValueId scaled(Builder& b, ValueId v, double factor) { return factor == 1 ? v : b.mul(v, factor); }

// alpha · A B + beta · C, A: (m, k), or (k, m) with transA; B: (k, n), or (n, k) with transB; C broadcasts to (m, n) and
// may be absent since version 11.
void gemm(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  const std::string spec = fmt::format("{},{}->mn", n.flag("transA", false) ? "km" : "mk", n.flag("transB", false) ? "nk" : "kn");
  const ValueId product = scaled(b, b.contraction(l.in(0), l.in(1), spec), n.real("alpha", 1));
  if (!l.has(2)) return l.set(0, product);
  if (!broadcasts_to(l.shape(2), b.shape(product)))
    user_error("C {} does not broadcast to {}", to_string(l.shape(2)), to_string(b.shape(product)));
  l.set(0, b.add(product, scaled(b, l.in(2), n.real("beta", 1))));
}

constexpr auto kRules = std::to_array<NamedRule>({
    {"Gemm", gemm},
    {"MatMul", matmul},
});

}  // namespace

RuleList linear_rules() { return kRules; }

}  // namespace stepc::onnx_import
