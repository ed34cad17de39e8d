#include "ir/scalar_dag.h"

#include "ir/support/error.h"

#include <algorithm>
#include <bit>

namespace stepc {
namespace {

struct ScalarOpInfo {
  std::string_view name;
  int arity;
  int64_t flops;
};

// About what Cephes' single precision expf, logf, sinf, tanhf and erff take (Moshier 1992): a range reduction and a
// polynomial of degree 5 to 8, a multiply-add counted as two.
constexpr int64_t kTranscendental = 20;

ScalarOpInfo info(ScalarOp op) {
  switch (op) {
    case ScalarOp::operand: return {"operand", 0, 0};
    case ScalarOp::literal: return {"literal", 0, 0};
    case ScalarOp::neg: return {"neg", 1, 1};
    case ScalarOp::abs: return {"abs", 1, 1};
    case ScalarOp::sign: return {"sign", 1, 1};
    case ScalarOp::sqrt: return {"sqrt", 1, 1};
    case ScalarOp::rsqrt: return {"rsqrt", 1, 1};
    case ScalarOp::reciprocal: return {"reciprocal", 1, 1};
    case ScalarOp::exp: return {"exp", 1, kTranscendental};
    case ScalarOp::log: return {"log", 1, kTranscendental};
    case ScalarOp::erf: return {"erf", 1, kTranscendental};
    case ScalarOp::sin: return {"sin", 1, kTranscendental};
    case ScalarOp::cos: return {"cos", 1, kTranscendental};
    case ScalarOp::tanh: return {"tanh", 1, kTranscendental};
    case ScalarOp::sigmoid: return {"sigmoid", 1, kTranscendental + 2};
    case ScalarOp::floor: return {"floor", 1, 1};
    case ScalarOp::ceil: return {"ceil", 1, 1};
    case ScalarOp::round: return {"round", 1, 1};
    case ScalarOp::logical_not: return {"logical_not", 1, 1};
    case ScalarOp::is_nan: return {"is_nan", 1, 1};
    case ScalarOp::is_inf: return {"is_inf", 1, 1};
    case ScalarOp::cast: return {"cast", 1, 0};
    case ScalarOp::add: return {"add", 2, 1};
    case ScalarOp::sub: return {"sub", 2, 1};
    case ScalarOp::mul: return {"mul", 2, 1};
    case ScalarOp::div: return {"div", 2, 1};
    case ScalarOp::mod: return {"mod", 2, 1};
    case ScalarOp::pow: return {"pow", 2, 2 * kTranscendental};
    case ScalarOp::minimum: return {"minimum", 2, 1};
    case ScalarOp::maximum: return {"maximum", 2, 1};
    case ScalarOp::equal: return {"equal", 2, 1};
    case ScalarOp::less: return {"less", 2, 1};
    case ScalarOp::less_equal: return {"less_equal", 2, 1};
    case ScalarOp::logical_and: return {"logical_and", 2, 1};
    case ScalarOp::logical_or: return {"logical_or", 2, 1};
    case ScalarOp::logical_xor: return {"logical_xor", 2, 1};
    case ScalarOp::fma: return {"fma", 3, 2};
    case ScalarOp::select: return {"select", 3, 1};
  }
  CHECK(false, "scalar operation {}", static_cast<int>(op));
  return {};
}

bool yields_bool(ScalarOp op) {
  switch (op) {
    case ScalarOp::logical_not:
    case ScalarOp::is_nan:
    case ScalarOp::is_inf:
    case ScalarOp::equal:
    case ScalarOp::less:
    case ScalarOp::less_equal:
    case ScalarOp::logical_and:
    case ScalarOp::logical_or:
    case ScalarOp::logical_xor: return true;
    default: return false;
  }
}

}  // namespace

int scalar_arity(ScalarOp op) { return info(op).arity; }
std::string_view scalar_op_name(ScalarOp op) { return info(op).name; }
int64_t scalar_flops(ScalarOp op) { return info(op).flops; }

bool ScalarNode::operator==(const ScalarNode& other) const {
  return op == other.op && dtype == other.dtype && args == other.args && operand == other.operand &&
         std::bit_cast<uint64_t>(literal) == std::bit_cast<uint64_t>(other.literal);
}

ScalarId ScalarDag::intern(ScalarNode node) {
  const auto known = std::find(nodes_.begin(), nodes_.end(), node);
  const ScalarId id{static_cast<int32_t>(known - nodes_.begin())};
  if (known == nodes_.end()) nodes_.push_back(node);
  return id;
}

ScalarId ScalarDag::operand(int32_t index, Dtype dtype) {
  return intern({.op = ScalarOp::operand, .dtype = dtype, .operand = index});
}

ScalarId ScalarDag::literal(double value, Dtype dtype) {
  return intern({.op = ScalarOp::literal, .dtype = dtype, .literal = value});
}

ScalarId ScalarDag::cast(ScalarId a, Dtype to) {
  return dtype(a) == to ? a : intern({.op = ScalarOp::cast, .dtype = to, .args = {a}});
}

ScalarId ScalarDag::unary(ScalarOp op, ScalarId a) {
  CHECK(scalar_arity(op) == 1 && op != ScalarOp::cast, "{}", scalar_op_name(op));
  return intern({.op = op, .dtype = yields_bool(op) ? Dtype::boolean : dtype(a), .args = {a}});
}

ScalarId ScalarDag::binary(ScalarOp op, ScalarId a, ScalarId b) {
  CHECK(scalar_arity(op) == 2 && dtype(a) == dtype(b), "{} of {} and {}", scalar_op_name(op), dtype_name(dtype(a)),
        dtype_name(dtype(b)));
  return intern({.op = op, .dtype = yields_bool(op) ? Dtype::boolean : dtype(a), .args = {a, b}});
}

ScalarId ScalarDag::select(ScalarId condition, ScalarId a, ScalarId b) {
  CHECK(dtype(condition) == Dtype::boolean && dtype(a) == dtype(b), "select of {} and {}", dtype_name(dtype(a)),
        dtype_name(dtype(b)));
  return intern({.op = ScalarOp::select, .dtype = dtype(a), .args = {condition, a, b}});
}

ScalarId ScalarDag::fma(ScalarId a, ScalarId b, ScalarId c) {
  CHECK(is_float(dtype(a)) && dtype(a) == dtype(b) && dtype(a) == dtype(c), "fma of {}", dtype_name(dtype(a)));
  return intern({.op = ScalarOp::fma, .dtype = dtype(a), .args = {a, b, c}});
}

}  // namespace stepc
