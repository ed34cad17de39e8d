#include "tests/ops/samples.h"

#include <cmath>
#include <limits>

namespace stepc::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Dtype kF64 = Dtype::f64;

RefTensor row(std::vector<double> values) {
  const auto size = static_cast<int64_t>(values.size());
  return reals(kF64, {size}, std::move(values));
}

RefTensor bools(std::vector<int64_t> values) {
  const auto size = static_cast<int64_t>(values.size());
  return integers(Dtype::boolean, {size}, std::move(values));
}

struct Domain {
  Op op;
  double low, high;
  Attrs attrs;
};

// Every shape that a unary float operation may meet, within the operation's domain.
void unary_samples(std::vector<Sample>& samples) {
  const std::vector<Domain> domains{
      {Op::abs, -2, 2, {}},
      {Op::neg, -2, 2, {}},
      {Op::sqrt, 0.1, 4, {}},
      {Op::rsqrt, 0.1, 4, {}},
      {Op::exp, -2, 2, {}},
      {Op::log, 0.1, 4, {}},
      {Op::erf, -2, 2, {}},
      {Op::sin, -4, 4, {}},
      {Op::cos, -4, 4, {}},
      {Op::tanh, -2, 2, {}},
      {Op::sigmoid, -4, 4, {}},
      {Op::silu, -4, 4, {}},
      {Op::softplus, -30, 30, {}},
      {Op::relu, -2, 2, {}},
      {Op::gelu, -3, 3, {{"approximate", "none"}}},
      {Op::reciprocal, 0.3, 3, {}},
      {Op::gelu, -3, 3, {{"approximate", "tanh"}}},
  };
  for (const Domain& d : domains) {
    const std::string suffix = d.attrs.has("approximate") ? "_" + d.attrs.text("approximate") : "";
    for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{0, 2}, Shape{1}})
      samples.push_back({d.op, to_string(shape) + suffix, {spread(shape, d.low, d.high)}, d.attrs});
  }
  for (const Op op : {Op::ceil, Op::floor, Op::round, Op::sign})
    samples.push_back({.op = op, .label = "steps", .operands = {spread({2, 3})}, .gradients = std::vector<size_t>{}});
  for (const Op op : {Op::is_inf, Op::is_nan}) samples.push_back({op, "plain", {spread({2, 3})}, {}});
}

// Results that a reader can check by hand, at the points where operations differ between libraries.
void unary_edges(std::vector<Sample>& samples) {
  const auto edge = [&](Op op, std::vector<double> x, std::vector<double> y) {
    samples.push_back({.op = op,
                       .label = "edges",
                       .operands = {row(std::move(x))},
                       .expected = {row(std::move(y))},
                       .gradients = std::vector<size_t>{}});
  };
  edge(Op::round, {0.5, 1.5, 2.5, -0.5, -1.5, 1.4}, {0, 2, 2, -0.0, -2, 1});
  edge(Op::sign, {-3, 0, 5, kInf, kNan}, {-1, 0, 1, 1, kNan});
  edge(Op::floor, {-1.5, 1.5, -0.0, kInf}, {-2, 1, -0.0, kInf});
  edge(Op::ceil, {-1.5, 1.5, 0.2, -kInf}, {-1, 2, 1, -kInf});
  edge(Op::sigmoid, {-1000, 0, 1000, -kInf, kNan}, {0, 0.5, 1, 0, kNan});
  edge(Op::softplus, {-1000, 0, 1000, -50, kInf}, {0, std::log(2.0), 1000, std::exp(-50.0), kInf});
  edge(Op::relu, {-1, 0, 2, kNan, -kInf}, {0, 0, 2, kNan, 0});
  edge(Op::abs, {-1, -0.0, kInf, kNan}, {1, 0, kInf, kNan});
  edge(Op::exp, {-kInf, 0, 1000}, {0, 1, kInf});
  edge(Op::log, {0, 1, kInf, -1}, {-kInf, 0, kInf, kNan});
  edge(Op::tanh, {-1000, 0, kInf}, {-1, 0, 1});
  edge(Op::erf, {0, kInf, -kInf}, {0, 1, -1});
  edge(Op::rsqrt, {4, 0, kInf}, {0.5, kInf, 0});
  samples.push_back(
      {.op = Op::is_nan, .label = "edges", .operands = {row({0, kNan, kInf})}, .expected = {bools({0, 1, 0})}});
  samples.push_back(
      {.op = Op::is_inf, .label = "edges", .operands = {row({-kInf, kNan, kInf})}, .expected = {bools({1, 0, 1})}});
  samples.push_back(
      {.op = Op::logical_not, .label = "bools", .operands = {bools({0, 1})}, .expected = {bools({1, 0})}});
  for (const Op op : {Op::abs, Op::neg, Op::sign, Op::relu})
    samples.push_back({.op = op, .label = "i32", .operands = {integers(Dtype::i32, {3}, {-2, 0, 3})}});
  // Wraps around in its dtype.
  samples.push_back({.op = Op::neg,
                     .label = "i8",
                     .operands = {integers(Dtype::i8, {2}, {-128, 5})},
                     .expected = {integers(Dtype::i8, {2}, {-128, -5})}});
}

