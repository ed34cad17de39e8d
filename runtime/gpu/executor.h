#pragma once

#include "codegen/cuda/program.h"
#include "ir/graph.h"
#include "ir/plan.h"
#include "ir/tensor.h"
#include "runtime/gpu/device.h"
#include "runtime/profile.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace stepc {

// Runs planned steps on a device that executes CUDA. Memory is taken once, here: the arena and the persistent region,
// with the graph's constants in it; weights, states and accumulators begin as zeros. The graph, the plan and the device
// must outlive the executor.
class GpuExecutor {
 public:
  GpuExecutor(const Graph& graph, const Plan& plan, const cuda::Program& program, GpuDevice& device);

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
  Tensor input(std::string_view name) const;

  // Timings are kept from here on, or dropped.
  void set_profiling(bool on) { profiling_ = on; }
  const std::vector<LaunchProfile>& profile() const { return profile_; }

 private:
  struct Bound {
    NodeId node;
    std::vector<cuda::Stage> stages;
    std::vector<std::byte*> addresses;  // of the parameters
    std::vector<DeviceRange> ranges;    // likewise
    bool update = false;                // of phase optimizer
  };

  std::byte* address(ValueId id) const;
  DeviceRange range(ValueId id) const;
  Bound bind(const PlanStep& step, const cuda::Launch& launch) const;
  void copy_constants();
  void run_phases(bool micro_step, bool update);
  void run_launch(size_t index);
  void check_indices();
  void copy_states(bool micro_step, bool update);
  bool in_update(ValueId id) const;
  Tensor read(ValueId id) const;

  const Graph& graph_;
  const Plan& plan_;
  GpuDevice& device_;
  std::byte* arena_;
  std::byte* persistent_;
  std::byte* index_errors_;   // a StepcIndexError per launch
  std::vector<Bound> bound_;  // as Plan::steps
  std::vector<LaunchProfile> profile_;
  bool profiling_ = false;
};

}  // namespace stepc
