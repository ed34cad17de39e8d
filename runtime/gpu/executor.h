#pragma once

#include "codegen/cuda/program.h"
#include "ir/graph.h"
#include "ir/plan.h"
#include "ir/tensor.h"
#include "runtime/gpu/device.h"
#include "runtime/profile.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stepc {

// Runs planned steps on a device that executes CUDA. Memory is taken once, here: the arena and the persistent region,
// with the graph's constants in it; weights, states and accumulators begin as zeros. A step is enqueued launch by
// launch the first time, recorded the second time, and from then on runs as it is recorded. The graph, the plan and the
// device must outlive the executor.
class GpuExecutor {
 public:
  GpuExecutor(const Graph& graph, const Plan& plan, const cuda::Program& program, GpuDevice& device);

  // Any graph input by its name: data, labels, weights, states. Throws UserError for an unknown name or another type.
  void set_input(std::string_view name, const TensorView& tensor);
  // Runs everything once: a whole training step, or one micro-step and its update.
  void run_step() { run(step_); }
  // The two programs of a graph that accumulates (ir/graph.h): all nodes before phase optimizer, and those of it.
  // Accumulators are zeroed with `begin_accumulation`.
  void begin_accumulation();
  void run_micro_step() { run(micro_step_); }
  void run_update() { run(update_); }

  // Row-major copies. Throw UserError for an unknown name.
  Tensor output(std::string_view name) const;
  Tensor input(std::string_view name) const;

  // While this is on, launches run one by one, named and timed each.
  void set_profiling(bool on) { profiling_ = on; }
  const std::vector<LaunchProfile>& profile() const { return profile_; }

 private:
  struct Bound {
    NodeId node;
    std::string name;  // launch_name()
    std::vector<cuda::Stage> stages;
    std::unique_ptr<GpuWork> contraction;  // by the library, instead of stages
    std::vector<std::byte*> addresses;     // of the parameters
    std::vector<DeviceRange> ranges;       // likewise
    bool update = false;                   // of phase optimizer
  };
  // What is enqueued as a whole: a step, or one of the two programs of a graph that accumulates.
  struct Part {
    bool micro_step, update;
    bool has_run = false;
    std::unique_ptr<GpuWork> recorded{};
  };

  std::byte* address(ValueId id) const;
  DeviceRange range(ValueId id) const;
  Bound bind(const PlanStep& step, const cuda::Launch& launch) const;
  void copy_constants();
  static bool belongs(const Part& part, bool update) { return update ? part.update : part.micro_step; }
  void run(Part& part);
  void enqueue(const Part& part);
  void enqueue_timed(const Part& part);
  void enqueue(Bound& bound);
  void check_indices();
  void copy_states(const Part& part);
  bool is_row_major(const StateCopy& copy) const;
  bool in_update(ValueId id) const;
  Tensor read(ValueId id) const;

  const Graph& graph_;
  const Plan& plan_;
  GpuDevice& device_;
  std::byte* arena_;
  std::byte* persistent_;
  std::byte* index_errors_;   // a StepcIndexError per launch
  std::vector<Bound> bound_;  // as Plan::steps
  Part step_{.micro_step = true, .update = true}, micro_step_{.micro_step = true, .update = false},
      update_{.micro_step = false, .update = true};
  bool copies_over_host_ = false;  // a state's new value lies in another order: recordings end before the copies
  std::vector<LaunchProfile> profile_;
  bool profiling_ = false;
};

}  // namespace stepc
