#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stepc {

// Text that comes from a file or the command line, fit for a message of ours: control characters, and bytes that are
// not UTF-8, are escaped as \xNN, and what takes more than `limit` bytes is cut with "...".
std::string printable(std::string_view text, size_t limit);
std::string in_quotes(std::string_view name);  // 'name', printable

// For messages of libraries and for titles: control characters are blanks, and runs of blanks one.
std::string one_line(std::string_view text, size_t limit = 400);

// The length of the UTF-8 character that `text` begins with; 0 when it begins with none.
size_t utf8_length(std::string_view text);
bool is_utf8(std::string_view text);

}  // namespace stepc
