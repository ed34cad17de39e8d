#include "tools/driver/report.h"

#include "ir/support/checked.h"
#include "models/atomic_file.h"
#include "passes/memory/timeline.h"
#include "tools/driver/precision_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>

namespace stepc {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json type_json(const Type& type) { return {{"dtype", dtype_onnx_name(type.dtype)}, {"shape", type.shape.dims()}}; }

int64_t parameter_count(const ImportedModel& import, bool trainable_only) {
  int64_t count = 0;
  for (const Initializer& initializer : import.initializers)
    if (initializer.tied_to.empty() && (initializer.trainable || !trainable_only))
      count += initializer.type.shape.numel();
  return count;
}

Json model_json(const Report& report) {
  const ImportedModel& import = report.model.import;
  const Graph& graph = report.step != nullptr ? report.step->graph : import.graph;
  Json inputs = Json::array();
  for (const GraphInput& input : graph.inputs()) {
    if (input.role != InputRole::data && input.role != InputRole::label) continue;
    Json entry{{"name", input.name}};
    entry.update(type_json(graph.type(input.value)));
    inputs.push_back(std::move(entry));
  }
  Json initializers = Json::array();
  for (const Initializer& i : import.initializers) {
    Json entry{{"initializer", i.initializer},           {"name", i.name},           {"shape", i.type.shape.dims()},
               {"dtype", dtype_onnx_name(i.type.dtype)}, {"trainable", i.trainable}, {"reason", i.reason}};
    entry["tied_to"] = i.tied_to.empty() ? Json(nullptr) : Json(i.tied_to);
    initializers.push_back(std::move(entry));
  }
  return {{"name", report.model.name},
          {"source", report.model.source},
          {"opset", import.opset > 0 ? Json(import.opset) : Json(nullptr)},
          {"parameters", parameter_count(import, false)},
          {"trainable_parameters", parameter_count(import, true)},
          {"inputs", std::move(inputs)},
          {"dims", Json(import.dims)},
          {"initializers", std::move(initializers)}};
}

Json optimizer_json(const OptimizerOptions& optimizer) {
  return {{"name", optimizer_kind_name(optimizer.kind)},
          {"lr", optimizer.lr},
          {"beta1", optimizer.beta1},
          {"beta2", optimizer.beta2},
          {"eps", optimizer.eps},
          {"weight_decay", optimizer.weight_decay},
          {"momentum", optimizer.momentum}};
}

Json device_json(const Report& report) {
  if (report.step == nullptr) return nullptr;
  return {{"name", report.step->device.name}, {"source", report.step->device.source}};
}

Json loss_scale_json(const LossScaleOptions& scale) {
  return {{"init", scale.init}, {"growth", scale.growth}, {"backoff", scale.backoff}, {"interval", scale.interval}};
}

Json options_json(const Report& report) {
  const DriverOptions& options = report.options;
  const TrainOptions train = options.train_options();
  const LossOptions& loss = report.step != nullptr ? report.step->loss : train.loss;
  return {{"loss", loss_kind_name(loss.kind)},
          {"logits", loss.logits},
          {"labels", loss.labels},
          {"shift", loss.shift},
          {"ignore_index", loss.ignore_index},
          {"trainable", options.trainable},
          {"frozen", options.frozen},
          {"grad_inputs", or_null(train.grad_inputs)},
          {"optimizer", optimizer_json(train.optimizer)},
          {"clip_norm", or_null(train.clip_norm)},
          {"accumulate", train.accumulate},
          {"dropout", train.dropout ? "on" : "off"},
          {"precision", precision_name(train.precision)},
          {"loss_scale", loss_scale_json(train.loss_scale)},
          {"fuse", fuse_level_name(train.fuse)},
          {"fuse_loss", train.fuse_loss ? "on" : "off"},
          {"fuse_attention", train.fuse_attention ? "on" : "off"},
          {"remat", train.remat.text()},
          {"fuse_edges", options.fuse_edges.empty() ? Json(nullptr) : Json(options.fuse_edges)},
          {"device_spec", device_json(report)},
          {"target", target_name(options.target)},
          {"architecture", options.runs_cuda() ? Json(options.architecture.name()) : Json(nullptr)},
          {"contractions", options.library_contractions ? "library" : "generated"},
          {"threads", options.thread_count()},
          {"seed", options.seed},
          {"steps", options.steps},
          {"warmup", options.warmup}};
}

Json passes_json(const Step& step) {
  Json rows = Json::array();
  for (const PassRow& row : step.passes)
    rows.push_back({{"name", row.name},
                    {"changed", row.changed},
                    {"wall_us", row.wall_us},
                    {"nodes", row.nodes},
                    {"kernels", row.kernels},
                    {"flops", row.flops},
                    {"traffic_bytes", row.traffic_bytes},
                    {"saved_tensors", or_null(row.saved_tensors)},
                    {"saved_bytes", or_null(row.saved_bytes)},
                    {"planned_peak_bytes", or_null(row.planned_peak_bytes)},
                    {"predicted_step_us", or_null(row.predicted_step_us)},
                    {"notes", row.notes}});
  return rows;
}

Json timeline_json(const Graph& graph, const Plan& plan, const std::vector<MemoryUse>& timeline) {
  Json rows = Json::array();
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Node& node = graph.node(plan.steps[i].node);
    rows.push_back({{"node", op_name(node.op)},
                    {"phase", phase_name(node.origin.phase)},
                    {"scope", node.origin.scope},
                    {"live_bytes", timeline[i].total()}});
  }
  return rows;
}

