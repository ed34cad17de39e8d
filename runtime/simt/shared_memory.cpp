#include "runtime/simt/shared_memory.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace stepc::simt {
namespace {

// Touch::who is a thread's index, or one of these and, with kWarp, the warp's index.
constexpr uint16_t kWarp = 0x4000;
constexpr uint16_t kSeveral = 0x8000;
constexpr uint16_t kAtomic = 0x2000;  // beside any: the stores were atomic operations
constexpr int kWarpSize = 32;
constexpr int kPoison = 0xff;
constexpr int64_t kGroup = 4;  // bytes that are looked at together

uint16_t line_of(int line) { return static_cast<uint16_t>(std::min(line, 0xffff)); }

std::string describe(uint16_t who) {
  who = static_cast<uint16_t>(who & ~kAtomic);
  if ((who & kSeveral) != 0) return "several threads";
  if ((who & kWarp) != 0) return fmt::format("several threads of warp {}", who & ~kWarp);
  return fmt::format("thread {}", who);
}

}  // namespace

void SharedMemory::bind(unsigned char* base, std::vector<SharedArray> arrays) {
  base_ = base;
  arrays_ = std::move(arrays);
  recent_ = 0;
  extent_ = 0;
  for (const SharedArray& array : arrays_) extent_ = std::max(extent_, array.offset + array.bytes);
  if (bytes_.size() < static_cast<size_t>(extent_)) bytes_.resize(static_cast<size_t>(extent_));
}

uint32_t SharedMemory::begin_block(uint32_t latest) {
  clock_ = std::max(clock_, latest);
  if (clock_ > UINT32_MAX / 2) {
    std::fill(bytes_.begin(), bytes_.end(), Byte());
    clock_ = 0;
  }
  block_start_ = epoch_ = ++clock_;
  for (const SharedArray& array : arrays_) std::memset(base_ + array.offset, kPoison, static_cast<size_t>(array.bytes));
  return epoch_;
}

uint32_t SharedMemory::barrier(uint32_t latest) { return epoch_ = clock_ = std::max(clock_, latest) + 1; }

const SharedArray* SharedMemory::array_of(const void* address) {
  const int64_t offset = static_cast<const unsigned char*>(address) - base_;
  const auto holds = [&](const SharedArray& array) {
    return offset >= array.offset && offset < array.offset + array.bytes;
  };
  if (recent_ < arrays_.size() && holds(arrays_[recent_])) return &arrays_[recent_];
  const auto found = std::find_if(arrays_.begin(), arrays_.end(), holds);
  if (found == arrays_.end()) return nullptr;
  recent_ = static_cast<size_t>(found - arrays_.begin());
  return &*found;
}

bool SharedMemory::contains(const void* address) const {
  const int64_t offset = static_cast<const unsigned char*>(address) - base_;
  return offset >= 0 && offset < extent_;
}

inline bool SharedMemory::is_ordered(Touch earlier, Thread thread) const {
  if (earlier.clock < epoch_) return true;
  const auto who = static_cast<uint16_t>(earlier.who & ~kAtomic);
  if ((who & kSeveral) != 0) return false;
  const int warp = (who & kWarp) != 0 ? who & ~kWarp : who / kWarpSize;
  return who == thread.index || (warp == thread.index / kWarpSize && earlier.clock < thread.clock);
}

// One more thread does what others may have done since the barrier, and they need no order among themselves.
inline void SharedMemory::join(Touch& touch, Thread thread, int line) const {
  const auto index = static_cast<uint16_t>(thread.index);
  if (touch.clock < epoch_ || touch.who == index) {
    touch = {thread.clock, index, line_of(line)};
    return;
  }
  const int warp = (touch.who & kWarp) != 0 ? touch.who & ~kWarp : touch.who / kWarpSize;
  const bool same = (touch.who & kSeveral) == 0 && warp == thread.index / kWarpSize;
  touch.who = same ? static_cast<uint16_t>(kWarp | warp) : kSeveral;
  touch.clock = std::max(touch.clock, thread.clock);
  touch.line = line_of(line);
}

inline SharedMemory::Conflict SharedMemory::conflict(const Byte& byte, StepcSimtAccessKind kind, Thread thread) const {
  const bool both_atomic = kind == kStepcAtomic && (byte.write.who & kAtomic) != 0;
  if (kind != kStepcStore && byte.write.clock < block_start_) return Conflict::unwritten;
  if (!both_atomic && !is_ordered(byte.write, thread)) return Conflict::written;
  if (kind != kStepcLoad && !is_ordered(byte.read, thread)) return Conflict::read;
  return Conflict::none;
}

