#pragma once

#include "ir/tensor.h"
#include "tools/driver/data.h"
#include "tools/driver/report.h"
#include "tools/driver/step.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stepc {

// Something that executes a training step: the reference interpreter or a device. Persistent inputs (weights, optimizer
// state) keep their values from step to step.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual void set_persistent(std::string_view name, const TensorView& value) = 0;
  virtual Tensor persistent(std::string_view name) const = 0;

  // One step of `micro_steps` (1 unless the graph accumulates), each over the batch drawn when its turn comes. Throws
  // UserError for values that the step cannot take (an index out of range).
  using DrawBatch = std::function<Batch(int64_t micro_step)>;
  virtual void run(int64_t micro_steps, const DrawBatch& draw) = 0;
  // A graph output after `run`.
  virtual Tensor output(std::string_view name) const = 0;

  // Per-kernel figures over the steps since `start_timing`; empty where the backend has no kernels. Of the `steps` that
  // follow, the first ones may be spent on times of single launches: how many. Their own time says little then.
  virtual int64_t start_timing(int64_t /*steps*/) { return 0; }
  virtual std::vector<KernelRow> kernels() const { return {}; }
  // Bytes of arena and persistent region that steps really wrote, where the backend measures it.
  virtual std::optional<int64_t> measured_peak_bytes() const { return std::nullopt; }
  // Bytes that steps took besides those two, a library's own memory above all.
  virtual std::optional<int64_t> fixed_bytes() const { return std::nullopt; }
};

// `step` must outlive the backend.
std::unique_ptr<Backend> make_interpreter_backend(const Step& step);

}  // namespace stepc
