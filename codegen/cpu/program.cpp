#include "codegen/cpu/program.h"

#include "codegen/cpu/print_kernel.h"
#include "ir/kernel/loops.h"
#include "ir/support/hash.h"

#include <set>
#include <string_view>

namespace stepc {

extern const std::string_view cpu_device_source[];
extern const std::string_view* const cpu_device_source_end;

namespace cpu {
namespace {

// Some tenths of a second to compile; small enough for two processors to share a step.
constexpr size_t kUnitBytes = 24000;

}  // namespace

KernelFunction print_function(const Kernel& kernel) {
  Text body;
  print_body(body, kernel);
  const std::string symbol =
      fmt::format("{}_{}_{}", kernel_kind_name(kernel.kind), kernel.label, digest(body.str()).substr(0, 12));
  Text text;
  text.open("extern \"C\" void {}(const StepcKernelArgs* args)", symbol);
  text.paste(body.str());
  text.close();
  return {symbol, text.str()};
}

Kernel describe(const Graph& graph, NodeId node, const LayoutOf& layouts, Products products) {
  Kernel kernel = describe_kernel(graph, node, layouts);
  if (products == Products::generated && kernel.kind == KernelKind::convolution)
    return describe_loops(graph, node, layouts);
  return kernel;
}

Program generate(const Graph& graph, const Plan& plan, Products products) {
  Program program;
  std::set<std::string> known;
  const LayoutOf layouts = layouts_of(plan);
  for (const PlanStep& step : plan.steps) {
    Launch launch{describe(graph, step.node, layouts, products), {}};
    if (products == Products::generated || !launch.kernel.is_library()) {
      KernelFunction function = print_function(launch.kernel);
      launch.symbol = function.symbol;
      if (known.insert(function.symbol).second) program.functions.push_back(std::move(function));
    }
    program.launches.push_back(std::move(launch));
  }
  return program;
}

std::vector<std::string> translation_units(std::span<const KernelFunction> functions) {
  std::string prologue;
  for (const std::string_view* part = cpu_device_source; part != cpu_device_source_end; ++part) prologue += *part;
  prologue += "\nusing namespace stepc_device;\n";

  std::vector<std::string> units;
  std::set<std::string_view> known;
  for (const KernelFunction& function : functions) {
    if (!known.insert(function.symbol).second) continue;
    if (units.empty() || units.back().size() >= prologue.size() + kUnitBytes) units.push_back(prologue);
    units.back() += "\n" + function.text;
  }
  return units;
}

}  // namespace cpu
}  // namespace stepc
