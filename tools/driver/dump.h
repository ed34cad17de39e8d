#pragma once

#include "ir/graph.h"
#include "tools/driver/options.h"

#include <optional>
#include <string>
#include <string_view>

namespace stepc {

// Where --dump-after writes: text to standard output, or files DIR/03-cse.ir; with --dump-onnx files DIR/03-cse.onnx.
struct DumpTarget {
  std::string pass;       // "all" or a pass's name
  std::string directory;  // empty: standard output
  bool onnx = false;

  void write(const Graph& graph, std::string_view pass_name, size_t position) const;
};

// By --dump-after: "PASS", "PASS=DIR", "all", "all=DIR"; empty text is no dump. Throws UserError for an unknown pass,
// and for --dump-onnx without a folder.
std::optional<DumpTarget> dump_target(const DriverOptions& options);

// A graph's text in a file, with large constants beside it in FILE.constants/.
void write_graph(const std::string& path, const Graph& graph);
// Reads a graph's text and its constants. Throws UserError with file, line and column.
Graph read_graph(const std::string& path);

}  // namespace stepc
