#pragma once

#include "codegen/device/reduction.h"

// Reductions in their canonical order (ir/kernel.h): 16 lanes and a fixed tree within a segment of a row, partial
// results of segments from left to right.
namespace stepc_device {

constexpr int64_t kLanes = 16;

// One row being reduced. The 16 lanes are vectors of 32 bytes, which every compiler maps to what the machine has.
template <typename T, typename Op>
class RowReduction {
 public:
  RowReduction() { reset(); }

  // The next `n` elements of the segment; all but its last call have n divisible by 16.
  inline __attribute__((always_inline)) void add(const T* x, int64_t n) {
    Vector lanes[kVectors];
    for (int v = 0; v < kVectors; ++v) lanes[v] = lanes_[v];
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      for (int v = 0; v < kVectors; ++v) lanes[v] = Op::combine(lanes[v], load(x + i + v * kWidth));
    if (i < n) {
      T tail[kLanes];
      for (int64_t k = 0; k < kLanes; ++k) tail[k] = i + k < n ? x[i + k] : Op::identity();
      for (int v = 0; v < kVectors; ++v) lanes[v] = Op::combine(lanes[v], load(tail + v * kWidth));
    }
    for (int v = 0; v < kVectors; ++v) lanes_[v] = lanes[v];
  }

  void end_segment() {
    T lane[kLanes];
    __builtin_memcpy(lane, lanes_, sizeof(lane));
    for (int64_t half = kLanes / 2; half > 0; half /= 2)
      for (int64_t k = 0; k < half; ++k) lane[k] = Op::combine(lane[k], lane[k + half]);
    join(lane[0]);
    reset();
  }

  void join(T partial) {
    total_ = empty_ ? partial : Op::combine(total_, partial);
    empty_ = false;
  }

  T result() const { return total_; }

 private:
  static constexpr int64_t kWidth = 32 / static_cast<int64_t>(sizeof(T));
  static constexpr int kVectors = static_cast<int>(kLanes / kWidth);
  typedef T Vector __attribute__((vector_size(32)));

  static Vector load(const T* x) {
    Vector v;
    __builtin_memcpy(&v, x, sizeof(v));
    return v;
  }
  void reset() {
    for (int v = 0; v < kVectors; ++v)
      for (int64_t k = 0; k < kWidth; ++k) lanes_[v][k] = Op::identity();
  }

  Vector lanes_[kVectors];
  T total_ = Op::identity();
  bool empty_ = true;
};

}  // namespace stepc_device