void binary_samples(std::vector<Sample>& samples) {
  struct Shapes {
    Shape a, b;
  };
  const std::vector<Shapes> shapes{{{2, 3}, {2, 3}}, {{2, 3}, {3}}, {{2, 1}, {1, 3}}, {{}, {2, 2}},
                                   {{2, 1, 2}, {}},  {{}, {}},      {{0, 3}, {1, 3}}, {{1}, {0}}};
  for (const Op op : {Op::add, Op::sub, Op::mul, Op::div, Op::maximum, Op::minimum, Op::pow, Op::mod, Op::equal,
                      Op::less, Op::less_equal})
    for (const auto& [a, b] : shapes) {
      const bool positive = op == Op::pow || op == Op::div || op == Op::mod;
      samples.push_back({op,
                         to_string(a) + to_string(b),
                         {spread(a, positive ? 0.4 : -2, 2.5, 1), spread(b, positive ? 0.4 : -2, 2, 2)},
                         {}});
    }
  for (const Op op : {Op::logical_and, Op::logical_or, Op::logical_xor})
    samples.push_back({op, "table", {integers(Dtype::boolean, {2, 1}, {0, 1}), bools({0, 1})}, {}});
  const auto edge = [&](Op op, std::vector<double> a, std::vector<double> b, std::vector<double> y, Attrs attrs = {}) {
    samples.push_back({.op = op,
                       .label = "edges",
                       .operands = {row(std::move(a)), row(std::move(b))},
                       .attrs = std::move(attrs),
                       .expected = {row(std::move(y))},
                       .gradients = std::vector<size_t>{}});
  };
  edge(Op::maximum, {1, kNan, 1, -kInf}, {2, 1, kNan, 0}, {2, kNan, kNan, 0});
  edge(Op::minimum, {1, kNan, 1, -kInf}, {2, 1, kNan, 0}, {1, kNan, kNan, -kInf});
  edge(Op::pow, {-2, -2, 0, 0, 2}, {3, 2, 0, 2, -1}, {-8, 4, 1, 0, 0.5});
  edge(Op::div, {1, -1, 0}, {0, 0, 0}, {kInf, -kInf, kNan});
  edge(Op::mod, {5.5, -5.5, 5.5, -5.5, -6}, {3, 3, -3, -3, 3}, {2.5, 0.5, -0.5, -2.5, 0});
}

void integer_samples(std::vector<Sample>& samples) {
  const auto edge = [&](Op op, std::string label, Dtype dtype, std::vector<int64_t> a, std::vector<int64_t> b,
                        std::vector<int64_t> y, Attrs attrs = {}) {
    const Shape shape{static_cast<int64_t>(a.size())};
    samples.push_back({.op = op,
                       .label = std::move(label),
                       .operands = {integers(dtype, shape, std::move(a)), integers(dtype, shape, std::move(b))},
                       .attrs = std::move(attrs),
                       .expected = {integers(dtype, shape, std::move(y))}});
  };
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  edge(Op::add, "i64", Dtype::i64, {kMax, 2}, {1, 3}, {kMin, 5});
  edge(Op::add, "u8", Dtype::u8, {250, 2}, {10, 3}, {4, 5});
  edge(Op::sub, "u8", Dtype::u8, {2}, {3}, {255});
  edge(Op::mul, "i32", Dtype::i32, {65536, -3}, {65536, 5}, {0, -15});
  edge(Op::div, "i64", Dtype::i64, {7, -7, 7, -7, 7, kMin}, {2, 2, -2, -2, 0, -1}, {3, -3, -3, 3, 0, kMin});
  edge(Op::mod, "i64", Dtype::i64, {7, -7, 7, -7, 7, kMin}, {3, 3, -3, -3, 0, -1}, {1, 2, -2, -1, 0, 0});
  edge(Op::mod, "i64_fmod", Dtype::i64, {7, -7, 7, -7}, {3, 3, -3, -3}, {1, -1, 1, -1}, {{"fmod", true}});
  edge(Op::pow, "i64", Dtype::i64, {2, -3, 2, -1, 0}, {10, 3, -1, -3, 0}, {1024, -27, 0, -1, 1});
  edge(Op::maximum, "i64", Dtype::i64, {kMax, -1}, {kMax - 1, 1}, {kMax, 1});
  edge(Op::minimum, "i64", Dtype::i64, {kMax, -1}, {kMax - 1, 1}, {kMax - 1, -1});
  // i64 is compared exactly, not as a double.
  constexpr int64_t kBig = int64_t{1} << 53;
  for (const auto& [op, y] : {std::pair{Op::equal, 0}, {Op::less, 1}, {Op::less_equal, 1}})
    samples.push_back({.op = op,
                       .label = "i64",
                       .operands = {integers(Dtype::i64, {1}, {kBig}), integers(Dtype::i64, {1}, {kBig + 1})},
                       .expected = {bools({y})}});
  samples.push_back(
      {.op = Op::equal, .label = "bool", .operands = {bools({0, 1}), bools({1, 1})}, .expected = {bools({0, 1})}});
}

