#include "runtime/simt/global_memory.h"

#include "ir/support/error.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>

namespace stepc::simt {
namespace {

constexpr size_t kAlignment = 256;
constexpr size_t kRedZone = 256;
constexpr std::byte kRed{0xfd};
constexpr int kPoison = 0xff;

// The bytes behind an allocation up to the end of its red zone.
size_t tail_bytes(int64_t bytes) {
  const auto size = static_cast<size_t>(bytes);
  return (size + kAlignment - 1) / kAlignment * kAlignment - size + kRedZone;
}

bool mend(std::span<std::byte> zone) {
  const bool damaged = std::any_of(zone.begin(), zone.end(), [](std::byte b) { return b != kRed; });
  if (damaged) std::fill(zone.begin(), zone.end(), kRed);
  return damaged;
}

}  // namespace

void GlobalMemory::Free::operator()(std::byte* memory) const { std::free(memory); }

void* GlobalMemory::allocate(int64_t bytes) {
  CHECK(bytes >= 0);
  const auto size = static_cast<size_t>(bytes);
  const size_t tail = tail_bytes(bytes);
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, kRedZone + size + tail));
  if (memory == nullptr) user_error("no memory for {} bytes of the SIMT device", bytes);
  std::byte* const address = memory + kRedZone;
  std::fill_n(memory, kRedZone, kRed);
  std::memset(address, kPoison, size);
  std::fill_n(address + size, tail, kRed);
  allocations_[address] = {std::unique_ptr<std::byte, Free>(memory), bytes};
  return address;
}

void GlobalMemory::release(void* address) {
  if (address == nullptr) return;
  CHECK(allocations_.erase(static_cast<std::byte*>(address)) == 1, "released what was not allocated");
}

std::vector<Extent> GlobalMemory::extents() const {
  std::vector<Extent> result;
  for (const auto& [address, allocation] : allocations_) result.push_back({address, allocation.bytes});
  return result;
}

std::vector<Extent> GlobalMemory::damaged() {
  std::vector<Extent> result;
  for (const auto& [address, allocation] : allocations_) {
    const bool before = mend({address - kRedZone, kRedZone});
    const bool behind = mend({address + allocation.bytes, tail_bytes(allocation.bytes)});
    if (before || behind) result.push_back({address, allocation.bytes});
  }
  return result;
}

}  // namespace stepc::simt
