#include "runtime/resident.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace stepc {
namespace {

// A line "KEY:  N kB" of /proc/self/status.
std::optional<int64_t> status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::string word;
  int64_t kibibytes = 0;
  while (status >> word)
    if (word == key && status >> kibibytes) return kibibytes * 1024;
  return std::nullopt;
}

bool reset_largest_resident() {
  std::ofstream clear("/proc/self/clear_refs");
  clear << "5" << std::flush;  // proc(5): VmHWM starts again at the present resident set
  return clear.good();
}

}  // namespace

ResidentGrowth::ResidentGrowth() {
  if (reset_largest_resident()) before_ = status_bytes("VmRSS:");
}

std::optional<int64_t> ResidentGrowth::bytes() const {
  const std::optional<int64_t> largest = status_bytes("VmHWM:");
  if (!before_ || !largest) return std::nullopt;
  return std::max<int64_t>(*largest - *before_, 0);
}

}  // namespace stepc
