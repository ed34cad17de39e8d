#pragma once

#include "passes/pass.h"
#include "tools/driver/options.h"

namespace stepc {

// What passes read of a command line, besides the graph.
struct PassSetup {
  explicit PassSetup(const DriverOptions& options);  // reads the files of --fuse-edges and --device-spec
  PassSetup(const PassSetup&) = delete;
  PassSetup& operator=(const PassSetup&) = delete;

  const TrainOptions train;
  PassContext context;  // of `train`
};

}  // namespace stepc
