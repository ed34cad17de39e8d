#pragma once

#include <fmt/format.h>

#include <compare>
#include <string>

namespace stepc::cuda {

// Of CUDA, as compilers and drivers state it.
struct Version {
  int major = 0;
  int minor = 0;

  std::string text() const { return fmt::format("{}.{}", major, minor); }
  auto operator<=>(const Version&) const = default;
};

}  // namespace stepc::cuda
