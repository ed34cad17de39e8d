#pragma once

#include <string>
#include <string_view>

namespace stepc::onnx_import {

// Names and messages that come from a model, fit for one line of ours: control characters become spaces, runs of spaces
// one, bytes that are not UTF-8 become '?', and what is longer than `limit` bytes is cut with "...".
std::string one_line(std::string_view text, size_t limit = 400);
std::string in_quotes(std::string_view name);  // 'name', one_line

// The length of the UTF-8 character that `text` begins with; 0 when it begins with none.
size_t utf8_length(std::string_view text);
bool is_utf8(std::string_view text);

}  // namespace stepc::onnx_import
