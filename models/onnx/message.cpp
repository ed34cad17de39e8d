#include "models/onnx/message.h"

#include <algorithm>

namespace stepc::onnx_import {

size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Overlong forms, surrogates and what is past U+10FFFF show in the second byte.
  if ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f)) return 0;
  if ((lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) > 0x8f)) return 0;
  return length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string one_line(std::string_view text, size_t limit) {
  std::string line;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const auto byte = static_cast<unsigned char>(text.front());
    const bool control = byte < 0x20 || byte == 0x7f;
    const std::string_view shown = length == 0 ? "?" : control ? " " : text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
    if (shown == " " && (line.empty() || line.back() == ' ')) continue;
    if (line.size() + shown.size() > limit) return line + "...";
    line += shown;
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

std::string in_quotes(std::string_view name) { return "'" + one_line(name, 160) + "'"; }

}  // namespace stepc::onnx_import
