#pragma once

#include "tools/driver/compiled.h"
#include "tools/driver/target_code.h"

#include <filesystem>
#include <string>
#include <vector>

namespace stepc {

// The folder of `compile -o`: graph.ir, plan.json, report.json, kernels/ and, where there are weights,
// weights.safetensors. Its parts are written inside it under another name and moved into place once all are complete,
// replacing those of an older compile; other files there stay.
class CompiledFolder {
 public:
  // Throws UserError where the folder cannot be made or written.
  explicit CompiledFolder(const std::string& folder);
  ~CompiledFolder();  // removes what was not committed
  CompiledFolder(const CompiledFolder&) = delete;
  CompiledFolder& operator=(const CompiledFolder&) = delete;

  // `kernels`: the files of kernels/.
  void write(const Report& report, const std::vector<CompiledCode::File>& kernels);

 private:
  void commit();

  std::filesystem::path folder_;
  std::filesystem::path staging_;
  bool is_new_ = false;
};

// The options with those of the training step as they were when the folder (options.model) was compiled: data depends
// on them, and the report repeats them; the target too, unless the command line has one. Throws UserError where the
// folder was not written by `compile`.
DriverOptions with_compiled_options(DriverOptions options);

// Reads such a folder back for `run`. Throws UserError where a part is missing, damaged or of another step.
CompiledStep read_compiled(const DriverOptions& options, const LibraryScratch* scratch);

}  // namespace stepc
