#include "tools/driver/dump.h"

#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/support/error.h"
#include "models/atomic_file.h"
#include "models/constant_directory.h"
#include "models/onnx/dump.h"
#include "passes/registry.h"
#include "tools/driver/io/files.h"

#include <cstdio>
#include <filesystem>

namespace stepc {

void DumpTarget::write(const Graph& graph, std::string_view pass_name, size_t position) const {
  if (pass != "all" && pass != pass_name) return;
  if (directory.empty()) {
    fmt::print("; after {}\n{}\n", pass_name, print(graph));
    return;
  }
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) user_error("cannot create {}: {}", directory, error.message());
  const std::string stem = fmt::format("{}/{:02}-{}", directory, position + 1, pass_name);
  if (onnx)
    dump_onnx(graph, stem + ".onnx");
  else
    write_graph(stem + ".ir", graph);
}

std::optional<DumpTarget> dump_target(const DriverOptions& options) {
  const std::string& text = options.dump_after;
  const size_t equals = text.find('=');
  DumpTarget target{text.substr(0, equals), equals == std::string::npos ? std::string() : text.substr(equals + 1),
                    options.dump_onnx};
  if (target.onnx && target.directory.empty())
    throw UsageError("--dump-onnx writes files: say where with --dump-after PASS=DIR or all=DIR");
  if (text.empty()) return std::nullopt;
  if (target.pass != "all") find_pass(target.pass);
  return target;
}

void write_graph(const std::string& path, const Graph& graph) {
  ConstantDirectory constants = ConstantDirectory::beside(path);
  write_file_atomically(path, print(graph, &constants));
}

Graph read_graph(const std::string& path) {
  const ConstantDirectory constants = ConstantDirectory::beside(path);
  return parse(read_text_file(path), {path, &constants});
}

}  // namespace stepc