inline void SharedMemory::note(Byte& byte, StepcSimtAccess access, Thread thread) const {
  if (access.kind == kStepcLoad) {
    join(byte.read, thread, access.line);
    return;
  }
  const bool both_atomic = access.kind == kStepcAtomic && (byte.write.who & kAtomic) != 0;
  byte.write.who = static_cast<uint16_t>(byte.write.who & ~kAtomic);
  if (both_atomic)
    join(byte.write, thread, access.line);
  else
    byte.write = {thread.clock, static_cast<uint16_t>(thread.index), line_of(access.line)};
  if (access.kind == kStepcAtomic) byte.write.who |= kAtomic;
}

SharedMemory::Problem SharedMemory::problem_of(Conflict conflict, const Byte& byte) {
  if (conflict == Conflict::unwritten) return {FindingKind::uninitialised, "which the block has not written", false};
  const bool written = conflict == Conflict::written;
  const Touch& earlier = written ? byte.write : byte.read;
  return {FindingKind::race,
          fmt::format("which was {} by {} at line {} with no barrier between", written ? "written" : "read",
                      describe(earlier.who), earlier.line),
          false};
}

std::string SharedMemory::place(const SharedArray& array, const void* address) const {
  const int64_t offset = static_cast<const unsigned char*>(address) - base_ - array.offset;
  return fmt::format("byte {} of {} ({} bytes)", offset, array.name, array.bytes);
}

std::optional<SharedMemory::Problem> SharedMemory::access(const void* base, const void* address, StepcSimtAccess access,
                                                          Thread thread) {
  constexpr const char* kNames[] = {"load of", "store to", "atomic operation on"};
  const auto what = [&] { return fmt::format("shared {} {} bytes", kNames[access.kind], access.bytes); };
  const SharedArray* const array = array_of(base);
  if (array == nullptr)
    return Problem{FindingKind::out_of_bounds, what() + " through a pointer to no shared memory of the block", true};
  const int64_t offset = static_cast<const unsigned char*>(address) - base_;
  if (offset < array->offset || offset + access.bytes > array->offset + array->bytes)
    return Problem{FindingKind::out_of_bounds, fmt::format("{} at {}", what(), place(*array, address)), true};
  if (!is_aligned(address, access.alignment))
    return Problem{FindingKind::misaligned,
                   fmt::format("{} at {}, at an address that is no multiple of {}", what(), place(*array, address),
                               access.alignment),
                   true};
  std::optional<Problem> first;
  for (int64_t at = offset; at < offset + access.bytes; at += kGroup) {
    const std::span<Byte> group(&bytes_[static_cast<size_t>(at)],
                                static_cast<size_t>(std::min<int64_t>(kGroup, offset + access.bytes - at)));
    // Bytes of one element have one history; only then is it looked at once.
    const bool is_uniform = std::all_of(group.begin() + 1, group.end(), [&](const Byte& b) { return b == group[0]; });
    const size_t distinct = is_uniform ? 1 : group.size();
    for (size_t i = 0; i < distinct; ++i) {
      if (const Conflict found = conflict(group[i], access.kind, thread); found != Conflict::none && !first) {
        first = problem_of(found, group[i]);
        first->text = fmt::format("{} at {}, {}", what(), place(*array, base_ + at + i), first->text);
      }
      note(group[i], access, thread);
    }
    std::fill(group.begin() + static_cast<ptrdiff_t>(distinct), group.end(), group[0]);
  }
  return first;
}

void SharedMemory::forget(void* address, int64_t bytes) {
  const int64_t offset = static_cast<unsigned char*>(address) - base_;
  for (int64_t i = offset; i < offset + bytes; ++i) bytes_[static_cast<size_t>(i)].write = {};
  std::memset(address, kPoison, static_cast<size_t>(bytes));
}

void SharedMemory::fill(void* address, const void* source, int64_t bytes, Thread thread, int line) {
  const int64_t offset = static_cast<unsigned char*>(address) - base_;
  for (int64_t i = offset; i < offset + bytes; ++i)
    bytes_[static_cast<size_t>(i)].write = {thread.clock, static_cast<uint16_t>(thread.index), line_of(line)};
  std::memcpy(address, source, static_cast<size_t>(bytes));
}

}  // namespace stepc::simt
