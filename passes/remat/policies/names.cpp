#include "ir/support/error.h"
#include "passes/options.h"
#include "passes/remat/policy.h"

#include <algorithm>

// names:GLOB[,GLOB]: keeps what enters each layer and every value whose name, ONNX node or scope matches. JAX's
// save_only_these_names (jax.checkpoint_policies).
namespace stepc {
namespace {

bool matches(std::string_view globs, const RematValue& value) {
  const auto fits = [&](std::string_view text) { return !text.empty() && glob_match(globs, text); };
  return fits(value.name) || fits(value.scope) || std::ranges::any_of(value.onnx, fits);
}

RematDecision decide(const RematProblem& problem, std::string_view argument) {
  if (argument.empty()) user_error("--remat names: needs globs over names of values, as in names:*attn*,*mlp.fc*");
  RematDecision kept = keep_segment_entries(problem, 1, "names");
  bool found = false;
  for (size_t i = 0; i < kept.size(); ++i)
    if (matches(argument, problem.values[i])) kept[i] = found = true;
  if (!found)
    user_error("--remat names:{}: no value of the forward has such a name, ONNX node or scope; stepc saved lists them",
               argument);
  return kept;
}

}  // namespace

extern const RematPolicy remat_names;
const RematPolicy remat_names{
    .name = "names",
    .usage = "names:GLOB[,GLOB]",
    .summary = "keeps what enters each layer and the values of these names, ONNX nodes or scopes",
    .decide = decide,
};

}  // namespace stepc
