#include "tools/driver/compiled.h"

namespace stepc {

CompiledStep compile_step(Model model, const DriverOptions& options, const LibraryScratch* scratch) {
  CompiledStep compiled{std::move(model), {}};
  compiled.step = build_step(compiled.model, options, scratch);
  return compiled;
}

}  // namespace stepc
