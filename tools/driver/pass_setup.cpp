#include "tools/driver/pass_setup.h"

#include "tools/driver/device_spec.h"
#include "tools/driver/io/files.h"

namespace stepc {
namespace {

TrainOptions with_overrides(const DriverOptions& options) {
  TrainOptions train = options.train_options();
  if (!options.fuse_edges.empty())
    train.fuse_edges = parse_fusion_overrides(read_text_file(options.fuse_edges), options.fuse_edges);
  return train;
}

}  // namespace

PassSetup::PassSetup(const DriverOptions& options) : train(with_overrides(options)), context(train) {
  context.device = load_device_spec(options.device);
}

}  // namespace stepc
