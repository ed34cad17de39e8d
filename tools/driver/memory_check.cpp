#include "tools/driver/memory_check.h"

#include "ir/support/checked.h"
#include "ir/support/error.h"
#include "passes/memory/timeline.h"
#include "runtime/machine_memory.h"
#include "tools/driver/gpu.h"
#include "tools/driver/text_report.h"

namespace stepc {
namespace {

struct Need {
  int64_t persistent_bytes = 0;
  int64_t arena_bytes = 0;
};

Need need_of(const Plan& plan) { return {plan.persistent_bytes, plan.arena_bytes}; }

// Every element in 8 bytes, and persistent ones three times: kept, given and rounded.
Need interpreter_need(const Plan& plan) {
  return {checked_mul(6, plan.persistent_bytes), checked_mul(2, plan.arena_bytes)};
}

std::string remedy(const Plan& plan, bool state_alone_is_too_much) {
  if (!state_alone_is_too_much)
    return "a smaller batch (--accumulate N keeps the step's size), a shorter sequence or a smaller model needs less";
  if (peak_use(plan).use.optimizer > 0)
    return "a smaller model, --optimizer sgd (no state) or fewer trained weights (--trainable GLOB) need less";
  return "only a smaller model needs less";
}

void require(const Plan& plan, const Need& need, const std::string& owner, int64_t available) {
  const int64_t total = checked_add(need.persistent_bytes, need.arena_bytes);
  if (total <= available) return;
  user_error("the step needs {} of memory ({} for weights and state, {} for the arena), but {} has {} left; {}",
             format_bytes(total), format_bytes(need.persistent_bytes), format_bytes(need.arena_bytes), owner,
             format_bytes(available), remedy(plan, need.persistent_bytes > available));
}

void require_host_memory(const Plan& plan, const Need& need) {
  if (const std::optional<int64_t> available = available_memory_bytes())
    require(plan, need, "this machine", *available);
}

}  // namespace

void require_memory(const Step& step, const DriverOptions& options) {
  if (options.target == Target::interpreter) return require_interpreter_memory(step);
  if (options.target != Target::cuda) return require_host_memory(*step.plan, need_of(*step.plan));
  const GpuMemory memory = free_gpu_memory();
  require(*step.plan, need_of(*step.plan), memory.owner, memory.bytes);
}

void require_interpreter_memory(const Step& step) { require_host_memory(*step.plan, interpreter_need(*step.plan)); }

std::string gpu_memory_note(const Step& step, const DriverOptions& options) {
  if (options.target != Target::cuda || !step.plan) return {};
  const std::optional<GpuMemory> memory = spec_gpu_memory(step.device);
  if (!memory || step.plan->peak_bytes() <= memory->bytes) return {};
  return fmt::format("the step needs {}, {} has {}: {}", format_bytes(step.plan->peak_bytes()), memory->owner,
                     format_bytes(memory->bytes), remedy(*step.plan, step.plan->persistent_bytes > memory->bytes));
}

}  // namespace stepc
