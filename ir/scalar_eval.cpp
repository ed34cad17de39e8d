// The reference semantics of scalar operations.
#include "ir/ref_tensor.h"
#include "ir/scalar_dag.h"
#include "ir/support/error.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace stepc {
namespace {

int64_t wrap(Dtype dtype, uint64_t bits) {
  switch (dtype) {
    case Dtype::i32: return static_cast<int32_t>(bits);
    case Dtype::i8: return static_cast<int8_t>(bits);
    case Dtype::u8: return static_cast<uint8_t>(bits);
    case Dtype::boolean: return bits != 0 ? 1 : 0;
    default: return static_cast<int64_t>(bits);
  }
}

template <typename T>
int64_t saturate(double value) {
  constexpr auto kMin = static_cast<double>(std::numeric_limits<T>::min());
  constexpr auto kMax = static_cast<double>(std::numeric_limits<T>::max());  // i64: 2^63, itself out of range
  if (std::isnan(value)) return 0;
  if (value <= kMin) return std::numeric_limits<T>::min();
  if (value >= kMax) return std::numeric_limits<T>::max();
  return static_cast<int64_t>(value);
}

int64_t truncate(Dtype dtype, double value) {
  switch (dtype) {
    case Dtype::i32: return saturate<int32_t>(value);
    case Dtype::i8: return saturate<int8_t>(value);
    case Dtype::u8: return saturate<uint8_t>(value);
    default: return saturate<int64_t>(value);
  }
}

// A cast from i64 to f32 rounds once, not to f64 first.
double real_of(int64_t value, Dtype dtype, bool round_floats) {
  return round_floats && dtype == Dtype::f32 ? static_cast<double>(static_cast<float>(value))
                                             : static_cast<double>(value);
}

ScalarValue cast(const ScalarValue& a, Dtype from, Dtype to, bool round_floats) {
  if (is_float(to)) return {is_float(from) ? a.real : real_of(a.integer, to, round_floats), 0};
  if (!is_float(from)) return {0, wrap(to, static_cast<uint64_t>(a.integer))};
  return {0, to == Dtype::boolean ? static_cast<int64_t>(a.real != 0) : truncate(to, a.real)};
}

double sigmoid(double x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);  // no overflow for very negative x
  return e / (1 + e);
}

double real_unary(ScalarOp op, double x) {
  switch (op) {
    case ScalarOp::neg: return -x;
    case ScalarOp::abs: return std::fabs(x);
    case ScalarOp::sign: return x > 0 ? 1 : (x < 0 ? -1 : x);
    case ScalarOp::sqrt: return std::sqrt(x);
    case ScalarOp::rsqrt: return 1 / std::sqrt(x);
    case ScalarOp::reciprocal: return 1 / x;
    case ScalarOp::exp: return std::exp(x);
    case ScalarOp::log: return std::log(x);
    case ScalarOp::erf: return std::erf(x);
    case ScalarOp::sin: return std::sin(x);
    case ScalarOp::cos: return std::cos(x);
    case ScalarOp::tanh: return std::tanh(x);
    case ScalarOp::sigmoid: return sigmoid(x);
    case ScalarOp::floor: return std::floor(x);
    case ScalarOp::ceil: return std::ceil(x);
    case ScalarOp::round: return std::nearbyint(x);  // the default rounding mode: half to even
    default: CHECK(false, "{} of a float", scalar_op_name(op)); return 0;
  }
}

double real_binary(ScalarOp op, double a, double b) {
  switch (op) {
    case ScalarOp::add: return a + b;
    case ScalarOp::sub: return a - b;
    case ScalarOp::mul: return a * b;
    case ScalarOp::div: return a / b;
    case ScalarOp::mod: return std::fmod(a, b);
    case ScalarOp::pow: return std::pow(a, b);
    case ScalarOp::minimum: return std::isnan(a) || a < b ? a : b;
    case ScalarOp::maximum: return std::isnan(a) || a > b ? a : b;
    default: CHECK(false, "{} of floats", scalar_op_name(op)); return 0;
  }
}

bool compare(ScalarOp op, const ScalarValue& a, const ScalarValue& b, bool real) {
  switch (op) {
    case ScalarOp::equal: return real ? a.real == b.real : a.integer == b.integer;
    case ScalarOp::less: return real ? a.real < b.real : a.integer < b.integer;
    case ScalarOp::less_equal: return real ? a.real <= b.real : a.integer <= b.integer;
    case ScalarOp::logical_and: return a.integer != 0 && b.integer != 0;
    case ScalarOp::logical_or: return a.integer != 0 || b.integer != 0;
    case ScalarOp::logical_xor: return (a.integer != 0) != (b.integer != 0);
    case ScalarOp::logical_not: return a.integer == 0;
    case ScalarOp::is_nan: return real && std::isnan(a.real);
    case ScalarOp::is_inf: return real && std::isinf(a.real);
    default: CHECK(false, "{} is no comparison", scalar_op_name(op)); return false;
  }
}

