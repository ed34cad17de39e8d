#pragma once

#include "ir/attrs.h"

#include <string_view>

namespace stepc {

// A real attribute. Throws UserError where it is NaN or infinite.
double finite_attr(const Attrs& attrs, std::string_view key);

}  // namespace stepc
