#include "ir/finite_attr.h"

#include "ir/support/error.h"

#include <cmath>

namespace stepc {

double finite_attr(const Attrs& attrs, std::string_view key) {
  const double value = attrs.real(key);
  if (!std::isfinite(value)) user_error("attribute '{}' is {}, expected a finite number", key, value);
  return value;
}

}  // namespace stepc
