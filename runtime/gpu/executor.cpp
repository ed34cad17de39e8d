#include "runtime/gpu/executor.h"

#include "codegen/device/index_error.h"
#include "codegen/launch_name.h"
#include "ir/origin_name.h"
#include "ir/support/error.h"
#include "runtime/strided_copy.h"

#include <algorithm>
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
    profile_.push_back({plan.steps[i].node, bound_.back().name, launch.kernel.kind, launch.kernel.traffic, {}});
  }
  copies_over_host_ =
      !std::ranges::all_of(plan.state_copies, [&](const StateCopy& copy) { return is_row_major(copy); });
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
  const int64_t scratch = launch.by_library ? 0 : cuda::scratch_bytes(launch.kernel);
  CHECK(step.scratch_bytes >= scratch, "{} bytes of scratch planned for {}, {} needed", step.scratch_bytes,
        op_name(graph_.node(step.node).op), scratch);
  const Origin& origin = graph_.node(step.node).origin;
  Bound bound;
  bound.node = step.node;
  bound.name = launch_name(bound_.size(), launch.kernel.label, origin);
  bound.stages = launch.stages;
  bound.update = origin.phase == Phase::optimizer;
  for (const KernelBuffer& buffer : launch.kernel.buffers) {
    bound.addresses.push_back(address(buffer.value));
    bound.ranges.push_back(range(buffer.value));
  }
  if (launch.by_library)
    bound.contraction =
        device_.contraction(launch.kernel, bound.addresses, {arena_ + step.scratch_offset, step.scratch_bytes});
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

void GpuExecutor::enqueue(Bound& bound) {
  if (bound.contraction) return bound.contraction->enqueue();
  std::vector<void*> arguments;
  for (std::byte*& address : bound.addresses) arguments.push_back(static_cast<void*>(&address));
  for (const cuda::Stage& stage : bound.stages) device_.launch(stage, arguments.data(), bound.ranges);
}

void GpuExecutor::enqueue(const Part& part) {
  for (Bound& bound : bound_)
    if (belongs(part, bound.update)) enqueue(bound);
  if (!copies_over_host_) copy_states(part);
}

// Times are read once everything is enqueued, so that the device never waits for the host.
void GpuExecutor::enqueue_timed(const Part& part) {
  std::vector<int> marks{device_.mark()};
  for (Bound& bound : bound_) {
    if (!belongs(part, bound.update)) continue;
    device_.begin_range(bound.name);
    enqueue(bound);
    device_.end_range();
    marks.push_back(device_.mark());
  }
  if (!copies_over_host_) copy_states(part);
  auto end = marks.begin();
  for (size_t i = 0; i < bound_.size(); ++i) {
    if (!belongs(part, bound_[i].update)) continue;
    const int begin = *end++;
    profile_[i].samples_us.push_back(static_cast<float>(device_.elapsed_us(begin, *end)));
  }
  device_.forget_marks();
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

void GpuExecutor::run(Part& part) {
  if (profiling_) {
    enqueue_timed(part);
  } else if (!part.has_run) {
    enqueue(part);
  } else {
    if (!part.recorded) part.recorded = device_.record([this, &part] { enqueue(part); });
    part.recorded->enqueue();
  }
  part.has_run = true;
  check_indices();
  if (copies_over_host_) copy_states(part);
}

bool GpuExecutor::in_update(ValueId id) const {
  const Node* producer = graph_.producer(id);
  return producer != nullptr && producer->origin.phase == Phase::optimizer;
}

// In their order: one may read what a later one writes.
void GpuExecutor::copy_states(const Part& part) {
  for (const StateCopy& copy : plan_.state_copies) {
    if (!belongs(part, in_update(copy.from))) continue;
    if (is_row_major(copy))
      device_.copy(address(copy.state), address(copy.from), graph_.type(copy.from).bytes());
    else
      device_.upload(address(copy.state), read(copy.from).bytes());
  }
}

bool GpuExecutor::is_row_major(const StateCopy& copy) const {
  return stepc::is_row_major(plan_.layout_of_value[static_cast<size_t>(copy.from.index)], graph_.type(copy.from).shape);
}

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
  if (stepc::is_row_major(layout, type.shape)) {
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
