#include "models/onnx/message.h"

namespace stepc::onnx_import {

std::string one_line(std::string_view text, size_t limit) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const char shown = byte < 0x20 || byte == 0x7f ? ' ' : c;
    if (shown == ' ' && (line.empty() || line.back() == ' ')) continue;
    line.push_back(shown);
    if (line.size() > limit) {
      line.resize(limit);
      return line + "...";
    }
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

std::string in_quotes(std::string_view name) { return "'" + one_line(name, 160) + "'"; }

}  // namespace stepc::onnx_import
