#pragma once

#include "ir/support/error.h"
#include "models/zoo/zoo.h"
#include "passes/options.h"
#include "runtime/cuda/architecture.h"
#include "runtime/simt/order.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace stepc {

// A command line that says too little or too much. Exit status 2.
class UsageError : public UserError {
 public:
  using UserError::UserError;
};

// Far beyond what anyone waits for, and products of the two fit 64 bits.
constexpr int64_t kMostSteps = int64_t{1} << 40;
constexpr int64_t kMostMicroSteps = int64_t{1} << 20;

enum class Target : uint8_t { cpu, interpreter, cuda, simt };
std::string_view target_name(Target target);

struct DriverOptions;
// The value of --target: "cpu", "interpreter", or "cuda" and "simt", which may name an architecture: "simt:sm_90".
void parse_target(const std::string& text, DriverOptions& options);

// Everything a command line can say, as the contract of commands and options has it. Each command declares the part it
// reads; the rest keeps these defaults.
struct DriverOptions {
  std::string model;   // .onnx file, zoo name, .ir text, or (run) a compiled directory
  std::string output;  // -o

  std::set<std::string> given;  // names of the options on the command line: "--lr"

  // --- model
  std::map<std::string, int64_t> dims;
  ZooOverrides zoo;
  std::string weights;    // "none", "random", "random:SEED"; empty: the command's default
  std::string trainable;  // comma-separated globs; empty: as the importer decides
  std::string frozen;

  // --- step
  TrainOptions train;
  std::optional<double> lr;    // over train.optimizer.lr
  std::string fuse_edges;      // file of overrides
  std::string device = "cpu";  // --device-spec: a built-in device or a file
  Target target = Target::cpu;
  cuda::Architecture architecture{9, 0};            // targets cuda and simt
  bool library_contractions = true;                 // target cuda: by cuBLASLt what it takes
  simt::Order simt_order = simt::Order::ascending;  // of the threads of target simt; `check` runs all
  int threads = 0;                                  // 0: all cores
  uint64_t seed = 0;

  // --- passes
  std::string stop_after;
  std::vector<std::string> skip;
  std::optional<int64_t> bisect;
  std::string dump_after;  // PASS, "all" or "all=DIR"
  bool dump_onnx = false;
  bool plan_only = false;

  // --- data and steps (run)
  std::string data;
  std::string token_dtype;
  int64_t steps = 1;
  int64_t warmup = 0;
  std::string save, resume, outputs, dump_weights;
  bool keep_outputs = false;  // the model's outputs stay outputs of the step (also with --outputs)

  // --- saved, check, opt, doctor
  std::string stage = "compiled";
  std::string golden, param_map;
  std::string passes;
  bool list_passes = false;
  bool calibrate = false;

  // --- output
  std::string json;
  bool quiet = false;
  bool verbose = false;
  bool progress = true;

  int thread_count() const;            // resolved
  TrainOptions train_options() const;  // resolved: --lr applied
  bool runs_cuda() const { return target == Target::cuda || target == Target::simt; }
  bool plans_library() const { return target == Target::cuda && library_contractions; }
};

// The groups of options that commands share. Options and values of later releases are known but refused as "not
// available yet", and stay out of the help.
void add_model_options(CLI::App& app, DriverOptions& options);
void add_step_options(CLI::App& app, DriverOptions& options);
void add_pass_options(CLI::App& app, DriverOptions& options);
void add_data_options(CLI::App& app, DriverOptions& options);
void add_run_options(CLI::App& app, DriverOptions& options);  // data options among them
void add_output_options(CLI::App& app, DriverOptions& options);
CLI::Option* add_thread_option(CLI::App& app, DriverOptions& options);  // a step option too

}  // namespace stepc