void select_samples(std::vector<Sample>& samples) {
  const RefTensor condition = integers(Dtype::boolean, {2, 1}, {1, 0});
  samples.push_back({Op::select, "broadcast", {condition, spread({3}), spread({2, 3})}, {}});
  samples.push_back({Op::select, "rank0", {integers(Dtype::boolean, {}, {1}), spread({}), spread({2})}, {}});
  samples.push_back({.op = Op::select,
                     .label = "untaken_inf",
                     .operands = {bools({1, 0}), row({1, kInf}), row({kNan, 2})},
                     .expected = {row({1, 2})},
                     .gradients = std::vector<size_t>{}});
  samples.push_back(
      {Op::select, "i64", {condition, integers(Dtype::i64, {1}, {7}), integers(Dtype::i64, {1}, {-7})}, {}});
}

void cast_samples(std::vector<Sample>& samples) {
  const auto to = [](Dtype dtype) { return Attrs{{"to", dtype}}; };
  samples.push_back({Op::cast, "f64_f64", {spread({2, 3})}, to(kF64)});
  samples.push_back({Op::cast, "f64_f32", {spread({2})}, to(Dtype::f32)});
  samples.push_back({.op = Op::cast,
                     .label = "f64_i8",
                     .operands = {row({-1.9, 1.9, 300, -300, kNan})},
                     .attrs = to(Dtype::i8),
                     .expected = {integers(Dtype::i8, {5}, {-1, 1, 127, -128, 0})},
                     .gradients = std::vector<size_t>{}});
  samples.push_back({.op = Op::cast,
                     .label = "f64_i64",
                     .operands = {row({kInf, -kInf, 0x1p62})},
                     .attrs = to(Dtype::i64),
                     .expected = {integers(
                         Dtype::i64, {3},
                         {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), int64_t{1} << 62})},
                     .gradients = std::vector<size_t>{}});
  samples.push_back({.op = Op::cast,
                     .label = "f64_bool",
                     .operands = {row({0, -0.0, 0.1, kNan})},
                     .attrs = to(Dtype::boolean),
                     .expected = {bools({0, 0, 1, 1})},
                     .gradients = std::vector<size_t>{}});
  samples.push_back({.op = Op::cast,
                     .label = "i64_u8",
                     .operands = {integers(Dtype::i64, {2}, {257, -1})},
                     .attrs = to(Dtype::u8),
                     .expected = {integers(Dtype::u8, {2}, {1, 255})}});
  samples.push_back(
      {.op = Op::cast, .label = "bool_f64", .operands = {bools({0, 1})}, .attrs = to(kF64), .expected = {row({0, 1})}});
}

}  // namespace

void pointwise_samples(std::vector<Sample>& samples, std::vector<Refusal>& refusals) {
  unary_samples(samples);
  unary_edges(samples);
  binary_samples(samples);
  integer_samples(samples);
  select_samples(samples);
  cast_samples(samples);

  const RefTensor i64 = integers(Dtype::i64, {1}, {1});
  refusals.push_back({Op::exp, "i64", {i64}, {}, "exp: operands must be floats, not i64"});
  refusals.push_back({Op::floor, "bool", {bools({1})}, {}, "floor: operands must be floats, not bool"});
  refusals.push_back({Op::add, "dtypes", {row({1}), i64}, {}, "add: operands have dtypes f64 and i64"});
  refusals.push_back({Op::add, "bools", {bools({1}), bools({1})}, {}, "add: operands must be numbers, not bool"});
  refusals.push_back(
      {Op::mul, "shapes", {row({1, 2}), row({1, 2, 3})}, {}, "mul: shapes [2] and [3] do not broadcast"});
  refusals.push_back({Op::sub, "one operand", {row({1})}, {}, "sub: 1 operands, expected 2"});
  refusals.push_back({Op::sub, "omitted operand", {row({1}), std::nullopt}, {}, "sub: operand 1 is required"});
  refusals.push_back({Op::less, "bools", {bools({1}), bools({1})}, {}, "less: operands must be numbers, not bool"});
  refusals.push_back(
      {Op::logical_and, "f64", {row({1}), bools({1})}, {}, "logical_and: operands must be bool, not f64"});
  refusals.push_back(
      {Op::select, "condition", {row({1}), row({1}), row({1})}, {}, "select: the condition is f64, not bool"});
  refusals.push_back(
      {Op::select, "choices", {bools({1}), row({1}), i64}, {}, "select: the two choices have dtypes f64 and i64"});
  refusals.push_back(
      {Op::gelu, "approximate", {row({1})}, {{"approximate", "fast"}}, "approximate is \"fast\", expected"});
  refusals.push_back({Op::gelu, "absent", {row({1})}, {}, "gelu: attribute 'approximate' is missing"});
  refusals.push_back({Op::cast, "kind", {row({1})}, {{"to", int64_t{1}}}, "cast: attribute 'to' has the wrong kind"});
  refusals.push_back({Op::neg, "unknown", {row({1})}, {{"axis", int64_t{1}}}, "neg: unknown attribute 'axis'"});
}

}  // namespace stepc::test
