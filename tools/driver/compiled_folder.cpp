#include "tools/driver/compiled_folder.h"

#include "ir/support/error.h"
#include "models/atomic_file.h"
#include "passes/registry.h"
#include "tools/driver/device_spec.h"
#include "tools/driver/dump.h"
#include "tools/driver/io/files.h"
#include "tools/driver/io/safetensors.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace stepc {
namespace {

namespace fs = std::filesystem;

using Json = nlohmann::ordered_json;

// In the order in which they move into place: a folder with a report is complete.
constexpr std::array kParts{"graph.ir", "graph.ir.constants",  "plan.json",
                            "kernels",  "weights.safetensors", "report.json"};

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
  std::vector<TensorSource> tensors;
  for (const GraphInput& input : graph.inputs())
    if (input.role == InputRole::weight)
      tensors.push_back({input.name, graph.type(input.value), [&] { return initial_weight(model, input); }});
  write_safetensors(path, tensors, {{"format", "stepc"}});
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) user_error("cannot create {}: {}", folder.string(), error.message());
}

Json read_options(const std::string& path) {
  const Json report = Json::parse(read_text_file(path), nullptr, /*allow_exceptions=*/false);
  if (!report.is_object() || !report.contains("options") || !report["options"].is_object())
    user_error("{}: not a report of stepc compile", path);
  return report["options"];
}

template <typename T>
std::optional<T> optional_at(const Json& json, const char* key) {
  return json.at(key).is_null() ? std::nullopt : std::optional(json.at(key).get<T>());
}

// What the report says of the options of `compile`, the inverse of how it says it.
void restore(DriverOptions& options, const Json& from) {
  const auto text = [](const Json& json, const char* key) { return json.at(key).get<std::string>(); };
  options.trainable = text(from, "trainable");
  options.frozen = text(from, "frozen");
  TrainOptions& train = options.train;
  train.loss = {parse_loss_kind(text(from, "loss")), text(from, "logits"), text(from, "labels"),
                from.at("shift").get<bool>(), from.at("ignore_index").get<int64_t>()};
  train.grad_inputs = optional_at<std::string>(from, "grad_inputs");
  train.clip_norm = optional_at<double>(from, "clip_norm");
  train.accumulate = from.at("accumulate").get<int64_t>();
  train.dropout = text(from, "dropout") == "on";
  train.precision = parse_precision(text(from, "precision"));
  const Json& scale = from.at("loss_scale");
  train.loss_scale = {scale.at("init").get<double>(), scale.at("growth").get<double>(),
                      scale.at("backoff").get<double>(), scale.at("interval").get<int64_t>()};
  train.fuse = parse_fuse_level(text(from, "fuse"));
  train.fuse_loss = text(from, "fuse_loss") == "on";
  train.fuse_attention = from.value("fuse_attention", "on") == "on";
  train.remat = parse_remat(from.value("remat", "none"));
  const Json& optimizer = from.at("optimizer");
  const auto number = [&](const char* key) { return optimizer.at(key).get<double>(); };
  options.library_contractions = from.value("contractions", "library") == "library";
  train.optimizer = {parse_optimizer(text(optimizer, "name")).kind,
                     number("lr"),
                     number("beta1"),
                     number("beta2"),
                     number("eps"),
                     number("weight_decay"),
                     number("momentum")};
  if (options.given.contains("--target")) return;
  const std::string architecture = from.value("architecture", Json()).is_null() ? "" : ":" + text(from, "architecture");
  parse_target(text(from, "target") + architecture, options);
}

}  // namespace

CompiledFolder::CompiledFolder(const std::string& folder) : folder_(folder) {
  is_new_ = !fs::exists(folder_);
  make_folder(folder_);
  std::string name = (folder_ / ".stepc-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) user_error("cannot write into {}: {}", folder, std::strerror(errno));
  staging_ = name;
}

CompiledFolder::~CompiledFolder() {
  std::error_code ignored;
  fs::remove_all(staging_, ignored);
  if (is_new_) fs::remove(folder_, ignored);  // only where it is empty: nothing was committed
}

void CompiledFolder::write(const Report& report, const std::vector<CompiledCode::File>& kernels) {
  const std::string to = staging_.string();
  write_graph(to + "/graph.ir", report.step->graph);
  if (report.step->plan) write_file_atomically(to + "/plan.json", plan_json(*report.step).dump(1) + "\n");
  write_json(to + "/report.json", report_json(report));
  if (!kernels.empty()) make_folder(to + "/kernels");
  for (const CompiledCode::File& file : kernels)
    write_file_atomically(fmt::format("{}/kernels/{}", to, file.name), file.content);
  if (report.model.can_run()) write_initial_weights(to + "/weights.safetensors", report.model, report.step->graph);
  commit();
}

void CompiledFolder::commit() {
  std::error_code error;
  for (auto part = kParts.rbegin(); part != kParts.rend() && !error; ++part) fs::remove_all(folder_ / *part, error);
  for (auto part = kParts.begin(); part != kParts.end() && !error; ++part)
    if (fs::exists(staging_ / *part)) fs::rename(staging_ / *part, folder_ / *part, error);
  if (error) user_error("cannot write into {}: {}", folder_.string(), error.message());
}

DriverOptions with_compiled_options(DriverOptions options) {
  const std::string path = options.model + "/report.json";
  try {
    restore(options, read_options(path));
  } catch (const Json::exception&) {
    user_error("{}: not a report of stepc compile", path);
  }
  if (options.train.accumulate < 1 || options.train.accumulate > kMostMicroSteps)
    user_error("{}: accumulate is {}, expected 1 to {}", path, options.train.accumulate, kMostMicroSteps);
  return options;
}

CompiledStep read_compiled(const DriverOptions& options, const LibraryScratch* scratch) {
  const std::string& folder = options.model;
  CompiledStep compiled;
  compiled.model.name = std::filesystem::path(folder).filename().string();
  compiled.model.source = "compiled";
  compiled.step.graph = read_graph(folder + "/graph.ir");
  compiled.step.loss = options.train.loss;
  compiled.step.device = load_device_spec(options.device);
  if (compiled.step.graph.accumulates() != (options.train.accumulate > 1))
    user_error("{0}/report.json and {0}/graph.ir are of different steps; compile again", folder);

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
  context.device = compiled.step.device;
  compiled.step.passes = run_passes(compiled.step.graph, parse_pipeline("schedule,plan-memory"), context, {});
  compiled.step.saved = saved_tensors(compiled.step.graph, Layouts(compiled.step.graph));
  compiled.step.plan = std::move(context.plan);
  return compiled;
}

}  // namespace stepc