// Exact modulo 2^64, as repeated wrapping multiplication; a negative exponent truncates 1 / base^|exponent|.
uint64_t integer_pow(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : static_cast<uint64_t>(-1);
    return 0;
  }
  uint64_t result = 1;
  auto square = static_cast<uint64_t>(base);
  for (int64_t e = exponent; e > 0; e /= 2, square *= square)
    if (e % 2 == 1) result *= square;
  return result;
}

// The result before wrapping to the dtype. Unsigned arithmetic wraps where signed would be undefined.
uint64_t integer_op(ScalarOp op, int64_t a, int64_t b) {
  const auto ua = static_cast<uint64_t>(a);
  const auto ub = static_cast<uint64_t>(b);
  switch (op) {
    case ScalarOp::neg: return 0 - ua;
    case ScalarOp::abs: return a < 0 ? 0 - ua : ua;
    case ScalarOp::sign: return static_cast<uint64_t>((a > 0) - (a < 0));
    case ScalarOp::add: return ua + ub;
    case ScalarOp::sub: return ua - ub;
    case ScalarOp::mul: return ua * ub;
    case ScalarOp::div: return b == 0 ? 0 : (b == -1 ? 0 - ua : static_cast<uint64_t>(a / b));
    case ScalarOp::mod: return b == 0 || b == -1 ? 0 : static_cast<uint64_t>(a % b);
    case ScalarOp::pow: return integer_pow(a, b);
    case ScalarOp::minimum: return a < b ? ua : ub;
    case ScalarOp::maximum: return a > b ? ua : ub;
    default: CHECK(false, "{} of integers", scalar_op_name(op)); return 0;
  }
}

// fma rounds once, in the precision of its dtype.
double fused_multiply_add(double a, double b, double c, Dtype dtype, bool round_floats) {
  return round_floats && dtype == Dtype::f32
             ? static_cast<double>(std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)))
             : std::fma(a, b, c);
}

}  // namespace

ScalarValue evaluate(const ScalarDag& dag, ScalarId root, std::span<const ScalarValue> operands, bool round_floats) {
  // Called per element: expressions of usual size stay on the stack, and few, since zeroing them is work too.
  std::array<ScalarValue, 8> few;
  std::vector<ScalarValue> many;
  const auto count = static_cast<size_t>(root.index) + 1;
  if (count > few.size()) many.resize(count);
  const std::span<ScalarValue> values = count > few.size() ? std::span(many) : std::span(few).first(count);
  const auto value_of = [&](ScalarId id) -> const ScalarValue& { return values[static_cast<size_t>(id.index)]; };

  for (size_t i = 0; i < count; ++i) {
    const ScalarNode& node = dag.nodes()[i];
    ScalarValue& result = values[i];
    const bool has_a = node.args[0].index >= 0;
    const bool has_b = node.args[1].index >= 0;
    const ScalarValue a = has_a ? value_of(node.args[0]) : ScalarValue{};
    const ScalarValue b = has_b ? value_of(node.args[1]) : ScalarValue{};
    const bool real_args = has_a && is_float(dag.dtype(node.args[0]));
    if (node.op == ScalarOp::operand) {
      result = operands[static_cast<size_t>(node.operand)];
    } else if (node.op == ScalarOp::literal) {
      result = is_float(node.dtype) ? ScalarValue{node.literal, 0} : ScalarValue{0, static_cast<int64_t>(node.literal)};
    } else if (node.op == ScalarOp::cast) {
      result = cast(a, dag.dtype(node.args[0]), node.dtype, round_floats);
    } else if (node.op == ScalarOp::select) {
      result = a.integer != 0 ? b : value_of(node.args[2]);
    } else if (node.op == ScalarOp::fma) {
      result = {fused_multiply_add(a.real, b.real, value_of(node.args[2]).real, node.dtype, round_floats), 0};
    } else if (node.dtype == Dtype::boolean) {
      result = {0, static_cast<int64_t>(compare(node.op, a, b, real_args))};
    } else if (real_args) {
      result = {has_b ? real_binary(node.op, a.real, b.real) : real_unary(node.op, a.real), 0};
    } else {
      result = {0, wrap(node.dtype, integer_op(node.op, a.integer, b.integer))};
    }
    if (round_floats && is_float(node.dtype)) result.real = round_to(node.dtype, result.real);
  }
  return value_of(root);
}

}  // namespace stepc
