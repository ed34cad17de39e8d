#pragma once

#include "tools/driver/backend.h"
#include "tools/driver/data.h"
#include "tools/driver/io/safetensors.h"
#include "tools/driver/io/tensor_source.h"
#include "tools/driver/model.h"
#include "tools/driver/report.h"

#include <cstdint>
#include <string>

namespace stepc {

// A file of --save, checked against a step. Throws UserError where it lacks a weight or state of the step, or has it in
// another type.
class SavedRun {
 public:
  SavedRun(const std::string& path, const Graph& graph);

  int64_t steps_done() const { return steps_done_; }
  TensorView saved(const GraphInput& input) const;

 private:
  SafetensorsFile file_;
  int64_t steps_done_ = 0;
};

// A training run in progress: a step on a backend with its weights, state and data.
class Session {
 public:
  Session(const Model& model, const Step& step, Backend& backend, const DataSource& data, int64_t accumulate);

  // Initial weights from the model, zero state, random masks from the seed; or everything from a saved run.
  void initialize(uint64_t seed);
  void resume(const SavedRun& saved);
  // Weights under their initializers' names and layouts, optimizer state, step count and seed: what `resume` needs.
  void save(const std::string& path) const;

  // Runs one step; returns its loss.
  void run_step();
  int64_t steps_done() const { return steps_done_; }
  const RunFigures& figures() const { return figures_; }
  RunFigures& figures() { return figures_; }

  bool has_weight(const std::string& name) const;
  Tensor weight(const std::string& name) const { return backend_.persistent(name); }

  // --outputs and --dump-weights.
  void write_outputs(const std::string& path) const;
  void write_weights(const std::string& path) const;

 private:
  void copy_weights();  // into the states that begin as copies of them
  std::optional<std::string> output_of(OutputRole role) const;
  TensorSource persistent_source(std::string name, const GraphInput& input) const;

  const Model& model_;
  const Step& step_;
  Backend& backend_;
  const DataSource& data_;
  int64_t accumulate_;
  int64_t steps_done_ = 0;
  RunFigures figures_;
};

}  // namespace stepc
