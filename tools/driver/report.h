#pragma once

#include "ir/cost/roofline.h"
#include "passes/analysis/saved.h"
#include "tools/driver/model.h"
#include "tools/driver/options.h"
#include "tools/driver/step.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace stepc {

// One launch of generated code as the device sees it.
struct KernelCode {
  std::string symbol;
  int64_t grid = 0, threads = 0;  // blocks, and threads of each
  // What the assembler said, where there is a cubin; per thread, and shared memory per block with its dynamic part.
  struct Figures {
    int64_t registers = 0, stack_bytes = 0, spill_bytes = 0, shared_bytes = 0;
    double occupancy = 0;           // share of the threads that a multiprocessor can hold
    std::string occupancy_bound{};  // what stands in the way of more
  };
  std::optional<Figures> figures{};
};

// One row of the kernel table: launches of one kernel in corresponding places of the layers.
struct KernelRow {
  std::string name, kind, scope;  // name as layer_launch_name has it
  std::string source;             // symbol of the generated function; empty where a library does it
  Phase phase{};
  std::vector<std::string> onnx;
  std::vector<KernelCode> code;  // of one launch on a device that runs CUDA, stage by stage
  int64_t count = 0;
  int64_t flops = 0;
  int64_t read_bytes = 0, write_bytes = 0, ideal_bytes = 0;
  double predicted_us = 0;            // all launches of the row in one step
  Bound bound{};                      // of its first launch
  std::optional<double> measured_us;  // all launches of the row in one step, median over the timed steps
};

struct StepTime {
  double min_us = 0, median_us = 0, max_us = 0;
};

// What running the step measured.
struct RunFigures {
  std::vector<double> losses, grad_norms;
  std::vector<double> loss_scales;  // fp16: the scale of each step, and the steps that changed nothing, from 1
  std::vector<int64_t> skipped_steps;
  std::optional<StepTime> time;
  std::optional<double> tokens_per_s;
  std::optional<int64_t> measured_peak_bytes, fixed_bytes;
};

// Everything the report is made of; absent parts are null in it.
struct Report {
  const DriverOptions& options;
  const Model& model;
  const Step* step = nullptr;
  std::vector<KernelRow> kernels{};
  std::optional<double> compile_us{};
  std::optional<int64_t> cache_hits{};
  std::vector<std::string> notes{};  // of how its kernels came about
  std::optional<RunFigures> run{};
};

// The document of docs: schema stepc-report/1.
nlohmann::ordered_json report_json(const Report& report);
nlohmann::ordered_json saved_json(const Graph& graph, const SavedListing& listing);

// --json: to a file, or to standard output for "-".
void write_json(const std::string& target, const nlohmann::ordered_json& document);

}  // namespace stepc
