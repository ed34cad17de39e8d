#pragma once

#include "ir/kernel.h"
#include "runtime/profile.h"
#include "tools/driver/report.h"
#include "tools/driver/step.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stepc {

// A launch of the plan, as its target carries it out.
struct LaunchCode {
  const Kernel* kernel;
  std::string symbol;  // of its generated function; empty where a library does it
  int64_t launches = 1;
  std::vector<KernelCode> code{};
};

// Kernels of a step as rows of the report: launches of the same kernel in the same phase and in corresponding places of
// the layers are one row.
struct KernelRows {
  // One launch per step of the plan.
  KernelRows(const Step& step, const std::vector<LaunchCode>& launches, int64_t accumulate);

  std::vector<KernelRow> rows;  // not measured yet
  std::vector<size_t> row_of_launch;
  int64_t accumulate = 1;

  // How often a row's launches run in one step.
  int64_t runs(const KernelRow& row) const { return row.phase == Phase::optimizer ? 1 : accumulate; }
  // The rows with what launches took, one profile per step of the plan.
  std::vector<KernelRow> measured(const std::vector<LaunchProfile>& profile) const;
};

}  // namespace stepc
