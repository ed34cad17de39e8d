#include "runtime/cuda/source_lines.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <set>
#include <vector>

namespace stepc::cuda {
namespace {

constexpr int64_t kAround = 3;     // lines shown before and after
constexpr size_t kMostErrors = 5;  // further ones are seldom news

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> lines;
  for (;;) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

// The line numbers of "stepc.cu(12): error" and "stepc.cu(12): catastrophic error".
std::set<int64_t> lines_with_errors(std::string_view log) {
  std::set<int64_t> numbers;
  for (const std::string_view line : split(log)) {
    const size_t open = line.find('(');
    if (open == std::string_view::npos || line.find("error", open) == std::string_view::npos) continue;
    int64_t number = 0;
    const auto [end, failed] = std::from_chars(line.data() + open + 1, line.data() + line.size(), number);
    if (failed == std::errc() && end != line.data() + line.size() && *end == ')') numbers.insert(number);
    if (numbers.size() == kMostErrors) break;
  }
  return numbers;
}

}  // namespace

std::string lines_around_errors(std::string_view source, std::string_view log) {
  const std::vector<std::string_view> lines = split(source);
  const std::set<int64_t> errors = lines_with_errors(log);
  std::string text;
  int64_t shown = 0;  // the last line that is in `text`
  for (int64_t number = 1; number <= static_cast<int64_t>(lines.size()); ++number) {
    const auto near = errors.lower_bound(number - kAround);
    if (near == errors.end() || *near > number + kAround) continue;
    if (shown != 0 && shown + 1 != number) text += "      ...\n";
    text += fmt::format("{} {:>5} | {}\n", errors.contains(number) ? ">" : " ", number,
                        lines[static_cast<size_t>(number - 1)]);
    shown = number;
  }
  return text;
}

}  // namespace stepc::cuda
