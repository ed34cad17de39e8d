#pragma once

#include "ir/dtype.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace stepc {

// The scalar arithmetic that kernels are made of. Every result is rounded to its node's dtype, in the order written:
// nothing is contracted, reassociated or evaluated in another precision (the bit rule).
//
// Integer arithmetic wraps around in its dtype. Division truncates toward zero and mod has the sign of the dividend, as
// in C; a zero divisor gives 0 (as NumPy's), so no kernel can trap. A cast from float to integer truncates toward zero
// and saturates, NaN becomes 0; from integer to a narrower one it wraps. minimum and maximum propagate NaN. sign is 0
// at zero and NaN at NaN, round goes to the nearest even integer.
// clang-format off
enum class ScalarOp : uint8_t {
  operand,   // the element of operand `index`
  literal,   // `literal`
  neg, abs, sign, sqrt, rsqrt, reciprocal, exp, log, erf, sin, cos, tanh, sigmoid, floor, ceil, round,
  logical_not, is_nan, is_inf,
  cast,      // to the node's dtype; to bool it is `!= 0`
  add, sub, mul, div, mod, pow, minimum, maximum,
  equal, less, less_equal, logical_and, logical_or, logical_xor,
  fma,       // a * b + c with one rounding
  select,    // a ? b : c; the side not taken never contributes, whatever its value
};
// clang-format on

int scalar_arity(ScalarOp op);
std::string_view scalar_op_name(ScalarOp op);
// Arithmetic operations that one evaluation counts as: 1 for simple arithmetic, comparisons and select, 0 for what only
// moves or converts a number, more for transcendental functions.
int64_t scalar_flops(ScalarOp op);

struct ScalarId {
  int32_t index = -1;
  bool operator==(const ScalarId&) const = default;
};

struct ScalarNode {
  ScalarOp op{};
  Dtype dtype{};
  std::array<ScalarId, 3> args{};
  int32_t operand = 0;  // ScalarOp::operand
  double literal = 0;   // ScalarOp::literal (integers beyond 2^53 do not occur in pointwise constants)
  bool operator==(const ScalarNode& other) const;  // literals by their bits: -0 differs from 0, a NaN equals itself
};

// A typed DAG of scalar operations in topological order. Equal nodes are shared.
class ScalarDag {
 public:
  ScalarId operand(int32_t index, Dtype dtype);
  ScalarId literal(double value, Dtype dtype);
  ScalarId cast(ScalarId a, Dtype dtype);  // the value itself when it has that dtype
  ScalarId unary(ScalarOp op, ScalarId a);
  ScalarId binary(ScalarOp op, ScalarId a, ScalarId b);  // comparisons and logic yield bool
  ScalarId select(ScalarId condition, ScalarId a, ScalarId b);
  ScalarId fma(ScalarId a, ScalarId b, ScalarId c);

  ScalarId add(ScalarId a, ScalarId b) { return binary(ScalarOp::add, a, b); }
  ScalarId sub(ScalarId a, ScalarId b) { return binary(ScalarOp::sub, a, b); }
  ScalarId mul(ScalarId a, ScalarId b) { return binary(ScalarOp::mul, a, b); }
  ScalarId div(ScalarId a, ScalarId b) { return binary(ScalarOp::div, a, b); }
  ScalarId literal_like(double value, ScalarId like) { return literal(value, dtype(like)); }

  Dtype dtype(ScalarId id) const { return node(id).dtype; }
  const ScalarNode& node(ScalarId id) const { return nodes_[static_cast<size_t>(id.index)]; }
  const std::vector<ScalarNode>& nodes() const { return nodes_; }
  bool operator==(const ScalarDag&) const = default;

 private:
  ScalarId intern(ScalarNode node);
  std::vector<ScalarNode> nodes_;
};

// Evaluates every node on double (floats) and int64 (integers, bool), without intermediate rounding unless
// `round_floats`, in which case each float result is rounded to its node's dtype. The reference semantics.
struct ScalarValue {
  double real = 0;
  int64_t integer = 0;
};
ScalarValue evaluate(const ScalarDag& dag, ScalarId root, std::span<const ScalarValue> operands, bool round_floats);

}  // namespace stepc
