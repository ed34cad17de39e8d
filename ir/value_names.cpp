#include "ir/value_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace stepc {
namespace {

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '/';
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Hints to unique names: the second "x" becomes "x.1".
class UniqueNames {
 public:
  std::string claim(const std::string& hint) {
    std::string name = hint;
    int& next = taken_[hint];
    while (next > 0 && taken_.contains(name = fmt::format("{}.{}", hint, next))) ++next;
    ++next;
    if (name != hint) taken_[name] = 1;
    return name;
  }

 private:
  std::unordered_map<std::string, int> taken_;  // name → the next suffix to try
};

}  // namespace

std::string quote(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      result += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      result += c;
  }
  return result += '"';
}

std::string bare_or_quoted(std::string_view text) {
  const bool bare = !text.empty() && std::all_of(text.begin(), text.end(), is_bare) &&
                    !std::all_of(text.begin(), text.end(), is_digit);
  return bare ? std::string(text) : quote(text);
}

ValueNames::ValueNames(const Graph& graph) : names_(static_cast<size_t>(graph.value_limit())) {
  UniqueNames unique;
  int anonymous = 0;
  const auto name = [&](ValueId id) {
    const std::string& hint = graph.value(id).name;
    names_[static_cast<size_t>(id.index)] =
        hint.empty() ? fmt::format("%{}", anonymous++) : "%" + bare_or_quoted(unique.claim(hint));
  };
  for (const GraphInput& input : graph.inputs()) name(input.value);
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id))
    for (const ValueId output : graph.node(id).outputs) name(output);
}

const std::string& ValueNames::of(ValueId id) const {
  static const std::string kOmitted = "_";
  return id.valid() ? names_[static_cast<size_t>(id.index)] : kOmitted;
}

}  // namespace stepc
