#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace stepc {

// Lines of C++ with their indentation.
class Text {
 public:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(2 * depth_, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  // A line with braces.
  void raw(std::string_view text) {
    text_.append(2 * depth_, ' ');
    text_ += text;
    text_ += '\n';
  }
  // "for (...) {" and its end.
  template <typename... Args>
  void open(fmt::format_string<Args...> format, Args&&... args) {
    line("{} {{", fmt::format(format, std::forward<Args>(args)...));
    ++depth_;
  }
  void close(std::string_view end = "}") {
    --depth_;
    raw(end);
  }
  // Lines printed elsewhere.
  void paste(std::string_view lines) {
    while (!lines.empty()) {
      const size_t end = lines.find('\n');
      raw(lines.substr(0, end));
      lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    }
  }
  const std::string& str() const { return text_; }

 private:
  std::string text_;
  size_t depth_ = 0;
};

}  // namespace stepc
