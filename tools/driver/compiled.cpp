#include "tools/driver/compiled.h"

#include "ir/support/error.h"
#include "models/atomic_file.h"
#include "passes/registry.h"
#include "tools/driver/dump.h"
#include "tools/driver/io/files.h"
#include "tools/driver/io/safetensors.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <list>

namespace stepc {
namespace {

using Json = nlohmann::ordered_json;

std::string_view memory_class_name(MemoryClass memory_class) {
  switch (memory_class) {
    case MemoryClass::weight: return "weight";
    case MemoryClass::gradient: return "gradient";
    case MemoryClass::optimizer: return "optimizer";
    case MemoryClass::activation: return "activation";
    case MemoryClass::temporary: break;
  }
  return "temporary";
}

Json plan_json(const Step& step) {
  const Plan& plan = *step.plan;
  Json blocks = Json::array();
  for (const PlannedBlock& block : plan.blocks)
    if (block.bytes > 0)
      blocks.push_back({{"value", step.graph.value(block.owner).name},
                        {"bytes", block.bytes},
                        {"class", memory_class_name(block.memory_class)},
                        {"persistent", block.persistent},
                        {"offset", block.offset},
                        {"first", block.first},
                        {"last", block.last}});
  Json steps = Json::array();
  for (const PlanStep& launch : plan.steps) {
    const Node& node = step.graph.node(launch.node);
    steps.push_back({{"op", op_name(node.op)},
                     {"phase", phase_name(node.origin.phase)},
                     {"scope", node.origin.scope},
                     {"scratch_offset", launch.scratch_offset},
                     {"scratch_bytes", launch.scratch_bytes}});
  }
  return {{"schema", "stepc-plan/1"},
          {"arena_bytes", plan.arena_bytes},
          {"persistent_bytes", plan.persistent_bytes},
          {"max_live_lower_bound", plan.max_live_lower_bound},
          {"blocks", std::move(blocks)},
          {"steps", std::move(steps)}};
}

void write_initial_weights(const std::string& path, const Model& model, const Graph& graph) {
  std::list<Tensor> tensors;
  std::vector<std::pair<std::string, TensorView>> views;
  for (const GraphInput& input : graph.inputs())
    if (input.role == InputRole::weight) {
      tensors.push_back(initial_weight(model, input));
      views.emplace_back(input.name, tensors.back().view());
    }
  write_safetensors(path, views, {{"format", "stepc"}});
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) user_error("cannot create {}: {}", folder.string(), error.message());
}

int64_t read_accumulate(const std::string& path) {
  const Json report = Json::parse(read_text_file(path), nullptr, /*allow_exceptions=*/false);
  const Json* options = report.is_object() && report.contains("options") ? &report["options"] : nullptr;
  if (options == nullptr || !options->is_object() || !options->contains("accumulate") ||
      !(*options)["accumulate"].is_number_integer() || (*options)["accumulate"] < 1)
    user_error("{}: not a report of stepc compile", path);
  return (*options)["accumulate"];
}

}  // namespace

CompiledStep compile_step(Model model, const DriverOptions& options, const LibraryScratch* scratch) {
  CompiledStep compiled{std::move(model), {}, options.train.accumulate};
  compiled.step = build_step(compiled.model, options, scratch);
  return compiled;
}

void write_compiled(const std::string& folder, const Report& report, const cpu::Program* program) {
  make_folder(folder);
  write_graph(folder + "/graph.ir", report.step->graph);
  if (report.step->plan) write_file_atomically(folder + "/plan.json", plan_json(*report.step).dump(1) + "\n");
  write_json(folder + "/report.json", report_json(report));
  if (program != nullptr) {
    make_folder(folder + "/kernels");
    const std::vector<std::string> units = cpu::translation_units(program->functions);
    for (size_t i = 0; i < units.size(); ++i)
      write_file_atomically(fmt::format("{}/kernels/unit{:02}.cpp", folder, i), units[i]);
  }
  if (report.model.can_run()) write_initial_weights(folder + "/weights.safetensors", report.model, report.step->graph);
}

CompiledStep read_compiled(const DriverOptions& options, const LibraryScratch* scratch) {
  const std::string& folder = options.model;
  CompiledStep compiled;
  compiled.model.name = std::filesystem::path(folder).filename().string();
  compiled.model.source = "compiled";
  compiled.accumulate = read_accumulate(folder + "/report.json");
  compiled.step.graph = read_graph(folder + "/graph.ir");

  ImportedModel& import = compiled.model.import;
  const std::string weights = folder + "/weights.safetensors";
  import.weights_present = std::filesystem::exists(weights);
  const auto file = import.weights_present ? std::make_shared<SafetensorsFile>(weights) : nullptr;
  for (const GraphInput& input : compiled.step.graph.inputs()) {
    if (input.role != InputRole::weight) continue;
    const TensorView* data = file ? file->find(input.name) : nullptr;
    if (file && data == nullptr) user_error("{} lacks '{}'", weights, input.name);
    const Type& type = compiled.step.graph.type(input.value);
    if (data != nullptr && data->type.shape != type.shape)
      user_error("{}: '{}' is {}, the graph has {}", weights, input.name, to_string(data->type), to_string(type));
    import.initializers.push_back({input.initializer,
                                   input.name,
                                   type,
                                   input.trainable,
                                   "compiled",
                                   {},
                                   false,
                                   data ? std::optional(*data) : std::nullopt});
  }
  import.file = file;
  if (!options.weights.empty() && !file) compiled.model.random_seed = parse_weights(options.weights);

  const TrainOptions train = options.train_options();
  PassContext context(train);
  context.scratch = scratch;
  compiled.step.passes = run_passes(compiled.step.graph, parse_pipeline("schedule,plan-memory"), context, {});
  compiled.step.saved = saved_tensors(compiled.step.graph, Layouts(compiled.step.graph));
  compiled.step.plan = std::move(context.plan);
  return compiled;
}

}  // namespace stepc
