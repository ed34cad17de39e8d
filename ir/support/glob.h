#pragma once

#include <string_view>

namespace stepc {

// Shell-style: '*' is any text, '?' any character; everything else is itself.
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace stepc
