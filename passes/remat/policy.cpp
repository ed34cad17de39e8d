#include "passes/remat/policy.h"

#include "ir/support/error.h"

#include <algorithm>
#include <array>

namespace stepc {

#define POLICY(name) extern const RematPolicy remat_##name;
#include "passes/remat/policies.def"
#undef POLICY

std::span<const RematPolicy* const> all_remat_policies() {
  static constexpr std::array kPolicies{
#define POLICY(name) &remat_##name,
#include "passes/remat/policies.def"
#undef POLICY
  };
  return kPolicies;
}

const RematPolicy* find_remat_policy(const RematOptions& options) {
  for (const RematPolicy* policy : all_remat_policies())
    if (policy->name == options.policy) return policy;
  return nullptr;
}

std::string RematOptions::text() const {
  if (policy.empty()) return "none";
  return argument.empty() ? policy : policy + ":" + argument;
}

std::string remat_usages() {
  std::string text;
  for (const RematPolicy* policy : all_remat_policies()) {
    text += text.empty() ? "" : ", ";
    text += policy->usage;
  }
  return text;
}

RematOptions parse_remat(std::string_view text) {
  const size_t colon = text.find(':');
  if (text == "none") return {};
  RematOptions options{std::string(text.substr(0, colon)), {}};
  if (colon != std::string_view::npos) options.argument = text.substr(colon + 1);
  const RematPolicy* policy = find_remat_policy(options);
  if (policy == nullptr) user_error("unknown remat policy '{}'; choose from none, {}", options.policy, remat_usages());
  const bool takes_argument = policy->usage.find(':') != std::string_view::npos;
  if (colon != std::string_view::npos && (!takes_argument || options.argument.empty()))
    user_error("--remat {}: write {}", text, policy->usage);
  return options;
}

RematDecision keep_segment_entries(const RematProblem& problem, int64_t layers_per_segment, std::string_view policy) {
  if (problem.layers == 0)
    user_error("--remat {}: no scope of this model shows repeated layers (a number, as in blocks.3.attn)", policy);
  RematDecision kept;
  for (const RematValue& value : problem.values) {
    const bool leaves =
        value.is_read_outside ||
        (value.read_by_layer >= 0 && value.read_by_layer / layers_per_segment != value.layer / layers_per_segment);
    kept.push_back(value.layer < 0 || leaves);
  }
  return kept;
}

}  // namespace stepc
