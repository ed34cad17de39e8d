#include "codegen/launch_name.h"

#include <fmt/format.h>

#include <algorithm>

namespace stepc {
namespace {

constexpr size_t kMostScope = 64;  // characters; a deep scope keeps its end, which tells more

std::string_view phase_mark(Phase phase) {
  switch (phase) {
    case Phase::forward: return "fwd";
    case Phase::loss: return "loss";
    case Phase::backward: return "bwd";
    case Phase::recompute: return "rec";
    case Phase::optimizer: break;
  }
  return "opt";
}

bool is_number(std::string_view part) {
  return !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
}

// Runs of anything but ASCII letters and digits become one '_' between two parts.
void append_word(std::string& name, std::string_view part) {
  bool separate = true;
  for (const char c : part) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (!upper && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9')) {
      separate = true;
      continue;
    }
    if (separate) name += '_';
    separate = false;
    name += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
}

std::string name_of(size_t number, std::string_view label, const Origin& origin, bool with_numbers) {
  std::string scope;
  std::string_view rest = origin.scope;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('.'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    if (with_numbers || !is_number(part)) append_word(scope, part);
  }
  if (scope.size() > kMostScope) {
    scope.erase(0, scope.size() - kMostScope);
    scope.erase(0, std::min(scope.find('_'), scope.size()));
  }
  std::string name = fmt::format("k{}", number);
  append_word(name, label);
  append_word(name, phase_mark(origin.phase));
  return name + scope;
}

}  // namespace

std::string launch_name(size_t number, std::string_view label, const Origin& origin) {
  return name_of(number, label, origin, true);
}

std::string layer_launch_name(size_t number, std::string_view label, const Origin& origin) {
  return name_of(number, label, origin, false);
}

}  // namespace stepc
