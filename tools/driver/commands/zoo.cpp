#include "models/zoo/zoo.h"

#include "ir/support/error.h"
#include "tools/driver/commands.h"
#include "tools/driver/model.h"
#include "tools/driver/text_report.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace stepc {
namespace {

void declare(CLI::App& app, DriverOptions& options) {
  app.add_option("NAME", options.model, "the model to write; without one, or --family, the models are listed")
      ->type_name("");
  app.add_option("-o", options.output, "where to write it (default: NAME.onnx)")->type_name("FILE");
  add_model_options(app, options);
  add_output_options(app, options);
}

void list_models(const DriverOptions& options) {
  if (!options.json.empty()) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const ZooConfig& config : zoo_models())
      rows.push_back({{"name", config.name},
                      {"family", zoo_family_name(config.family)},
                      {"parameters", zoo_parameters(config)},
                      {"source", config.source}});
    write_json(options.json, rows);
    if (options.json == "-") return;
  }
  fmt::print("{:<12} {:<7} {:>10} {:>7} {:>6} {:>6} {:>6}  {}\n", "name", "family", "parameters", "layers", "dim",
             "heads", "seq", "source");
  for (const ZooConfig& config : zoo_models())
    fmt::print("{:<12} {:<7} {:>10} {:>7} {:>6} {:>6} {:>6}  {}\n", config.name, zoo_family_name(config.family),
               format_count(static_cast<double>(zoo_parameters(config))), config.layers, config.dim, config.heads,
               config.seq, config.source);
}

int run(const DriverOptions& options) {
  if (options.model.empty() && options.zoo.family.empty()) {
    list_models(options);
    return 0;
  }
  const ZooConfig config = zoo_config(options.model, options.zoo);
  const std::string path = options.output.empty() ? config.name + ".onnx" : options.output;
  write_zoo_onnx(config, parse_weights(options.weights.empty() ? "none" : options.weights), path);
  if (!options.quiet)
    fmt::print("{}: {} with {} parameters{}\n", path, config.name,
               format_count(static_cast<double>(zoo_parameters(config))),
               options.weights.empty() || options.weights == "none" ? ", shapes only" : "");
  return 0;
}

}  // namespace

extern const Command command_zoo;
const Command command_zoo{"zoo", "lists the built-in models, or writes one as ONNX", declare, run};

}  // namespace stepc
