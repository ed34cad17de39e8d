#pragma once

#include <stdint.h>

// Reductions in their canonical order (ir/kernel.h): 16 lanes and a fixed tree within a segment of a row, partial
// results of segments from left to right.
namespace stepc_device {

constexpr int64_t kLanes = 16;

template <typename T>
struct SumOf {
  static T identity() { return T(0); }
  template <typename V>
  static V combine(V a, V b) {
    return a + b;
  }
};
template <typename T>
struct ProdOf {
  static T identity() { return T(1); }
  template <typename V>
  static V combine(V a, V b) {
    return a * b;
  }
};

template <typename T>
struct Limits;
template <>
struct Limits<float> {
  static float low() { return -__builtin_inff(); }
  static float high() { return __builtin_inff(); }
};
template <>
struct Limits<double> {
  static double low() { return -__builtin_inf(); }
  static double high() { return __builtin_inf(); }
};
template <>
struct Limits<int64_t> {
  static int64_t low() { return INT64_MIN; }
  static int64_t high() { return INT64_MAX; }
};
template <>
struct Limits<int32_t> {
  static int32_t low() { return INT32_MIN; }
  static int32_t high() { return INT32_MAX; }
};
// A NaN wins against every number.
template <typename T>
struct MaxOf {
  static T identity() { return Limits<T>::low(); }
  template <typename V>
  static V combine(V a, V b) {
    return ((a > b) | (a != a)) ? a : b;
  }
};
template <typename T>
struct MinOf {
  static T identity() { return Limits<T>::high(); }
  template <typename V>
  static V combine(V a, V b) {
    return ((a < b) | (a != a)) ? a : b;
  }
};

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

// The extreme element and its place. The winner does not depend on the order in which candidates come: a NaN beats
// every number, and among equals the first index wins, or the last one.
template <typename T, bool kMaximum, bool kLast>
class ArgReduction {
 public:
  void add(T value, int64_t index) {
    if (index_ < 0 || beats(value, index)) {
      value_ = value;
      index_ = index;
    }
  }
  void join(const ArgReduction& other) {
    if (other.index_ >= 0) add(other.value_, other.index_);
  }
  int64_t result() const { return index_ < 0 ? 0 : index_; }

 private:
  bool beats(T value, int64_t index) const {
    const bool nan = value != value;
    const bool best_nan = value_ != value_;
    const bool equal = value == value_ || (nan && best_nan);
    if (equal) return kLast ? index > index_ : index < index_;
    if (nan || best_nan) return nan;
    return kMaximum ? value > value_ : value < value_;
  }

  T value_ = T(0);
  int64_t index_ = -1;
};

}  // namespace stepc_device
