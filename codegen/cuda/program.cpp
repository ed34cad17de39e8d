#include "codegen/cuda/program.h"

#include "codegen/cuda/print_kernel.h"
#include "codegen/cuda/print_linear_cross_entropy.h"
#include "codegen/scalar_text.h"
#include "ir/support/error.h"
#include "ir/support/hash.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <string_view>

namespace stepc {

extern const std::string_view cuda_device_source[];
extern const std::string_view* const cuda_device_source_end;

namespace cuda {
namespace {

constexpr int64_t kArenaAlignment = 256;  // of a device's allocations
constexpr int64_t kVectorBytes = 16;      // the widest access
// A few functions; NVRTC reads the device functions again in each unit.
constexpr size_t kUnitBytes = 12000;

// The bytes that a value's address is a multiple of.
int64_t alignment_of(const Graph& graph, const Plan& plan, ValueId value) {
  const auto index = static_cast<size_t>(value.index);
  const PlannedBlock& block = plan.blocks[static_cast<size_t>(plan.block_of_value[index])];
  const int64_t offset = plan.layout_of_value[index].offset * dtype_bytes(graph.dtype(value));
  return std::gcd(kArenaAlignment, block.offset + offset);
}

// A stage whose products are of tiles in dynamic shared memory takes half a second of the compiler's time; others take
// less than a tenth.
bool is_slow_to_compile(const StageText& stage) { return stage.shared_bytes > 0; }

// Pointers whose alignment makes whole vectors certain, for the compiler to leave out what copies single elements to
// tiles. What has no tiles is printed with or without vectors.
std::string aligned_pointers(const StageText& stage, std::span<const int64_t> alignments) {
  if (stage.shared_bytes == 0) return {};
  std::string text = fmt::format("scratch = known_aligned<{}>(scratch);\n", kVectorBytes);
  for (size_t i = 0; i < alignments.size(); ++i)
    if (alignments[i] % kVectorBytes == 0) text += fmt::format("b{0} = known_aligned<{1}>(b{0});\n", i, kVectorBytes);
  return text;
}

// System headers are the host compiler's.
std::string without_includes(std::string_view source) {
  std::string text;
  while (!source.empty()) {
    const size_t end = std::min(source.find('\n'), source.size() - 1);
    const std::string_view line = source.substr(0, end + 1);
    if (!line.starts_with("#include")) text += line;
    source.remove_prefix(end + 1);
  }
  return text;
}

}  // namespace

std::string buffer_parameters(const Kernel& kernel) {
  std::string text;
  for (size_t i = 0; i < kernel.buffers.size(); ++i)
    text += fmt::format("{}{}{}* b{}", i == 0 ? "" : ", ", kernel.buffers[i].written ? "" : "const ",
                        storage_type(kernel.buffers[i].dtype), i);
  return text;
}

KernelFunctions print_functions(const Kernel& kernel, std::span<const int64_t> alignments) {
  KernelFunctions result;
  const std::string parameters = buffer_parameters(kernel);
  for (const StageText& stage : print_stages(kernel, alignments)) {
    const std::string body = aligned_pointers(stage, alignments) + stage.body.str();
    const std::string key = fmt::format("{} {} {}", parameters, stage.threads, body);
    const std::string symbol =
        fmt::format("{}_{}_{}", kernel_kind_name(kernel.kind), kernel.label, digest(key).substr(0, 12));
    Text text;
    text.open("extern \"C\" __global__ void __launch_bounds__({}, 1) {}({}, char* scratch, StepcIndexError* error)",
              stage.threads, symbol, parameters);
    text.raw("const int block_index = blockIdx.x, block_count = gridDim.x;");
    text.paste(body);
    text.close();
    result.functions.push_back({symbol, text.str(), is_slow_to_compile(stage)});
    result.stages.push_back({symbol, stage.grid, stage.threads, stage.shared_bytes});
  }
  return result;
}

Program generate(const Graph& graph, const Plan& plan, const LibraryRule& by_library) {
  Program program;
  std::set<std::string> known;
  const LayoutOf layouts = layouts_of(plan);
  for (const PlanStep& step : plan.steps) {
    Launch& launch = program.launches.emplace_back();
    launch.kernel = describe_kernel(graph, step.node, layouts);
    launch.by_library = by_library && by_library(launch.kernel);
    if (launch.by_library) continue;
    std::vector<int64_t> alignments;
    for (const KernelBuffer& buffer : launch.kernel.buffers)
      alignments.push_back(alignment_of(graph, plan, buffer.value));
    KernelFunctions printed = print_functions(launch.kernel, alignments);
    launch.stages = std::move(printed.stages);
    for (Function& function : printed.functions)
      if (known.insert(function.symbol).second) program.functions.push_back(std::move(function));
  }
  return program;
}

int64_t scratch_bytes(const Kernel& kernel) {
  return kernel.kind == KernelKind::linear_cross_entropy ? linear_cross_entropy_scratch_bytes(kernel)
                                                         : kernel.scratch_bytes;
}

std::vector<std::string> translation_units(std::span<const Function> functions) {
  std::string prologue;
  for (const std::string_view* part = cuda_device_source; part != cuda_device_source_end; ++part)
    prologue += without_includes(*part);
  prologue += "\nusing namespace stepc_device;\n";

  // The slow ones first: what is begun last should be short.
  std::vector<std::string> units, quick;
  std::set<std::string_view> known;
  for (const Function& function : functions) {
    if (!known.insert(function.symbol).second) continue;
    if (function.slow_to_compile) {
      units.push_back(prologue + "\n" + function.text);
      continue;
    }
    if (quick.empty() || quick.back().size() >= prologue.size() + kUnitBytes) quick.push_back(prologue);
    quick.back() += "\n" + function.text;
  }
  std::ranges::move(quick, std::back_inserter(units));
  return units;
}

}  // namespace cuda
}  // namespace stepc