// W + G + O + A + T at the peak, next to what the founding formula 3W + max(A, G) would say.
Json peak_formula_json(const PeakUse& peak) {
  const MemoryUse& use = peak.use;
  const int64_t value = use.total() + peak.fragmentation_bytes;
  return {{"w", use.weights},
          {"g", use.gradients},
          {"o", use.optimizer},
          {"a", use.activations},
          {"t", use.temporaries + peak.fragmentation_bytes},
          {"value", value},
          {"text", fmt::format("W {} + G {} + O {} + A {} + T {} = {} bytes", use.weights, use.gradients, use.optimizer,
                               use.activations, use.temporaries + peak.fragmentation_bytes, value)}};
}

// With what libraries took for themselves, the fixed part.
Json measured_peak(const Report& report) {
  if (!report.run || !report.run->measured_peak_bytes) return nullptr;
  return *report.run->measured_peak_bytes + report.run->fixed_bytes.value_or(0);
}

Json memory_json(const Report& report) {
  if (report.step == nullptr || !report.step->plan) return nullptr;
  const Plan& plan = *report.step->plan;
  const PeakUse peak = peak_use(plan);
  return {{"weights", peak.use.weights},
          {"gradients", peak.use.gradients},
          {"optimizer", peak.use.optimizer},
          {"activations", peak.use.activations},
          {"temporaries", peak.use.temporaries},
          {"fragmentation", peak.fragmentation_bytes},
          {"peak", plan.peak_bytes()},
          {"persistent", plan.persistent_bytes},
          {"arena", plan.arena_bytes},
          {"max_live_lower_bound", plan.max_live_lower_bound},
          {"measured_peak", measured_peak(report)},
          {"fixed", report.run ? or_null(report.run->fixed_bytes) : Json(nullptr)},
          {"peak_formula", peak_formula_json(peak)},
          {"timeline", timeline_json(report.step->graph, plan, memory_timeline(plan))}};
}

// The rule of thumb: 6 per parameter and token position, attention apart.
std::optional<int64_t> model_6n(const Report& report, const Graph& graph) {
  const std::optional<int64_t> tokens = token_positions(graph);
  if (!tokens) return std::nullopt;
  return checked_mul(6 * parameter_count(report.model.import, false),
                     checked_mul(*tokens, report.options.train.accumulate));
}

// Of one step: every micro-step counts.
Json flops_json(const Report& report) {
  const bool differentiated = report.step != nullptr && report.step->flops;
  const Graph& graph = report.step != nullptr ? report.step->graph : report.model.import.graph;
  const int64_t micro_steps = report.options.train.accumulate;
  Json flops{{"forward", report.step == nullptr ? Json(forward_flops(graph)) : Json(nullptr)},
             {"backward", nullptr},
             {"recompute", nullptr},
             {"optimizer", nullptr},
             {"model_6n", or_null(model_6n(report, graph))},
             {"attention", nullptr},
             {"attention_unmasked", nullptr},
             {"executed", nullptr}};
  if (differentiated) {
    flops["forward"] = report.step->flops->forward * micro_steps;
    flops["backward"] = report.step->flops->backward * micro_steps;
    flops["recompute"] = report.step->flops->recompute * micro_steps;
    flops["optimizer"] = report.step->optimizer_flops;
  }
  if (differentiated && report.step->attention) {
    flops["attention"] = report.step->attention->all_pairs * micro_steps;
    if (report.step->attention->unmasked) flops["attention_unmasked"] = *report.step->attention->unmasked * micro_steps;
  }
  if (!report.kernels.empty()) {
    int64_t executed = 0;
    for (const KernelRow& kernel : report.kernels) executed += kernel.flops;
    flops["executed"] = executed;
  }
  return flops;
}

Json code_json(const std::vector<KernelCode>& code) {
  if (code.empty()) return nullptr;
  Json stages = Json::array();
  for (const KernelCode& stage : code) {
    const auto figure = [&](auto member) { return stage.figures ? Json((*stage.figures).*member) : Json(nullptr); };
    using Figures = KernelCode::Figures;
    stages.push_back({{"symbol", stage.symbol},
                      {"grid", stage.grid},
                      {"threads", stage.threads},
                      {"registers", figure(&Figures::registers)},
                      {"stack_bytes", figure(&Figures::stack_bytes)},
                      {"spill_bytes", figure(&Figures::spill_bytes)},
                      {"shared_bytes", figure(&Figures::shared_bytes)},
                      {"occupancy", figure(&Figures::occupancy)},
                      {"occupancy_bound", figure(&Figures::occupancy_bound)}});
  }
  return stages;
}

