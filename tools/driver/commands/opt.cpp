#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/support/error.h"
#include "models/constant_directory.h"
#include "passes/registry.h"
#include "passes/runner.h"
#include "tools/driver/commands.h"
#include "tools/driver/dump.h"
#include "tools/driver/pass_setup.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <iostream>
#include <iterator>

namespace stepc {
namespace {

void declare(CLI::App& app, DriverOptions& options) {
  app.add_option("FILE", options.model, "text of a graph (.ir); - reads standard input")->type_name("");
  app.add_option("--passes", options.passes, "passes to run, in order")->type_name("A,B,...");
  app.add_flag("--list-passes", options.list_passes, "list the passes; with -v and their contracts");
  app.add_flag("-v,--verbose", options.verbose, "print more");
  app.add_option("-o", options.output, "write the text there")->type_name("FILE");
  add_step_options(app, options);
  add_pass_options(app, options);
}

Graph read_input(const std::string& file) {
  if (file != "-") return read_graph(file);
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const ConstantDirectory constants = ConstantDirectory::beside("-");
  return parse(text, {"<stdin>", &constants});
}

// The lines of a contract that say something, under the names of PassContract.
void print_contract(const PassContract& contract) {
  const auto line = [](std::string_view what, const std::string& text) {
    if (!text.empty()) fmt::print("  {:<16} {}\n", what, text);
  };
  const auto facts = [](std::span<const Fact> list) {
    std::vector<std::string_view> names;
    for (const Fact fact : list) names.push_back(fact_name(fact));
    return fmt::format("{}", fmt::join(names, ", "));
  };
  line("needs", facts(contract.needs));
  line("refuses", facts(contract.refuses));
  line("breaks", facts(contract.breaks));
  line("provides", facts(contract.provides));
  line("forbids after", fmt::format("{}", fmt::join(contract.forbids_after, ", ")));
  switch (contract.preserves) {
    case Preserves::exactly: line("preserves", "outputs bit for bit"); break;
    case Preserves::tolerance:
      line("preserves", fmt::format("outputs within {} relative", contract.relative_tolerance));
      break;
    case Preserves::common_outputs: line("preserves", "bit for bit the outputs that stay"); break;
  }
  if (contract.required) line("required", "yes");
}

int run(const DriverOptions& options) {
  if (options.list_passes) {
    for (const Pass* pass : all_passes()) {
      fmt::print("{:<18} {}\n", pass->name, pass->summary);
      if (options.verbose) print_contract(pass->contract);
    }
    return 0;
  }
  if (options.model.empty()) throw UsageError("name a file with the text of a graph, or - for standard input");
  Graph graph = read_input(options.model);
  PassSetup setup(options);
  RunnerOptions runner;
  runner.stop_after = options.stop_after;
  runner.skip = {options.skip.begin(), options.skip.end()};
  runner.bisect = options.bisect;
  const std::optional<DumpTarget> dump = dump_target(options);
  if (dump)
    runner.dump = [&](const Graph& after, std::string_view pass, size_t position) {
      dump->write(after, pass, position);
    };
  const std::vector<PassRow> rows = run_passes(graph, parse_pipeline(options.passes), setup.context, runner);
  for (const PassRow& row : rows)
    for (const std::string& note : row.notes) fmt::print(stderr, "{}: {}\n", row.name, note);
  if (options.output.empty())
    fmt::print("{}", print(graph));
  else
    write_graph(options.output, graph);
  return 0;
}

}  // namespace

extern const Command command_opt;
const Command command_opt{"opt", "runs passes on the text of a graph and prints the text", declare, run};

}  // namespace stepc
