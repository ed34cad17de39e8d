#include "ir/op_def.h"
#include "ir/support/error.h"
#include "tools/driver/commands.h"
#include "tools/driver/model.h"
#include "tools/driver/report.h"
#include "tools/driver/text_report.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>

namespace stepc {
namespace {

void declare(CLI::App& app, DriverOptions& options) {
  app.add_option("MODEL", options.model, ".onnx file, zoo name or .ir text")->type_name("");
  add_model_options(app, options);
  add_output_options(app, options);
}

std::string tensor_list(const std::vector<ModelSurvey::Tensor>& tensors) {
  std::string out;
  for (const ModelSurvey::Tensor& t : tensors)
    out += fmt::format("  {:<32} {} [{}]\n", t.name, t.dtype, fmt::join(t.shape, ", "));
  return out;
}

// "2 Add, 1 Cast"
std::string counted(const auto& count_by_name) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : count_by_name) parts.push_back(fmt::format("{} {}", count, name));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// What the file says before its dimensions are bound.
void print_survey(const ModelSurvey& survey) {
  std::string opsets;
  for (const auto& [domain, version] : survey.opsets)
    opsets += fmt::format(" {} {}", domain.empty() ? "ai.onnx" : domain, version);
  fmt::print("producer {}; opset{}\n", survey.producer.empty() ? "unknown" : survey.producer, opsets);
  fmt::print("inputs\n{}outputs\n{}", tensor_list(survey.inputs), tensor_list(survey.outputs));
  fmt::print("operators\n  {}\n", counted(survey.operators));
  if (!survey.unsupported.empty()) fmt::print("unsupported: {}\n", survey.unsupported);
}

void print_graph_summary(const Model& model) {
  const Graph& graph = model.import.graph;
  std::map<std::string_view, int64_t> ops;
  Cost total;
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
    ++ops[op_name(graph.node(id).op)];
    const Cost cost = node_cost(graph, graph.node(id));
    total.flops += cost.flops;
    total.read_bytes += cost.read_bytes;
    total.write_bytes += cost.write_bytes;
  }
  int64_t parameters = 0;
  int64_t trained = 0;
  for (const Initializer& i : model.import.initializers) {
    if (!i.tied_to.empty()) continue;
    parameters += i.type.shape.numel();
    if (i.trainable) trained += i.type.shape.numel();
  }
  fmt::print("{}\n", parameter_table(model.import));
  fmt::print("{} parameters, {} of them trained\n", parameters, trained);
  fmt::print("forward: {} nodes, {}FLOPs, {} of traffic without fusion\n", graph.node_count(),
             format_count(static_cast<double>(total.flops)), format_bytes(total.read_bytes + total.write_bytes));
  fmt::print("operations: {}\n", counted(ops));
  for (const std::string& note : model.import.notes) fmt::print("note: {}\n", note);
}

int run(const DriverOptions& options) {
  const bool quiet = options.quiet || options.json == "-";
  std::vector<std::string> unbound;
  if (std::filesystem::path(options.model).extension() == ".onnx") {
    const ModelSurvey survey = survey_onnx(options.model);
    if (!quiet) print_survey(survey);
    if (!survey.unsupported.empty()) user_error("{}: unsupported: {}", options.model, survey.unsupported);
    for (const std::string& symbol : survey.symbols)
      if (!options.dims.contains(symbol)) unbound.push_back(symbol);
  }
  if (!unbound.empty() && options.json.empty()) {
    fmt::print("symbolic dimensions to bind for parameters and FLOPs: --dim {}=N\n", fmt::join(unbound, "=N --dim "));
    return 0;
  }
  const Model model = load_model(options, MissingWeights::none);
  if (!quiet) print_graph_summary(model);
  if (!options.json.empty()) write_json(options.json, report_json({.options = options, .model = model}));
  return 0;
}

}  // namespace

extern const Command command_inspect;
const Command command_inspect{"inspect", "inputs, outputs, parameters, operations, FLOPs; what is trained and why",
                              declare, run};

}  // namespace stepc
