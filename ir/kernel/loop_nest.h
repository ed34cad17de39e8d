#pragma once

#include "ir/kernel.h"
#include "ir/kernel/trace.h"

#include <cstdint>
#include <vector>

namespace stepc {

// What a loop nest must compute: `results[i]`, a value inside the scope, goes to `outputs[i]`, a value of the outer
// graph. A result has the iteration shape, or that shape with the reduced axes dropped, or a reshape of either.
struct NestRequest {
  KernelScope scope;
  Shape iteration;
  std::vector<bool> reduced;  // per axis of the iteration shape
  std::vector<ValueId> results;
  std::vector<ValueId> outputs;
};

// Fills work, buffers and schedule. Throws Untraceable.
Kernel describe_nest(const NestRequest& request, const LayoutOf& layouts);

// What a scalar is computed from: its arguments, or the scalars that its source needs. All precede it in the DAG.
std::vector<ScalarId> operands_of(const LoopNest& nest, ScalarId id);

// Per scalar node: bit d is set where its value varies along dim d.
std::vector<uint64_t> dependencies(const LoopNest& nest);
uint64_t dependencies(const IndexForm& form, const std::vector<uint64_t>& scalars);

// Per scalar node: whether it waits for a result of `columns`.
std::vector<bool> after_columns(const LoopNest& nest);

// Where the partial results of nest.columns[column] begin in scratch, one per segment of rows and point of a row; with
// `column` one past the last, the bytes of all.
int64_t column_scratch(const LoopNest& nest, size_t column);

// Per reduction: how many reductions must be known before it can run. Reductions of one depth share a pass.
std::vector<int> reduction_depths(const LoopNest& nest);

// Reads, writes and FLOPs of a nest. `element_counts`: elements of each buffer's tensor.
KernelTraffic nest_traffic(const Kernel& kernel, const std::vector<int64_t>& element_counts);

}  // namespace stepc
