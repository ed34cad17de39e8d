#include "tools/driver/compiled.h"

namespace stepc {

void refuse_precision_of_other_targets(const DriverOptions& options) {
  if (options.train.precision == Precision::tf32 && !options.runs_cuda())
    user_error("--precision tf32 is for targets cuda and simt; on target {} use fp32, bf16 or fp16",
               target_name(options.target));
}

CompiledStep compile_step(Model model, const DriverOptions& options, const LibraryScratch* scratch) {
  refuse_precision_of_other_targets(options);
  CompiledStep compiled{std::move(model), {}};
  compiled.step = build_step(compiled.model, options, scratch);
  return compiled;
}

}  // namespace stepc
