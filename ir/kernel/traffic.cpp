#include "ir/kernel/loop_nest.h"

#include <algorithm>

namespace stepc {
namespace {

int64_t points(const LoopNest& nest, uint64_t mask) {
  int64_t count = 1;
  for (size_t d = 0; d < nest.dims.size(); ++d)
    if (mask >> d & 1) count *= nest.dims[d].extent;
  return count;
}

uint64_t affine(const IndexForm& form) {
  uint64_t mask = 0;
  for (size_t d = 0; d < form.strides.size(); ++d)
    if (form.strides[d] != 0) mask |= uint64_t{1} << d;
  return mask;
}

void add_form(std::vector<ScalarId>& to, const IndexForm& form) {
  for (const DynamicTerm& term : form.dynamic) to.push_back(term.index);
}

// Calls f on every index form of a source.
template <typename F>
void for_each_form(const Source& source, F&& f) {
  const auto guards = [&](const std::vector<Guard>& list) {
    for (const Guard& guard : list) f(guard.at);
  };
  if (const auto* load = std::get_if<LoadSource>(&source)) {
    f(load->at);
    guards(load->guards);
  } else if (const auto* coordinate = std::get_if<CoordinateSource>(&source)) {
    f(coordinate->at);
  } else if (const auto* index = std::get_if<IndexSource>(&source)) {
    guards(index->guards);
  } else if (const auto* inside = std::get_if<InsideSource>(&source)) {
    guards(inside->guards);
  } else if (const auto* random = std::get_if<RandomSource>(&source)) {
    f(random->at);
  }
}

uint64_t reduced_dims(const LoopNest& nest) {
  uint64_t mask = 0;
  for (size_t d = 0; d < nest.dims.size(); ++d)
    if (nest.dims[d].reduced) mask |= uint64_t{1} << d;
  return mask;
}

}  // namespace

std::vector<ScalarId> operands_of(const LoopNest& nest, ScalarId id) {
  const ScalarNode& node = nest.dag.node(id);
  std::vector<ScalarId> result(node.args.begin(), node.args.begin() + scalar_arity(node.op));
  if (node.op != ScalarOp::operand) return result;
  const Source& source = nest.sources[static_cast<size_t>(node.operand)];
  for_each_form(source, [&](const IndexForm& form) { add_form(result, form); });
  if (const auto* index = std::get_if<IndexSource>(&source)) result.push_back(index->raw);
  if (const auto* random = std::get_if<RandomSource>(&source)) result.push_back(random->offset);
  return result;
}

uint64_t dependencies(const IndexForm& form, const std::vector<uint64_t>& scalars) {
  uint64_t mask = affine(form);
  for (const DynamicTerm& term : form.dynamic) mask |= scalars[static_cast<size_t>(term.index.index)];
  return mask;
}

std::vector<uint64_t> dependencies(const LoopNest& nest) {
  std::vector<uint64_t> result;
  for (size_t i = 0; i < nest.dag.nodes().size(); ++i) {
    const ScalarNode& node = nest.dag.nodes()[i];
    uint64_t mask = 0;
    for (const ScalarId operand : operands_of(nest, {static_cast<int32_t>(i)}))
      mask |= result[static_cast<size_t>(operand.index)];
    if (node.op == ScalarOp::operand) {
      const Source& source = nest.sources[static_cast<size_t>(node.operand)];
      for_each_form(source, [&](const IndexForm& form) { mask |= affine(form); });
      if (const auto* reduced = std::get_if<ReducedSource>(&source)) {
        const ScalarId value = nest.reductions[static_cast<size_t>(reduced->reduction)].value;
        mask = result[static_cast<size_t>(value.index)] & ~reduced_dims(nest);
      } else if (const auto* column = std::get_if<ColumnSource>(&source)) {
        const ScalarId value = nest.columns[static_cast<size_t>(column->column)].value;
        mask = result[static_cast<size_t>(value.index)] & reduced_dims(nest);
      }
    }
    result.push_back(mask);
  }
  return result;
}

std::vector<bool> after_columns(const LoopNest& nest) {
  std::vector<bool> result;
  for (size_t i = 0; i < nest.dag.nodes().size(); ++i) {
    const ScalarNode& node = nest.dag.nodes()[i];
    const std::vector<ScalarId> operands = operands_of(nest, {static_cast<int32_t>(i)});
    const bool is_column = node.op == ScalarOp::operand &&
                           std::holds_alternative<ColumnSource>(nest.sources[static_cast<size_t>(node.operand)]);
    result.push_back(is_column || std::ranges::any_of(operands, [&](ScalarId operand) {
                       return result[static_cast<size_t>(operand.index)];
                     }));
  }
  return result;
}

std::vector<int> reduction_depths(const LoopNest& nest) {
  // The depth of a scalar: how many reductions lie behind it, one after the other.
  std::vector<int> scalars;
  std::vector<int> result(nest.reductions.size(), -1);
  const auto depth_of = [&](size_t reduction) {
    if (result[reduction] < 0) result[reduction] = scalars[static_cast<size_t>(nest.reductions[reduction].value.index)];
    return result[reduction];
  };
  for (size_t i = 0; i < nest.dag.nodes().size(); ++i) {
    const ScalarNode& node = nest.dag.nodes()[i];
    int depth = 0;
    for (const ScalarId operand : operands_of(nest, {static_cast<int32_t>(i)}))
      depth = std::max(depth, scalars[static_cast<size_t>(operand.index)]);
    if (node.op == ScalarOp::operand)
      if (const auto* reduced = std::get_if<ReducedSource>(&nest.sources[static_cast<size_t>(node.operand)]))
        depth = 1 + depth_of(static_cast<size_t>(reduced->reduction));
    scalars.push_back(depth);
  }
  for (size_t i = 0; i < result.size(); ++i) depth_of(i);
  return result;
}

KernelTraffic nest_traffic(const Kernel& kernel, const std::vector<int64_t>& element_counts) {
  const auto& nest = std::get<LoopNest>(kernel.work);
  const std::vector<uint64_t> scalars = dependencies(nest);
  std::vector<int64_t> touched(kernel.buffers.size(), 0);
  const auto touch = [&](int32_t buffer, const IndexForm& at) {
    const auto b = static_cast<size_t>(buffer);
    touched[b] = std::min(touched[b] + points(nest, dependencies(at, scalars)), element_counts[b]);
  };
  for (const Source& source : nest.sources)
    if (const auto* load = std::get_if<LoadSource>(&source)) touch(load->buffer, load->at);
  for (const Store& store : nest.stores) touch(store.buffer, store.at);

  KernelTraffic traffic;
  for (size_t b = 0; b < touched.size(); ++b) {
    const int64_t bytes = touched[b] * dtype_bytes(kernel.buffers[b].dtype);
    (kernel.buffers[b].written ? traffic.write_bytes : traffic.read_bytes) += bytes;
  }
  traffic.ideal_bytes = traffic.read_bytes + traffic.write_bytes;
  for (size_t i = 0; i < scalars.size(); ++i)
    if (const int64_t flops = scalar_flops(nest.dag.nodes()[i].op)) traffic.flops += flops * points(nest, scalars[i]);
  const auto reductions = static_cast<int64_t>(nest.reductions.size() + nest.columns.size());
  traffic.flops += reductions * nest.kept_count() * nest.reduced_count();
  return traffic;
}

}  // namespace stepc
