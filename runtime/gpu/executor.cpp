#include "runtime/gpu/executor.h"

#include "codegen/device/index_error.h"
#include "ir/origin_name.h"
#include "ir/support/error.h"
#include "runtime/strided_copy.h"

#include <iterator>
#include <span>

namespace stepc {

constexpr int64_t kErrorBytes = sizeof(StepcIndexError);

GpuExecutor::GpuExecutor(const Graph& graph, const Plan& plan, const cuda::Program& program, GpuDevice& device)
    : graph_(graph),
      plan_(plan),
      device_(device),
      arena_(device.allocate(plan.arena_bytes, "the arena")),
      persistent_(device.allocate(plan.persistent_bytes, "weights and state")),
      index_errors_(device.allocate(std::ssize(plan.steps) * kErrorBytes, "the report of indices")) {
  CHECK(program.launches.size() == plan.steps.size(), "{} launches for {} steps", program.launches.size(),
        plan.steps.size());
  device_.fill(persistent_, std::byte{0}, plan.persistent_bytes);
  device_.fill(index_errors_, std::byte{0}, std::ssize(plan.steps) * kErrorBytes);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const cuda::Launch& launch = program.launches[i];
    bound_.push_back(bind(plan.steps[i], launch));
    profile_.push_back({plan.steps[i].node,
                        launch.stages.empty() ? launch.kernel.label : launch.stages[0].symbol,
                        launch.kernel.kind,
                        launch.kernel.traffic,
                        {}});
  }
  copy_constants();
}

std::byte* GpuExecutor::address(ValueId id) const {
  const auto index = static_cast<size_t>(id.index);
  const int64_t offset = plan_.layout_of_value[index].offset * dtype_bytes(graph_.dtype(id));
  return range(id).address + offset;
}

// The block that the value lies in.
DeviceRange GpuExecutor::range(ValueId id) const {
  const int32_t number = plan_.block_of_value[static_cast<size_t>(id.index)];
  CHECK(number >= 0, "value {} has no block", id.index);
  const PlannedBlock& block = plan_.blocks[static_cast<size_t>(number)];
  return {(block.persistent ? persistent_ : arena_) + block.offset, block.bytes};
}

GpuExecutor::Bound GpuExecutor::bind(const PlanStep& step, const cuda::Launch& launch) const {
  const int64_t scratch = cuda::scratch_bytes(launch.kernel);
  CHECK(step.scratch_bytes >= scratch, "{} bytes of scratch planned for {}, {} needed", step.scratch_bytes,
        op_name(graph_.node(step.node).op), scratch);
  Bound bound{step.node, launch.stages, {}, {}, graph_.node(step.node).origin.phase == Phase::optimizer};
  for (const KernelBuffer& buffer : launch.kernel.buffers) {
    bound.addresses.push_back(address(buffer.value));
    bound.ranges.push_back(range(buffer.value));
  }
  bound.addresses.push_back(arena_ + step.scratch_offset);
  bound.ranges.push_back({arena_ + step.scratch_offset, step.scratch_bytes});
  std::byte* const error = index_errors_ + std::ssize(bound_) * kErrorBytes;
  bound.addresses.push_back(error);
  bound.ranges.push_back({error, kErrorBytes});
  return bound;
}

void GpuExecutor::copy_constants() {
  for (NodeId id = graph_.first(); id.valid(); id = graph_.next(id)) {
    const Node& node = graph_.node(id);
    if (node.op != Op::constant || plan_.block_of_value[static_cast<size_t>(node.outputs[0].index)] < 0) continue;
    device_.upload(address(node.outputs[0]), node.constant->bytes());
  }
}

void GpuExecutor::set_input(std::string_view name, const TensorView& tensor) {
  const GraphInput* input = graph_.find_input(name);
  if (input == nullptr) user_error("there is no input '{}'", name);
  const Type& type = graph_.type(input->value);
  if (tensor.type != type) user_error("input '{}' is {}, expected {}", name, to_string(tensor.type), to_string(type));
  device_.upload(address(input->value), {tensor.data, static_cast<size_t>(type.bytes())});
}

