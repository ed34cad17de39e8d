// raise-aten: recovers what a framework runs, and saves for its backward, as one operation, though the exporter wrote
// several. Eager accounting is taken after it.
//
//   %1 = sqrt %v              %2 = rsqrt %v
//   %2 = reciprocal %1   ->
//
//   %1 = sigmoid %x           %2 = silu %x
//   %2 = mul %x, %1      ->
//
// A masked fill arrives as select(mask, constant, x) and stays: its derivative uses the mask alone.

#include "passes/pass.h"
#include "passes/raise/rules.h"

namespace stepc {
namespace {

constexpr RulesOfOp kRules[] = {
    {Op::reciprocal, {raise_rsqrt}},
    {Op::div, {raise_rsqrt}},
    {Op::mul, {raise_silu}},
};

bool run(Graph& graph, PassContext&) { return raise_all(graph, kRules); }

constexpr Fact kRefuses[] = {Fact::has_backward};
constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};

}  // namespace

extern const Pass pass_raise_aten;
const Pass pass_raise_aten{
    .name = "raise-aten",
    .summary = "recovers operations that frameworks run as one: rsqrt, SiLU",
    .contract = {.refuses = kRefuses, .breaks = kBreaks, .preserves = Preserves::tolerance, .relative_tolerance = 1e-5},
    .run = run,
};

}  // namespace stepc
