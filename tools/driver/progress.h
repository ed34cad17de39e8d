#pragma once

#include "tools/driver/options.h"
#include "tools/driver/report.h"

#include <chrono>
#include <cstdint>

namespace stepc {

// Steps done, loss and time left, on standard error: on a terminal in one line that is rewritten, in a pipe nothing.
class Progress {
 public:
  Progress(const DriverOptions& options, int64_t steps);
  void step(int64_t done, const RunFigures& figures);
  void finish();

 private:
  bool shown_;
  int64_t steps_;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace stepc