void GpuExecutor::run_launch(size_t index) {
  Bound& bound = bound_[index];
  std::vector<void*> arguments;
  for (std::byte*& address : bound.addresses) arguments.push_back(static_cast<void*>(&address));
  const int begin = profiling_ ? device_.mark() : 0;
  for (const cuda::Stage& stage : bound.stages) device_.launch(stage, arguments.data(), bound.ranges);
  if (profiling_) {
    profile_[index].samples_us.push_back(static_cast<float>(device_.elapsed_us(begin, device_.mark())));
    device_.forget_marks();
  }
}

// Of all launches at once, since waiting for each would stop the device.
void GpuExecutor::check_indices() {
  std::vector<StepcIndexError> errors(bound_.size());
  const auto bytes = std::as_writable_bytes(std::span(errors));
  device_.download(bytes, index_errors_);
  for (size_t i = 0; i < errors.size(); ++i) {
    const StepcIndexError& error = errors[i];
    if (error.happened == 0) continue;
    device_.fill(index_errors_, std::byte{0}, std::ssize(bytes));
    const Node& node = graph_.node(bound_[i].node);
    user_error("node '{}' ({}): index {} is out of range for an axis of size {}; allowed are {} to {}",
               origin_name(node.origin), op_name(node.op), error.index, error.extent, -error.extent, error.extent - 1);
  }
}

void GpuExecutor::run_phases(bool micro_step, bool update) {
  for (size_t i = 0; i < bound_.size(); ++i)
    if (bound_[i].update ? update : micro_step) run_launch(i);
  check_indices();
  copy_states(micro_step, update);
}

bool GpuExecutor::in_update(ValueId id) const {
  const Node* producer = graph_.producer(id);
  return producer != nullptr && producer->origin.phase == Phase::optimizer;
}

void GpuExecutor::copy_states(bool micro_step, bool update) {
  for (const StateCopy& copy : plan_.state_copies) {
    if (!(in_update(copy.from) ? update : micro_step)) continue;
    const Type& type = graph_.type(copy.from);
    if (is_row_major(plan_.layout_of_value[static_cast<size_t>(copy.from.index)], type.shape))
      device_.copy(address(copy.state), address(copy.from), type.bytes());
    else
      device_.upload(address(copy.state), read(copy.from).bytes());
  }
}

void GpuExecutor::run_step() { run_phases(true, true); }
void GpuExecutor::run_micro_step() { run_phases(true, false); }
void GpuExecutor::run_update() { run_phases(false, true); }

void GpuExecutor::begin_accumulation() {
  for (const GraphInput& input : graph_.inputs())
    if (input.role == InputRole::accumulator)
      device_.fill(address(input.value), std::byte{0}, graph_.type(input.value).bytes());
}

// The whole block comes over, since the value may lie in it in any order.
Tensor GpuExecutor::read(ValueId id) const {
  const Type& type = graph_.type(id);
  const Layout& layout = plan_.layout_of_value[static_cast<size_t>(id.index)];
  const DeviceRange block = range(id);
  Tensor result(type);
  if (type.bytes() == 0) return result;
  if (is_row_major(layout, type.shape)) {
    device_.download(result.bytes(), address(id));
    return result;
  }
  std::vector<std::byte> bytes(static_cast<size_t>(block.bytes));
  device_.download(bytes, block.address);
  copy_to_row_major(result.bytes().data(), bytes.data() + (address(id) - block.address), type, layout.strides);
  return result;
}

Tensor GpuExecutor::output(std::string_view name) const {
  for (const GraphOutput& output : graph_.outputs())
    if (output.name == name) return read(output.value);
  user_error("there is no output '{}'", name);
}

Tensor GpuExecutor::input(std::string_view name) const {
  const GraphInput* input = graph_.find_input(name);
  if (input == nullptr) user_error("there is no input '{}'", name);
  return read(input->value);
}

}  // namespace stepc
