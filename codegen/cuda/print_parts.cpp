#include "codegen/cuda/print_kernel.h"
#include "ir/support/error.h"

#include <map>
#include <string>

namespace stepc::cuda {

// One function per distinct part, and ranges of blocks that are whole parts:
//
//   struct Parts {
//     static __device__ __noinline__ void part0(const float* b0, float* b1, ..., int block_index, int block_count) {
//     ... }
//   };
//   if (block_index < 3) return Parts::part0(b0, b1, ..., block_index, 3);
//   if (block_index < 5) return Parts::part0(b7, b8, ..., block_index - 3, 2);
std::vector<StageText> print_parts(const Kernel& kernel, std::span<const int64_t> alignments) {
  StageText joint;
  Text functions, calls;
  std::map<std::string, size_t> known;
  size_t first = 0;
  int64_t blocks = 0;
  functions.open("struct Parts");
  for (const Kernel& part : std::get<PartsWork>(kernel.work).parts) {
    const size_t count = part.buffers.size();
    std::vector<StageText> stages = print_stages(part, alignments.subspan(first, count));
    CHECK(stages.size() <= 1, "a part of {} launches", stages.size());
    for (const StageText& stage : stages) {
      CHECK(stage.threads == joint.threads || blocks == 0, "parts of {} and {} threads", stage.threads, joint.threads);
      joint.threads = stage.threads;
      const std::string parameters = buffer_parameters(part);
      const auto [function, added] = known.try_emplace(parameters + stage.body.str(), known.size());
      if (added) {
        functions.open(
            "static __device__ __noinline__ void part{}({}, StepcIndexError* error, int block_index, int block_count)",
            function->second, parameters);
        functions.paste(stage.body.str());
        functions.close();
      }
      std::string arguments;
      for (size_t i = 0; i < count; ++i) arguments += fmt::format("b{}, ", first + i);
      calls.line("if (block_index < {}) return Parts::part{}({}error, block_index - {}, {});", blocks + stage.grid,
                 function->second, arguments, blocks, stage.grid);
      blocks += stage.grid;
    }
    first += count;
  }
  functions.close("};");
  if (blocks == 0) return {};
  joint.grid = blocks;
  joint.body.paste(functions.str());
  joint.body.paste(calls.str());
  std::vector<StageText> result;
  result.push_back(std::move(joint));
  return result;
}

}  // namespace stepc::cuda
