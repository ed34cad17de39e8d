#pragma once

#include "runtime/simt/device/cuda.h"

// Operations of a warp. Each is one exchange: every lane of the mask brings something and then reads what it needs of
// the others.
namespace stepc_simt {

// What the lanes of the mask brought.
template <typename T>
class Lanes {
  static_assert(sizeof(T) <= kStepcLaneBytes, "fits a slot");

 public:
  Lanes(StepcSimtOperation operation, unsigned mask, const T& own, int line)
      : slots_(self()->engine->exchange(self(), operation, mask, &own, sizeof(T), line, &arrived_)) {}

  unsigned arrived() const { return arrived_; }
  T operator[](int lane) const {
    T value;
    __builtin_memcpy(&value, slots_ + lane * kStepcLaneBytes, sizeof(T));
    return value;
  }

 private:
  unsigned arrived_ = 0;
  const unsigned char* slots_;
};

inline int own_lane() { return static_cast<int>(self()->thread_index % 32U); }

// The value of lane `source`; a lane outside the mask has none to give.
template <typename T>
T shuffle(unsigned mask, const T& own, int source, int line) {
  static_assert(!__is_class(T) && (sizeof(T) == 4 || sizeof(T) == 8), "shuffles move 4 or 8 bytes");
  const Lanes<T> lanes(kStepcShuffle, mask, own, line);
  if ((lanes.arrived() >> source & 1U) != 0) return lanes[source];
  self()->engine->inactive_source(self(), source, mask, line);
  return poison<T>();
}

inline unsigned ballot(unsigned mask, bool own, int line) {
  const Lanes<bool> lanes(kStepcVote, mask, own, line);
  unsigned votes = 0;
  for (int lane = 0; lane < 32; ++lane)
    if ((lanes.arrived() >> lane & 1U) != 0 && lanes[lane]) votes |= 1U << lane;
  return votes;
}

}  // namespace stepc_simt

// `width` cuts the warp into groups that shuffle among themselves: 1, 2, 4, 8, 16 or 32 lanes.
template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, int line = __builtin_LINE()) {
  const int first = stepc_simt::own_lane() & ~(width - 1);
  return stepc_simt::shuffle(mask, value, first + (source & (width - 1)), line);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, int line = __builtin_LINE()) {
  const int lane = stepc_simt::own_lane();
  const bool within = static_cast<unsigned>(lane & (width - 1)) >= delta;
  return stepc_simt::shuffle(mask, value, within ? lane - static_cast<int>(delta) : lane, line);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, int line = __builtin_LINE()) {
  const int lane = stepc_simt::own_lane();
  const bool within = static_cast<unsigned>(lane & (width - 1)) + delta < static_cast<unsigned>(width);
  return stepc_simt::shuffle(mask, value, within ? lane + static_cast<int>(delta) : lane, line);
}
// A lane of an earlier group may be read, one of a later group may not.
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, int line = __builtin_LINE()) {
  const int lane = stepc_simt::own_lane();
  const int source = lane ^ bits;
  const bool within = source < (lane & ~(width - 1)) + width;
  return stepc_simt::shuffle(mask, value, within ? source : lane, line);
}

inline void __syncwarp(unsigned mask = 0xffffffffU, int line = __builtin_LINE()) {
  stepc_simt::Lanes<char>(kStepcSyncWarp, mask, 0, line);
}
// The lanes that come here before any lane of the warp can do anything else.
inline unsigned __activemask(int line = __builtin_LINE()) {
  return stepc_simt::Lanes<char>(kStepcActiveMask, 0, 0, line).arrived();
}
inline unsigned __ballot_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return stepc_simt::ballot(mask, predicate != 0, line);
}
inline int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return stepc_simt::ballot(mask, predicate != 0, line) != 0;
}
inline int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return stepc_simt::ballot(mask, predicate == 0, line) == 0;
}
