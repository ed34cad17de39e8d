#pragma once

#include "ir/interpreter.h"
#include "passes/pass.h"

#include <map>
#include <span>
#include <string>

namespace stepc::corpus {

// What an execution shows of a graph: its outputs, and what states become as "state of NAME".
using Observed = std::map<std::string, RefTensor>;
Observed observe(const Graph& graph, const std::map<std::string, RefTensor>& inputs, RefPrecision precision);

// What passes, run one after the other, promise together: the weakest of their contracts.
struct Promise {
  double tolerance = 0;        // relative to the largest element of an output
  bool all_outputs = true;     // none goes
  bool same_gradients = true;  // false where a pass may scale them
};
Promise promise_of(std::span<const Pass* const> passes);

// How what was observed before and after breaks the promise, in one line; empty where it is kept. With a tolerance, an
// output without an element of 0.1 is measured as if it had one: gradients may be rounding noise alone.
std::string breach(const Promise& promise, const Graph& graph, const Observed& before, const Observed& after);

}  // namespace stepc::corpus
