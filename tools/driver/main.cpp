#include "ir/support/error.h"
#include "ir/support/quote.h"
#include "tools/driver/commands.h"

#include <fcntl.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

namespace stepc {
namespace {

constexpr int kBadInput = 1;
constexpr int kUsageError = 2;
constexpr int kOurBug = 70;
constexpr size_t kLongestMessage = 1 << 15;

int fail(int status, const std::string& message) {
  fmt::print(stderr, "stepc: error: {}\n", printable(message, kLongestMessage));
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

// A closed standard stream's number would go to the first file that is opened, and text would be printed into it.
void open_standard_streams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (fcntl(descriptor, F_GETFD) < 0) open("/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY);
}

// What the command printed may still wait in a buffer.
int flush_output(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  return fail(kBadInput, fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

// An option without its value, or with more than one.
std::string mismatch_message(const CLI::ArgumentMismatch& error, const CLI::App& app) {
  const std::string message = error.what();
  const std::string name = message.substr(0, message.find(':'));
  const auto parsed = app.get_subcommands();
  const CLI::Option* option = parsed.empty() ? nullptr : parsed.front()->get_option_no_throw(name);
  if (option == nullptr) return message;
  return option->count() > 1 ? fmt::format("{} is given {} times; it takes one value", name, option->count())
                             : fmt::format("{} needs a value", name);
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
      throw UsageError(fmt::format("unknown command {}; stepc --help lists the commands", in_quotes(argv[1])));
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError& error) {
    return fail(kUsageError, fmt::format("{}; stepc {}--help lists what there is", error.what(), command_of(app)));
  } catch (const CLI::ArgumentMismatch& error) {
    return fail(kUsageError, mismatch_message(error, app));
  } catch (const CLI::RequiredError&) {
    return fail(kUsageError, "name a command; stepc --help lists them");
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return fail(kUsageError, error.what());
  }
  for (const CLI::Option* option : app.get_subcommands().front()->get_options()) {
    if (option->count() == 0) continue;
    if (std::ranges::count(option->results(), std::string()) > 0 && option->get_name() != "--passes")  // no pass
      return fail(kUsageError, fmt::format("{} needs a value that is not empty", option->get_name()));
    if (option->nonpositional()) options.given.insert(option->get_name());
  }
  return chosen->run(options);
}

}  // namespace
}  // namespace stepc

int main(int argc, char** argv) {
  try {
    stepc::open_standard_streams();
    return stepc::flush_output(stepc::run_program(argc, argv));
  } catch (const stepc::UsageError& error) {
    return stepc::fail(stepc::kUsageError, error.what());
  } catch (const stepc::UserError& error) {
    return stepc::fail(stepc::kBadInput, error.what());
  } catch (const std::bad_alloc&) {
    return stepc::fail(stepc::kBadInput, "out of memory: the model's tensors do not fit this machine");
  } catch (const std::system_error& error) {  // a full disk, no permission, no thread to be had
    return stepc::fail(stepc::kBadInput, fmt::format("the system refused: {}", error.what()));
  } catch (const std::exception& error) {
    return stepc::fail(stepc::kOurBug, fmt::format("internal: {} (this is a bug of stepc: please report it with the "
                                                   "command that led here)",
                                                   error.what()));
  }
}
