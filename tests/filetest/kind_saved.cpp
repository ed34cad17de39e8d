#include "ir/parser.h"
#include "ir/support/error.h"
#include "passes/analysis/saved.h"
#include "passes/registry.h"
#include "passes/runner.h"
#include "tests/filetest/filetest.h"

namespace stepc::filetest {

// The saved-tensor listing, one line per save and load. `saved="eager"` takes the graph as it was imported,
// `saved="compiled"` the graph after `passes`. The loss is the sum, and nothing is updated.
std::string run_saved(const File& file, const Case& test) {
  TrainOptions options;
  options.loss.kind = LossKind::sum;
  options.optimizer.kind = OptimizerKind::none;
  options.want_grad_norm = false;
  options.grad_inputs = "*";
  Graph graph = parse(test.input);
  SavedListing listing;
  if (file.setting("saved") == "eager") {
    listing = eager_saved_tensors(graph, options);
  } else {
    PassContext context(options);
    run_passes(graph, parse_pipeline(file.setting("passes")), context);
    listing = saved_tensors(graph, Layouts(graph));
  }
  std::string text;
  for (const SavedTensor& tensor : listing.saved)
    text += fmt::format("save {} {} {} for {}{}\n", tensor.block, to_string(tensor.type), tensor.name, tensor.op,
                        !tensor.reference      ? fmt::format(", new {} bytes", tensor.new_bytes)
                        : tensor.input.empty() ? std::string()
                                               : fmt::format(", input {}", tensor.input));
  for (const std::string& block : listing.loads) text += fmt::format("load {}\n", block);
  return text;
}

}  // namespace stepc::filetest
