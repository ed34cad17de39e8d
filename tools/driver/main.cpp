#include "ir/support/error.h"
#include "tools/driver/commands.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>

namespace stepc {
namespace {

constexpr int kBadInput = 1;
constexpr int kUsageError = 2;
constexpr int kOurBug = 70;

int fail(int status, const std::string& message) {
  fmt::print(stderr, "stepc: error: {}\n", message);
  return status;
}

// Commands of later releases: known by name, absent from the help.
void declare_later_commands(CLI::App& app) {
  for (const char* name : {"report", "dissect", "sweep", "export", "math"})
    app.add_subcommand(name)->group("")->allow_extras()->callback(
        [name] { throw CLI::ValidationError(fmt::format("stepc {} is not available yet", name)); });
}

// "run " where the command line got as far as that.
std::string command_of(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? std::string() : parsed.front()->get_name() + " ";
}

int run_program(int argc, char** argv) {
  CLI::App app{"Compiles a Transformer's forward ONNX graph to one profiled training step", "stepc"};
  app.set_version_flag("--version", "stepc " STEPC_VERSION);
  app.require_subcommand(1);
  DriverOptions options;
  const Command* chosen = nullptr;
  for (const Command* command : all_commands()) {
    CLI::App* sub = app.add_subcommand(std::string(command->name), std::string(command->summary));
    command->declare(*sub, options);
    sub->callback([&chosen, command] { chosen = command; });
  }
  declare_later_commands(app);
  app.footer(
      "Examples:\n"
      "  stepc inspect model.onnx                           what is in the file, and what would be trained\n"
      "  stepc run model.onnx --data text.txt --steps 100   trains it and prints the profile\n"
      "  stepc run --help                                   the options of a command");
  try {
    const auto named = [&](const CLI::App* command) { return command->check_name(argv[1]); };
    if (argc > 1 && argv[1][0] != '-' && std::ranges::none_of(app.get_subcommands(nullptr), named))
      throw UsageError(fmt::format("unknown command '{}'; stepc --help lists the commands", argv[1]));
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError& error) {
    return fail(kUsageError, fmt::format("{}; stepc {}--help lists what there is", error.what(), command_of(app)));
  } catch (const CLI::RequiredError&) {
    return fail(kUsageError, "name a command; stepc --help lists them");
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return fail(kUsageError, error.what());
  }
  for (const CLI::Option* option : app.get_subcommands().front()->get_options())
    if (option->count() > 0 && option->nonpositional()) options.given.insert(option->get_name());
  return chosen->run(options);
}

}  // namespace
}  // namespace stepc

int main(int argc, char** argv) {
  try {
    return stepc::run_program(argc, argv);
  } catch (const stepc::UsageError& error) {
    return stepc::fail(stepc::kUsageError, error.what());
  } catch (const stepc::UserError& error) {
    return stepc::fail(stepc::kBadInput, error.what());
  } catch (const std::bad_alloc&) {
    return stepc::fail(stepc::kBadInput, "out of memory: the model's tensors do not fit this machine");
  } catch (const std::exception& error) {
    return stepc::fail(stepc::kOurBug, fmt::format("internal: {} (this is a bug of stepc: please report it with the "
                                                   "command that led here)",
                                                   error.what()));
  }
}
