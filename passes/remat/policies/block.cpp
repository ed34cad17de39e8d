#include "ir/support/error.h"
#include "passes/remat/policy.h"

#include <charconv>

// block[:E]: of each segment of E layers only what others read of it is kept. The peak is then about (L/E)·a + E·A₁ for
// L layers whose entries take a bytes and whose other saved tensors A₁, and the forward runs once more. Chen et al.
// 2016, "Training Deep Nets with Sublinear Memory Cost", section 4; Megatron's and torch's full checkpointing is
// block:1.
namespace stepc {
namespace {

RematDecision decide(const RematProblem& problem, std::string_view argument) {
  int64_t layers = 1;
  if (!argument.empty()) {
    const auto [end, error] = std::from_chars(argument.data(), argument.data() + argument.size(), layers);
    if (error != std::errc() || end != argument.data() + argument.size() || layers < 1)
      user_error("--remat block:{}: a segment is a whole number of layers, as in block:2", argument);
  }
  return keep_segment_entries(problem, layers, "block");
}

}  // namespace

extern const RematPolicy remat_block;
const RematPolicy remat_block{
    .name = "block",
    .usage = "block[:E]",
    .summary = "keeps what enters each segment of E layers (1 without E)",
    .decide = decide,
};

}  // namespace stepc
