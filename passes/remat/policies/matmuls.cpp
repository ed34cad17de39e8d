#include "passes/remat/policy.h"

// matmuls: keeps what enters each layer and the products with parameters; attention's own products, 4BT²NH FLOPs, and
// everything memory-bound are done again. JAX's policy dots_with_no_batch_dims_saveable (jax.checkpoint_policies).
namespace stepc {
namespace {

RematDecision decide(const RematProblem& problem, std::string_view) {
  RematDecision kept = keep_segment_entries(problem, 1, "matmuls");
  for (size_t i = 0; i < kept.size(); ++i)
    if (problem.values[i].maker == RematValue::Maker::weighted_product) kept[i] = true;
  return kept;
}

}  // namespace

extern const RematPolicy remat_matmuls;
const RematPolicy remat_matmuls{
    .name = "matmuls",
    .usage = "matmuls",
    .summary = "keeps what enters each layer and products with a parameter",
    .decide = decide,
};

}  // namespace stepc
