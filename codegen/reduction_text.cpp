#include "codegen/reduction_text.h"

#include "codegen/scalar_text.h"
#include "ir/support/error.h"

#include <limits>

namespace stepc {
namespace {

bool is_arg(ReduceOp op) { return op == ReduceOp::arg_max || op == ReduceOp::arg_min; }

std::string_view operator_name(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return "SumOf";
    case ReduceOp::prod: return "ProdOf";
    case ReduceOp::max: return "MaxOf";
    case ReduceOp::min: return "MinOf";
    case ReduceOp::arg_max:
    case ReduceOp::arg_min: break;
  }
  CHECK(false, "arg reductions have no operator");
  return "";
}

std::string element_type(Dtype dtype) {
  const bool narrow = dtype == Dtype::i8 || dtype == Dtype::u8 || dtype == Dtype::boolean;
  return std::string(narrow ? "int32_t" : value_type(dtype));
}

// The extreme values of a dtype; integers as text, since i64's do not fit a double.
std::string extreme(Dtype dtype, bool greatest) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (dtype) {
    case Dtype::i64: return greatest ? "INT64_MAX" : "INT64_MIN";
    case Dtype::i32: return greatest ? "INT32_MAX" : "INT32_MIN";
    case Dtype::i8: return greatest ? "127" : "-128";
    case Dtype::u8: return greatest ? "255" : "0";
    case Dtype::boolean: return greatest ? "true" : "false";
    default: return literal_text(greatest ? kInfinity : -kInfinity, dtype);
  }
}

std::string identity(const Reduction& reduction) {
  switch (reduction.op) {
    case ReduceOp::sum: return literal_text(0, reduction.accumulate);
    case ReduceOp::prod: return literal_text(1, reduction.accumulate);
    case ReduceOp::max: return extreme(reduction.accumulate, false);
    case ReduceOp::min: return extreme(reduction.accumulate, true);
    case ReduceOp::arg_max:
    case ReduceOp::arg_min: return "0";
  }
  return "";
}

}  // namespace

ReductionText reduction_text(const Reduction& reduction) {
  ReductionText text;
  text.is_arg = is_arg(reduction.op);
  text.type = element_type(reduction.accumulate);
  text.identity = identity(reduction);
  if (text.is_arg) {
    text.row = fmt::format("ArgReduction<{}, {}, {}>", text.type, reduction.op == ReduceOp::arg_max, reduction.last);
  } else {
    text.operator_ = fmt::format("{}<{}>", operator_name(reduction.op), text.type);
    text.row = fmt::format("RowReduction<{}, {}>", text.type, text.operator_);
  }
  return text;
}

}  // namespace stepc
