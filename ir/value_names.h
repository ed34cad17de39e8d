#pragma once

#include "ir/graph.h"

#include <string>
#include <string_view>
#include <vector>

namespace stepc {

// "text" with quotes, backslashes and control characters escaped.
std::string quote(std::string_view text);
// The text itself where it may stand bare after % or @, else quoted.
std::string bare_or_quoted(std::string_view text);

// The name of every value as the text form has it, "%x": the hint, made unique by a suffix; anonymous values are
// numbered in list order. Names depend on the graph's content alone.
class ValueNames {
 public:
  explicit ValueNames(const Graph& graph);
  const std::string& of(ValueId id) const;  // "_" for kNoValue

 private:
  std::vector<std::string> names_;
};

}  // namespace stepc
