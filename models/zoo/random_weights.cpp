#include "models/zoo/random_weights.h"

#include "ir/support/error.h"

#include <cmath>
#include <random>

namespace stepc {
namespace {

constexpr double kDeviation = 0.02;

uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

bool is_norm_scale(std::string_view name, const Shape& shape) { return shape.rank() == 1 && !name.ends_with("bias"); }

}  // namespace

Tensor random_weight(std::string_view name, const Type& type, uint64_t seed) {
  Tensor tensor(type);
  const int64_t count = type.shape.numel();
  if (is_norm_scale(name, type.shape)) {
    for (int64_t i = 0; i < count; ++i) set_element(tensor, i, 1);
  } else if (type.shape.rank() >= 2) {
    // Box and Muller (1958): two normal numbers from two uniform ones. The standard library's normal distribution is
    // not the same in every implementation.
    std::mt19937_64 random(fnv1a(name) ^ (seed * 0x9e3779b97f4a7c15U));
    const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
    for (int64_t i = 0; i < count; i += 2) {
      const double radius = kDeviation * std::sqrt(-2 * std::log(uniform()));
      const double angle = 2 * M_PI * uniform();
      set_element(tensor, i, radius * std::cos(angle));
      if (i + 1 < count) set_element(tensor, i + 1, radius * std::sin(angle));
    }
  }
  return tensor;
}

}  // namespace stepc
