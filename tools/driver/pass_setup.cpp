#include "tools/driver/pass_setup.h"

#include "tools/driver/device_spec.h"
#include "tools/driver/io/files.h"

namespace stepc {
namespace {

constexpr size_t kLargestEdgeFile = 1 << 24;  // more than a line for each edge of the largest zoo model

TrainOptions with_overrides(const DriverOptions& options) {
  TrainOptions train = options.train_options();
  if (!options.fuse_edges.empty())
    train.fuse_edges = parse_fusion_overrides(read_text_file(options.fuse_edges, kLargestEdgeFile), options.fuse_edges);
  return train;
}

}  // namespace

PassSetup::PassSetup(const DriverOptions& options) : train(with_overrides(options)), context(train) {
  context.device = load_device_spec(options.device);
}

}  // namespace stepc
