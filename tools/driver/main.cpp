#include <CLI/CLI.hpp>

int main(int argc, char** argv) {
  CLI::App app{"Compiles a Transformer's forward ONNX graph to one profiled training step"};
  app.set_version_flag("--version", "stepc " STEPC_VERSION);
  // Wrong usage exits with 2, whatever CLI11's own code for the mistake; --help and --version exit
  // with 0.
  constexpr int kUsageError = 2;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
}
