#include "passes/fusion/override.h"

#include "ir/support/error.h"
#include "ir/support/quote.h"

#include <algorithm>

namespace stepc {
namespace {

constexpr std::string_view kArrow = "->";
constexpr std::string_view kSpaces = " \t\r";

// A line from `at` on; errors name the column.
struct Line {
  std::string_view text, file;
  size_t number = 0, at = 0;

  std::string where() const { return fmt::format("{}:{}:{}", file, number, at + 1); }
  void skip_spaces() {
    while (at < text.size() && kSpaces.find(text[at]) != std::string_view::npos) ++at;
  }
  // The text up to `end`, without the spaces around it.
  std::string take(size_t end) {
    skip_spaces();
    const std::string_view taken = text.substr(at, end > at ? end - at : 0);
    const size_t last = taken.find_last_not_of(kSpaces);
    at = end;
    return std::string(taken.substr(0, last == std::string_view::npos ? 0 : last + 1));
  }
};

// An arrow stands alone: names may hold one.
size_t find_arrow(std::string_view text, size_t from) {
  for (size_t at = text.find(kArrow, from); at != std::string_view::npos; at = text.find(kArrow, at + 1)) {
    const bool before = at > 0 && kSpaces.find(text[at - 1]) != std::string_view::npos;
    const size_t end = at + kArrow.size();
    if (before && (end == text.size() || kSpaces.find(text[end]) != std::string_view::npos)) return at;
  }
  return std::string_view::npos;
}

FusionOverride parse_line(Line line) {
  FusionOverride result;
  result.where = line.where();
  const size_t word_end = std::min(line.text.find_first_of(kSpaces, line.at), line.text.size());
  const std::string verb = line.take(word_end);
  if (verb != "force" && verb != "forbid")
    user_error("{}: {}: an override begins with force or forbid", result.where, in_quotes(verb));
  result.force = verb == "force";
  line.skip_spaces();
  const std::string edge = line.where();
  const size_t arrow = find_arrow(line.text, line.at);
  if (arrow == std::string_view::npos)
    user_error("{}: expected PRODUCER -> CONSUMER, as in 'contraction %*/q/* -> add %*'", edge);
  result.producer = line.take(arrow);
  if (result.producer.empty()) user_error("{}: no producer before '->'", edge);
  line.at = arrow + kArrow.size();
  result.consumer = line.take(line.text.size());
  if (result.consumer.empty()) user_error("{}: no consumer after '->'", line.where());
  return result;
}

}  // namespace

std::vector<FusionOverride> parse_fusion_overrides(std::string_view text, std::string_view file) {
  std::vector<FusionOverride> result;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    Line line{text.substr(0, end), file, number};
    text.remove_prefix(std::min(end + 1, text.size()));
    line.skip_spaces();
    if (line.at < line.text.size() && line.text[line.at] != '#') result.push_back(parse_line(line));
  }
  return result;
}

}  // namespace stepc
