#pragma once

#include "ir/graph.h"

#include <optional>
#include <string>
#include <string_view>

namespace stepc {

// Where --dump-after writes: one pass to standard output, or to files DIR/03-cse.ir.
struct DumpTarget {
  std::string pass;       // "all" or a pass's name
  std::string directory;  // empty: standard output

  void write(const Graph& graph, std::string_view pass_name, size_t position) const;
};

// "PASS", "PASS=DIR", "all", "all=DIR"; empty text is no dump. Throws UserError for an unknown pass.
std::optional<DumpTarget> parse_dump_target(const std::string& text);

// A graph's text in a file, with large constants beside it in FILE.constants/.
void write_graph(const std::string& path, const Graph& graph);
// Reads a graph's text and its constants. Throws UserError with file, line and column.
Graph read_graph(const std::string& path);

}  // namespace stepc
