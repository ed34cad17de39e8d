#include "codegen/scalar_text.h"

#include "ir/ref_tensor.h"
#include "ir/support/error.h"

#include <cmath>
#include <cstdint>

namespace stepc {
namespace {

bool is_half(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::bf16; }

std::string rounded(std::string value, Dtype dtype) {
  if (dtype == Dtype::bf16) return fmt::format("round_bf16({})", value);
  if (dtype == Dtype::f16) return fmt::format("round_f16({})", value);
  return value;
}

std::string float_literal(double value, bool wide) {
  const char* suffix = wide ? "" : "f";
  if (std::isnan(value)) return fmt::format("__builtin_nan{}(\"\")", suffix);
  if (std::isinf(value)) return fmt::format("{}__builtin_inf{}()", value < 0 ? "-" : "", suffix);
  return fmt::format("{:a}{}", value, wide ? "" : "F");
}

std::string cast_text(const std::string& a, Dtype from, Dtype to) {
  if (to == Dtype::boolean) return fmt::format("{} != 0", a);
  if (is_float(to)) return fmt::format("static_cast<{}>({})", value_type(to), a);
  if (!is_float(from)) return fmt::format("static_cast<{}>({})", value_type(to), a);
  return fmt::format("to_{}({})", dtype_name(to), a);
}

std::string call(std::string_view function, const std::vector<std::string>& args) {
  return fmt::format("{}({})", function, fmt::join(args, ", "));
}

// `op` between variables of the result's type; narrow integers come back from int.
std::string infix(const ScalarNode& node, std::string_view op, const std::vector<std::string>& args) {
  const std::string text = fmt::format("{} {} {}", args[0], op, args[1]);
  return is_integer(node.dtype) ? fmt::format("static_cast<{}>({})", value_type(node.dtype), text) : text;
}

std::string plain_operation(const ScalarNode& node, const std::vector<std::string>& args, Dtype arg_dtype) {
  switch (node.op) {
    case ScalarOp::neg:
      return is_float(node.dtype) ? fmt::format("-{}", args[0])
                                  : fmt::format("static_cast<{}>(0 - {})", value_type(node.dtype), args[0]);
    case ScalarOp::abs:
    case ScalarOp::sign:
    case ScalarOp::sqrt:
    case ScalarOp::exp:
    case ScalarOp::log:
    case ScalarOp::erf:
    case ScalarOp::sin:
    case ScalarOp::cos:
    case ScalarOp::tanh:
    case ScalarOp::sigmoid:
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::round:
    case ScalarOp::is_nan:
    case ScalarOp::is_inf:
    case ScalarOp::div:
    case ScalarOp::mod:
    case ScalarOp::pow:
    case ScalarOp::fma: return call(fmt::format("{}_of", scalar_op_name(node.op)), args);
    case ScalarOp::rsqrt: return fmt::format("1 / sqrt_of({})", args[0]);
    case ScalarOp::reciprocal: return fmt::format("1 / {}", args[0]);
    case ScalarOp::logical_not: return fmt::format("!{}", args[0]);
    case ScalarOp::cast: return cast_text(args[0], arg_dtype, node.dtype);
    case ScalarOp::add: return infix(node, "+", args);
    case ScalarOp::sub: return infix(node, "-", args);
    case ScalarOp::mul: return infix(node, "*", args);
    case ScalarOp::minimum: return call("minimum", args);
    case ScalarOp::maximum: return call("maximum", args);
    case ScalarOp::equal: return fmt::format("{} == {}", args[0], args[1]);
    case ScalarOp::less: return fmt::format("{} < {}", args[0], args[1]);
    case ScalarOp::less_equal: return fmt::format("{} <= {}", args[0], args[1]);
    case ScalarOp::logical_and: return fmt::format("{} & {}", args[0], args[1]);
    case ScalarOp::logical_or: return fmt::format("{} | {}", args[0], args[1]);
    case ScalarOp::logical_xor: return fmt::format("{} != {}", args[0], args[1]);
    case ScalarOp::select: return fmt::format("{} ? {} : {}", args[0], args[1], args[2]);
    case ScalarOp::operand:
    case ScalarOp::literal: break;
  }
  CHECK(false, "{}", scalar_op_name(node.op));
  return {};
}

}  // namespace

std::string_view value_type(Dtype dtype) {
  if (dtype == Dtype::boolean) return "bool";
  return is_half(dtype) ? "float" : storage_type(dtype);
}

std::string_view storage_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32: return "float";
    case Dtype::f64: return "double";
    case Dtype::f16:
    case Dtype::bf16: return "uint16_t";
    case Dtype::i64: return "int64_t";
    case Dtype::i32: return "int32_t";
    case Dtype::i8: return "int8_t";
    case Dtype::u8:
    case Dtype::boolean: return "uint8_t";
  }
  return "";
}

std::string literal_text(double value, Dtype dtype) {
  if (is_float(dtype)) return float_literal(round_to(dtype, value), dtype == Dtype::f64);
  if (dtype == Dtype::boolean) return value != 0 ? "true" : "false";
  return fmt::format("{}({})", value_type(dtype), static_cast<int64_t>(value));
}

std::string loaded(std::string element, Dtype dtype) {
  if (dtype == Dtype::boolean) return fmt::format("{} != 0", element);
  if (!is_half(dtype)) return element;
  return fmt::format("{}_to_f32({})", dtype_name(dtype), element);
}

std::string stored(std::string value, Dtype dtype) {
  if (dtype == Dtype::boolean) return fmt::format("static_cast<uint8_t>({})", value);
  if (!is_half(dtype)) return value;
  return fmt::format("f32_to_{}({})", dtype_name(dtype), value);
}

std::string operation_text(const ScalarNode& node, const std::vector<std::string>& args, Dtype arg_dtype) {
  return rounded(plain_operation(node, args, arg_dtype), node.dtype);
}

}  // namespace stepc
