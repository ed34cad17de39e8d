#include "runtime/cuda/occupancy.h"

#include "ir/support/error.h"

#include <initializer_list>
#include <utility>

namespace stepc::cuda {
namespace {

constexpr int64_t kWarp = 32;
constexpr int64_t kRegisterUnit = 256;     // registers are given to warps in such portions
constexpr int64_t kPartitions = 4;         // a warp's registers lie in one quarter of the multiprocessor
constexpr int64_t kSharedUnit = 128;       // bytes
constexpr int64_t kSharedOfDriver = 1024;  // bytes of each block

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

int64_t blocks_by_registers(const MultiprocessorLimits& limits, int64_t registers, int64_t warps) {
  if (registers == 0) return limits.blocks;
  const int64_t per_warp = round_up(registers * kWarp, kRegisterUnit);
  return limits.registers / kPartitions / per_warp * kPartitions / warps;
}

}  // namespace

MultiprocessorLimits multiprocessor_limits(Architecture architecture) {
  constexpr int64_t kRegisters = 65536;
  switch (architecture.number()) {
    case 80: return {2048, 32, kRegisters, 164 << 10};
    case 86: return {1536, 16, kRegisters, 100 << 10};
    case 89: return {1536, 24, kRegisters, 100 << 10};
    case 90:
    case 100: return {2048, 32, kRegisters, 228 << 10};
    case 120: return {1536, 24, kRegisters, 100 << 10};
    default: CHECK(false, "no limits of {}", architecture.name()); return {};
  }
}

Occupancy occupancy(Architecture architecture, const FunctionFigures& function, int64_t threads,
                    int64_t dynamic_shared_bytes) {
  const MultiprocessorLimits limits = multiprocessor_limits(architecture);
  const int64_t warps = (threads + kWarp - 1) / kWarp;
  CHECK(warps > 0, "a block of {} threads", threads);
  const int64_t shared = round_up(function.shared_bytes + dynamic_shared_bytes + kSharedOfDriver, kSharedUnit);
  Occupancy result{limits.threads / kWarp / warps, 0, "threads"};
  for (const auto& [blocks, bound] : std::initializer_list<std::pair<int64_t, std::string_view>>{
           {limits.blocks, "blocks"},
           {blocks_by_registers(limits, function.registers, warps), "registers"},
           {limits.shared_bytes / shared, "shared memory"}})
    if (blocks < result.blocks) {
      result.blocks = blocks;
      result.bound = bound;
    }
  result.fraction = static_cast<double>(result.blocks * warps * kWarp) / static_cast<double>(limits.threads);
  return result;
}

}  // namespace stepc::cuda
