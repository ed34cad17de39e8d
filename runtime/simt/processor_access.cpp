// What a running thread asks its processor for: memory, warp operations, asynchronous copies.
#include "runtime/simt/processor.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace stepc::simt {
namespace {

constexpr const char* kAccessNames[] = {"load of", "store to", "atomic operation on"};

const char* address_at(const void* address) { return static_cast<const char*>(address); }

// How the bytes at `address` lie to an extent that they are not in.
std::string beside(const Extent& extent, const void* address) {
  const int64_t offset = address_at(address) - address_at(extent.address);
  return offset < 0 ? fmt::format("{} bytes before a buffer of {} bytes", -offset, extent.bytes)
                    : fmt::format("at byte {} of a buffer of {} bytes", offset, extent.bytes);
}

// Lanes or threads as ranges: "0-3, 7".
template <typename Has>
std::string ranges(int32_t count, const Has& has) {
  std::string text;
  for (int32_t i = 0; i < count; ++i) {
    if (!has(i)) continue;
    const int32_t begin = i;
    while (i + 1 < count && has(i + 1)) ++i;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", begin);
    if (i > begin) text += fmt::format("-{}", i);
  }
  return text;
}

}  // namespace

// The bytes that a pointer may reach: all buffers that it points into, as one where they overlap.
Extent Processor::extent_of(const void* base) {
  Recent& recent = recent_[reinterpret_cast<uintptr_t>(base) / 16 % recent_.size()];
  if (recent.base == base) return recent.extent;
  const char* begin = nullptr;
  const char* end = nullptr;
  for (const Extent& extent : work_->extents) {
    const char* const first = address_at(extent.address);
    if (address_at(base) < first || address_at(base) >= first + extent.bytes) continue;
    begin = begin == nullptr ? first : std::min(begin, first);
    end = std::max(end, first + extent.bytes);
  }
  recent = {base, {begin, end - begin}};
  return recent.extent;
}

bool Processor::access_global(const void* base, const void* address, StepcSimtAccess access) {
  const Extent extent = extent_of(base);
  const int64_t offset = address_at(address) - address_at(extent.address);
  const bool inside = extent.address != nullptr && offset >= 0 && offset + access.bytes <= extent.bytes;
  if (inside && is_aligned(address, access.alignment)) return true;
  const std::string what = fmt::format("global {} {} bytes", kAccessNames[access.kind], access.bytes);
  const FindingKind kind = inside ? FindingKind::misaligned : FindingKind::out_of_bounds;
  report(kind, access.line, current_, address,
         extent.address == nullptr ? what + " through a pointer to no buffer of the launch"
         : !inside                 ? what + " " + beside(extent, address)
                                   : fmt::format("{} at an address that is no multiple of {}", what, access.alignment));
  return false;
}

bool Processor::access_shared(const void* base, const void* address, StepcSimtAccess access) {
  auto problem = shared_.access(base, address, access, shared_thread());
  if (!problem) return true;
  if (problem->kind == FindingKind::uninitialised) {
    if (const AsyncCopy* copy = copy_under_way(address, access.bytes)) {
      problem->kind = FindingKind::copy_not_awaited;
      problem->text += fmt::format(": the copy_async at line {} has not been waited for", copy->line);
    }
  }
  report(problem->kind, access.line, current_, address, problem->text);
  return !problem->refused;
}

const Processor::AsyncCopy* Processor::copy_under_way(const void* address, int bytes) const {
  const auto* const begin = static_cast<const unsigned char*>(address);
  for (const Thread& thread : threads_)
    for (const AsyncCopy& copy : thread.copies)
      if (begin < copy.shared + copy.bytes && copy.shared < begin + bytes) return &copy;
  return nullptr;
}

const unsigned char* Processor::exchange(int operation, unsigned mask, const void* payload, unsigned bytes, int line,
                                         unsigned* arrived) {
  Thread& thread = threads_[static_cast<size_t>(current_)];
  const int lane = current_ % kStepcWarpSize;
  unsigned char* const result = results_[static_cast<size_t>(current_ / kStepcWarpSize)].data();
  if (mask != 0 && (mask >> lane & 1U) == 0) {
    report(FindingKind::incomplete_warp, line, current_, nullptr,
           fmt::format("lane {} takes part in a warp operation whose mask {:#x} leaves it out", lane, mask));
    mask = 1U << lane;
  }
  thread.operation = operation;
  thread.mask = mask;
  std::memcpy(thread.payload.data(), payload, bytes);
  wait(State::in_warp, line);
  *arrived = thread.mask;
  return result;
}

void Processor::copy_async(void* shared, const void* global, int bytes, int line) {
  const bool from = access_global(global, global, {kStepcLoad, bytes, bytes, line});
  const bool to = access_shared(shared, shared, {kStepcStore, bytes, bytes, line});
  if (!from || !to) return;
  shared_.forget(shared, bytes);
  Thread& thread = threads_[static_cast<size_t>(current_)];
  thread.copies.push_back({static_cast<unsigned char*>(shared), global, bytes, line, thread.groups});
}

void Processor::wait_async(int newest) {
  Thread& thread = threads_[static_cast<size_t>(current_)];
  const auto is_due = [&](const AsyncCopy& copy) { return copy.group < thread.groups - newest; };
  for (const AsyncCopy& copy : thread.copies)
    if (is_due(copy)) shared_.fill(copy.shared, copy.global, copy.bytes, shared_thread(), copy.line);
  std::erase_if(thread.copies, is_due);
}

void Processor::report(FindingKind kind, int line, int32_t thread, const void* address, std::string text) {
  findings_.add(
      {kind, work_->kernel, line, view_.block_index, thread, reinterpret_cast<uintptr_t>(address), std::move(text)});
}

// No thread can go on, and not all wait at one barrier.
void Processor::report_stuck() {
  for (int32_t index = 0; index < work_->threads; ++index) {
    const Thread& thread = threads_[static_cast<size_t>(index)];
    if (thread.state != State::in_warp) continue;
    const int32_t first = index / kStepcWarpSize * kStepcWarpSize;
    const unsigned missing = thread.mask & ~waiting_with(first, index);
    const std::string lanes = ranges(kStepcWarpSize, [&](int32_t lane) { return (missing >> lane & 1U) != 0; });
    report(FindingKind::incomplete_warp, thread.line, index, nullptr,
           fmt::format("lane{} {} of mask {:#x} never come{} to this warp operation: {}",
                       std::has_single_bit(missing) ? "" : "s", lanes, thread.mask,
                       std::has_single_bit(missing) ? "s" : "", waiting_threads()));
    return;
  }
}

// Where each thread of the block stands.
std::string Processor::waiting_threads() const {
  std::vector<std::pair<State, int>> places;
  const auto place_of = [&](int32_t index) {
    const Thread& thread = threads_[static_cast<size_t>(index)];
    return std::pair(thread.state, thread.state == State::done ? 0 : thread.line);
  };
  for (int32_t index = 0; index < work_->threads; ++index)
    if (std::find(places.begin(), places.end(), place_of(index)) == places.end()) places.push_back(place_of(index));
  std::string text;
  for (const auto& place : places) {
    text += text.empty() ? "threads " : "; threads ";
    text += ranges(work_->threads, [&](int32_t index) { return place_of(index) == place; });
    text += place.first == State::done         ? " ended"
            : place.first == State::at_barrier ? fmt::format(" at the barrier at line {}", place.second)
                                               : fmt::format(" in the warp operation at line {}", place.second);
  }
  return text;
}

}  // namespace stepc::simt