Json kernels_json(const std::vector<KernelRow>& kernels) {
  Json rows = Json::array();
  for (const KernelRow& k : kernels)
    rows.push_back({{"name", k.name},
                    {"kind", k.kind},
                    {"phase", phase_name(k.phase)},
                    {"scope", k.scope},
                    {"onnx", k.onnx},
                    {"count", k.count},
                    {"flops", k.flops},
                    {"read_bytes", k.read_bytes},
                    {"write_bytes", k.write_bytes},
                    {"ideal_bytes", k.ideal_bytes},
                    {"predicted_us", k.predicted_us},
                    {"measured_us", or_null(k.measured_us)},
                    {"mfu", nullptr},
                    {"mbu", nullptr},
                    {"bound", bound_name(k.bound)},
                    {"source", k.source.empty() ? Json(nullptr) : Json(k.source)},
                    {"code", code_json(k.code)}});
  return rows;
}

Json fusion_json(const Step& step) {
  Json rows = Json::array();
  for (const FusionVerdict& verdict : step.fusion)
    rows.push_back({{"producer", verdict.producer},
                    {"consumer", verdict.consumer},
                    {"fused", verdict.fused},
                    {"reason", verdict.reason}});
  return rows;
}

Json step_json(const Report& report) {
  Json time{{"min", nullptr}, {"median", nullptr}, {"max", nullptr}};
  if (report.run && report.run->time)
    time = {
        {"min", report.run->time->min_us}, {"median", report.run->time->median_us}, {"max", report.run->time->max_us}};
  double predicted_us = 0;
  for (const KernelRow& kernel : report.kernels) predicted_us += kernel.predicted_us;
  return {{"predicted_us", report.kernels.empty() ? Json(nullptr) : Json(predicted_us)},
          {"measured_us", std::move(time)},
          {"tokens_per_s", report.run ? or_null(report.run->tokens_per_s) : Json(nullptr)},
          {"mfu", nullptr},
          {"hfu", nullptr},
          {"mbu", nullptr},
          {"compile_us", or_null(report.compile_us)},
          {"cache_hits", or_null(report.cache_hits)},
          {"notes", report.notes}};
}

}  // namespace

Json saved_json(const Graph&, const SavedListing& listing) {
  Json rows = Json::array();
  for (size_t i = 0; i < listing.saved.size(); ++i) {
    const SavedTensor& s = listing.saved[i];
    rows.push_back({{"index", i + 1},
                    {"op", s.op},
                    {"value", s.name},
                    {"onnx", s.onnx},
                    {"scope", s.scope},
                    {"shape", s.type.shape.dims()},
                    {"dtype", dtype_onnx_name(s.type.dtype)},
                    {"block", s.block},
                    {"bytes", s.type.bytes()},
                    {"new_bytes", s.new_bytes},
                    {"reference", s.reference},
                    {"input", s.input.empty() ? Json(nullptr) : Json(s.input)},
                    {"decision", "save"},
                    {"reason", nullptr},
                    {"recompute_us", nullptr},
                    {"flip", {{"peak_bytes", nullptr}, {"step_us", nullptr}}}});
  }
  return rows;
}

Json report_json(const Report& report) {
  Json document{{"schema", "stepc-report/1"}, {"model", model_json(report)}, {"options", options_json(report)}};
  document["passes"] = report.step != nullptr ? passes_json(*report.step) : Json(nullptr);
  document["saved"] = report.step != nullptr ? saved_json(report.step->graph, report.step->saved) : Json(nullptr);
  document["loads"] = report.step != nullptr ? Json(report.step->saved.loads) : Json(nullptr);
  document["memory"] = memory_json(report);
  document["flops"] = flops_json(report);
  document["kernels"] = report.kernels.empty() ? Json(nullptr) : kernels_json(report.kernels);
  document["fusion"] =
      report.step != nullptr && !report.step->fusion.empty() ? fusion_json(*report.step) : Json(nullptr);
  document["step"] = step_json(report);
  document["precision"] = report.step != nullptr && report.step->plan
                              ? precision_json(precision_report(*report.step), report.options.train.precision)
                              : Json(nullptr);
  document["plan"] = nullptr;
  document["losses"] = report.run ? Json(report.run->losses) : Json(nullptr);
  document["grad_norms"] = report.run ? Json(report.run->grad_norms) : Json(nullptr);
  const bool scaled = report.run && !report.run->loss_scales.empty();
  document["loss_scales"] = scaled ? Json(report.run->loss_scales) : Json(nullptr);
  document["skipped_steps"] = scaled ? Json(report.run->skipped_steps) : Json(nullptr);
  return document;
}

void write_json(const std::string& target, const Json& document) {
  // Names from a model may hold any bytes: what is not UTF-8 is replaced.
  const std::string text = document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (target == "-")
    fmt::print("{}", text);
  else
    write_file_atomically(target, text);
}

}  // namespace stepc
