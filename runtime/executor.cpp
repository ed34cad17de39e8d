#include "runtime/executor.h"

#include "ir/origin_name.h"
#include "ir/support/error.h"
#include "runtime/cpu/library.h"
#include "runtime/strided_copy.h"

#include <chrono>
#include <cstring>
#include <memory>

namespace stepc {

// A launch with its addresses.
struct Executor::Bound {
  NodeId node;
  std::vector<void*> buffers;
  void* scratch = nullptr;
  StepcKernel function = nullptr;          // generated kernels
  std::unique_ptr<LibraryLaunch> library;  // the others
  bool update = false;                     // of phase optimizer

  void run(ThreadPool& pool, StepcIndexError& error) const {
    if (function != nullptr) {
      const StepcKernelArgs args{buffers.data(), scratch, &ThreadPool::parallel_for, &pool, &error};
      function(&args);
    } else {
      library->run(pool, buffers, scratch);
    }
  }
};

Executor::Executor(const Graph& graph, const Plan& plan, const cpu::Program& program, const KernelLibrary& library,
                   const ExecutorOptions& options)
    : graph_(graph),
      plan_(plan),
      pool_(options.threads),
      arena_(plan.arena_bytes, options.poison),
      persistent_(plan.persistent_bytes, false),
      measures_memory_(options.poison) {
  CHECK(program.launches.size() == plan.steps.size(), "{} launches for {} steps", program.launches.size(),
        plan.steps.size());
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const cpu::Launch& launch = program.launches[i];
    bound_.push_back(bind(plan.steps[i], launch, library));
    profile_.push_back({plan.steps[i].node,
                        launch.symbol.empty() ? std::string(kernel_kind_name(launch.kernel.kind)) : launch.symbol,
                        launch.kernel.kind,
                        launch.kernel.traffic,
                        {}});
  }
  copy_constants();
}

Executor::~Executor() = default;

std::byte* Executor::address(ValueId id) const {
  const auto index = static_cast<size_t>(id.index);
  const int32_t number = plan_.block_of_value[index];
  CHECK(number >= 0, "value {} has no block", id.index);
  const PlannedBlock& block = plan_.blocks[static_cast<size_t>(number)];
  std::byte* const base = block.persistent ? persistent_.data() : arena_.data();
  return base + block.offset + plan_.layout_of_value[index].offset * dtype_bytes(graph_.dtype(id));
}

Executor::Bound Executor::bind(const PlanStep& step, const cpu::Launch& launch, const KernelLibrary& library) {
  Bound bound;
  bound.node = step.node;
  bound.update = graph_.node(step.node).origin.phase == Phase::optimizer;
  for (const KernelBuffer& buffer : launch.kernel.buffers) bound.buffers.push_back(address(buffer.value));
  bound.scratch = arena_.data() + step.scratch_offset;
  int64_t scratch = launch.kernel.scratch_bytes;
  if (launch.symbol.empty()) {
    bound.library = make_library_launch(launch.kernel);
    scratch = bound.library->scratch_bytes();
  } else {
    bound.function = library.find(launch.symbol);
  }
  CHECK(step.scratch_bytes >= scratch, "{} bytes of scratch planned for {}, {} needed", step.scratch_bytes,
        op_name(graph_.node(step.node).op), scratch);
  return bound;
}

void Executor::copy_constants() {
  for (NodeId id = graph_.first(); id.valid(); id = graph_.next(id)) {
    const Node& node = graph_.node(id);
    if (node.op != Op::constant || plan_.block_of_value[static_cast<size_t>(node.outputs[0].index)] < 0) continue;
    const auto bytes = node.constant->bytes();
    if (!bytes.empty()) std::memcpy(address(node.outputs[0]), bytes.data(), bytes.size());
  }
}

void Executor::set_input(std::string_view name, const TensorView& tensor) {
  const GraphInput* input = graph_.find_input(name);
  if (input == nullptr) user_error("there is no input '{}'", name);
  const Type& type = graph_.type(input->value);
  if (tensor.type != type) user_error("input '{}' is {}, expected {}", name, to_string(tensor.type), to_string(type));
  if (type.bytes() > 0) std::memcpy(address(input->value), tensor.data, static_cast<size_t>(type.bytes()));
}

void Executor::run_launch(size_t index) {
  const Bound& bound = bound_[index];
  if (profiling_) {
    const auto begin = std::chrono::steady_clock::now();
    bound.run(pool_, index_error_);
    const std::chrono::duration<float, std::micro> elapsed = std::chrono::steady_clock::now() - begin;
    profile_[index].samples_us.push_back(elapsed.count());
  } else {
    bound.run(pool_, index_error_);
  }
  if (index_error_.happened != 0) refuse_index(bound);
}

void Executor::refuse_index(const Bound& bound) {
  const Node& node = graph_.node(bound.node);
  const StepcIndexError error = index_error_;
  index_error_ = {};
  user_error("node '{}' ({}): index {} is out of range for an axis of size {}; allowed are {} to {}",
             origin_name(node.origin), op_name(node.op), error.index, error.extent, -error.extent, error.extent - 1);
}

void Executor::run_phases(bool micro_step, bool update) {
  if (measures_memory_ && !growth_) growth_.emplace();
  for (size_t i = 0; i < bound_.size(); ++i)
    if (bound_[i].update ? update : micro_step) run_launch(i);
  copy_states(micro_step, update);
}

bool Executor::in_update(ValueId id) const {
  const Node* producer = graph_.producer(id);
  return producer != nullptr && producer->origin.phase == Phase::optimizer;
}

void Executor::copy_states(bool micro_step, bool update) {
  for (const StateCopy& copy : plan_.state_copies) {
    if (!(in_update(copy.from) ? update : micro_step)) continue;
    const Layout& layout = plan_.layout_of_value[static_cast<size_t>(copy.from.index)];
    copy_to_row_major(address(copy.state), address(copy.from), graph_.type(copy.from), layout.strides);
  }
}

void Executor::run_step() { run_phases(true, true); }
void Executor::run_micro_step() { run_phases(true, false); }
void Executor::run_update() { run_phases(false, true); }

void Executor::begin_accumulation() {
  for (const GraphInput& input : graph_.inputs())
    if (input.role == InputRole::accumulator)
      std::memset(address(input.value), 0, static_cast<size_t>(graph_.type(input.value).bytes()));
}

Tensor Executor::output(std::string_view name) const {
  for (const GraphOutput& output : graph_.outputs()) {
    if (output.name != name) continue;
    Tensor result(graph_.type(output.value));
    copy_to_row_major(result.bytes().data(), address(output.value), graph_.type(output.value),
                      plan_.layout_of_value[static_cast<size_t>(output.value.index)].strides);
    return result;
  }
  user_error("there is no output '{}'", name);
}

Tensor Executor::input(std::string_view name) const {
  const GraphInput* input = graph_.find_input(name);
  if (input == nullptr) user_error("there is no input '{}'", name);
  const Type& type = graph_.type(input->value);
  return {type, std::span<const std::byte>(address(input->value), static_cast<size_t>(type.bytes()))};
}

}  // namespace stepc
