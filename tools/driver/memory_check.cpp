#include "tools/driver/memory_check.h"

#include "ir/support/checked.h"
#include "ir/support/error.h"
#include "passes/memory/timeline.h"
#include "runtime/machine_memory.h"
#include "tools/driver/text_report.h"

namespace stepc {
namespace {

struct Need {
  int64_t persistent_bytes = 0;
  int64_t arena_bytes = 0;
};

// The interpreter holds every element in 8 bytes, and persistent ones three times: kept, given and rounded.
Need need_of(const Plan& plan, Target target) {
  if (target != Target::interpreter) return {plan.persistent_bytes, plan.arena_bytes};
  return {checked_mul(6, plan.persistent_bytes), checked_mul(2, plan.arena_bytes)};
}

std::string remedy(const Plan& plan, bool state_alone_is_too_much) {
  if (!state_alone_is_too_much)
    return "a smaller batch (--accumulate N keeps the step's size), a shorter sequence or a smaller model needs less";
  if (peak_use(plan).use.optimizer > 0)
    return "a smaller model, --optimizer sgd (no state) or fewer trained weights (--trainable GLOB) need less";
  return "only a smaller model needs less";
}

}  // namespace

void require_memory(const Step& step, Target target) {
  const std::optional<int64_t> available = available_memory_bytes();
  const Need need = need_of(*step.plan, target);
  const int64_t total = checked_add(need.persistent_bytes, need.arena_bytes);
  if (!available || total <= *available) return;
  user_error(
      "the step needs {} of memory ({} for weights and state, {} for the arena), but this machine has {} left; {}",
      format_bytes(total), format_bytes(need.persistent_bytes), format_bytes(need.arena_bytes),
      format_bytes(*available), remedy(*step.plan, need.persistent_bytes > *available));
}

}  // namespace stepc
