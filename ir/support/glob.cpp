#include "ir/support/glob.h"

namespace stepc {

bool glob_matches(std::string_view pattern, std::string_view text) {
  // Greedy with one backtrack point: a later '*' makes earlier ones irrelevant.
  size_t p = 0;
  size_t star = std::string_view::npos;
  size_t resume = 0;
  for (size_t t = 0; t < text.size();) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace stepc
