#pragma once

#include "tools/driver/backend.h"
#include "tools/driver/data.h"
#include "tools/driver/model.h"
#include "tools/driver/report.h"

#include <cstdint>
#include <functional>
#include <string>

namespace stepc {

// A training run in progress: a step on a backend with its weights, state and data.
class Session {
 public:
  Session(const Model& model, const Step& step, Backend& backend, const DataSource& data, int64_t accumulate);

  // Initial weights from the model, zero state, random masks from the seed; or, for resume, everything from a saved
  // file.
  void initialize(uint64_t seed);
  void resume(const std::string& path);
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
  std::optional<std::string> output_of(OutputRole role) const;

  const Model& model_;
  const Step& step_;
  Backend& backend_;
  const DataSource& data_;
  int64_t accumulate_;
  int64_t steps_done_ = 0;
  RunFigures figures_;
};

}  // namespace stepc
