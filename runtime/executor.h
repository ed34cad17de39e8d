#pragma once

#include "codegen/cpu/program.h"
#include "ir/graph.h"
#include "ir/plan.h"
#include "ir/tensor.h"
#include "runtime/cpu/kernel_library.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/memory.h"
#include "runtime/profile.h"
#include "runtime/resident.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace stepc {

struct ExecutorOptions {
  int threads = 0;      // 0: all processors
  bool poison = false;  // fill the arena with NaN first and measure how much of it is ever written
};

// Runs planned steps on the CPU. Memory is taken once, here: the arena and the persistent region, with the graph's
// constants in it; weights, states and accumulators begin as zeros. A step takes no memory besides a library's own.
// The graph, the plan and the library must outlive the executor.
class Executor {
 public:
  Executor(const Graph& graph, const Plan& plan, const cpu::Program& program, const KernelLibrary& library,
           const ExecutorOptions& options = {});
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Any graph input by its name: data, labels, weights, states. Throws UserError for an unknown name or another type.
  void set_input(std::string_view name, const TensorView& tensor);
  // Runs everything once: a whole training step, or one micro-step and its update.
  void run_step();
  // The two programs of a graph that accumulates (ir/graph.h): all nodes before phase optimizer, and those of it.
  // Accumulators are zeroed with `begin_accumulation`.
  void begin_accumulation();
  void run_micro_step();
  void run_update();

  // Row-major copies. Throw UserError for an unknown name.
  Tensor output(std::string_view name) const;
  Tensor input(std::string_view name) const;  // a weight's or state's present value among them

  int threads() const { return pool_.threads(); }
  // Timings are kept from here on, or dropped.
  void set_profiling(bool on) { profiling_ = on; }
  const std::vector<LaunchProfile>& profile() const { return profile_; }
  // With `poison`: how many bytes of the arena were ever used, counted from its begin.
  int64_t arena_high_water_bytes() const { return arena_.high_water_bytes(); }
  // With `poison`: what steps took besides the arena and the persistent region, a library's own memory above all.
  std::optional<int64_t> fixed_bytes() const { return growth_ ? growth_->bytes() : std::nullopt; }

 private:
  struct Bound;

  std::byte* address(ValueId id) const;
  Bound bind(const PlanStep& step, const cpu::Launch& launch, const KernelLibrary& library);
  void copy_constants();
  void run_launch(size_t index);
  void run_phases(bool micro_step, bool update);
  void copy_states(bool micro_step, bool update);
  bool in_update(ValueId id) const;
  [[noreturn]] void refuse_index(const Bound& bound);

  const Graph& graph_;
  const Plan& plan_;
  ThreadPool pool_;
  MemoryRegion arena_;
  MemoryRegion persistent_;
  const bool measures_memory_;
  std::optional<ResidentGrowth> growth_;  // since the first step began
  StepcIndexError index_error_{};
  std::vector<Bound> bound_;  // as Plan::steps
  std::vector<LaunchProfile> profile_;
  bool profiling_ = false;
};

}  // namespace stepc
