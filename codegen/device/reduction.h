#pragma once

#include "codegen/device/function.h"

#include <stdint.h>

// How elements are combined; the order is the target's.
namespace stepc_device {

template <typename T>
struct SumOf {
  static STEPC_DEVICE T identity() { return T(0); }
  template <typename V>
  static STEPC_DEVICE V combine(V a, V b) {
    return a + b;
  }
};
template <typename T>
struct ProdOf {
  static STEPC_DEVICE T identity() { return T(1); }
  template <typename V>
  static STEPC_DEVICE V combine(V a, V b) {
    return a * b;
  }
};

template <typename T>
struct Limits;
template <>
struct Limits<float> {
  static STEPC_DEVICE float low() { return -__builtin_inff(); }
  static STEPC_DEVICE float high() { return __builtin_inff(); }
};
template <>
struct Limits<double> {
  static STEPC_DEVICE double low() { return -__builtin_inf(); }
  static STEPC_DEVICE double high() { return __builtin_inf(); }
};
template <>
struct Limits<int64_t> {
  static STEPC_DEVICE int64_t low() { return INT64_MIN; }
  static STEPC_DEVICE int64_t high() { return INT64_MAX; }
};
template <>
struct Limits<int32_t> {
  static STEPC_DEVICE int32_t low() { return INT32_MIN; }
  static STEPC_DEVICE int32_t high() { return INT32_MAX; }
};
// A NaN wins against every number.
template <typename T>
struct MaxOf {
  static STEPC_DEVICE T identity() { return Limits<T>::low(); }
  template <typename V>
  static STEPC_DEVICE V combine(V a, V b) {
    return ((a > b) | (a != a)) ? a : b;
  }
};
template <typename T>
struct MinOf {
  static STEPC_DEVICE T identity() { return Limits<T>::high(); }
  template <typename V>
  static STEPC_DEVICE V combine(V a, V b) {
    return ((a < b) | (a != a)) ? a : b;
  }
};

// The extreme element and its place. The winner does not depend on the order in which candidates come: a NaN beats
// every number, and among equals the first index wins, or the last one.
template <typename T, bool kMaximum, bool kLast>
class ArgReduction {
 public:
  STEPC_DEVICE void add(T value, int64_t index) {
    if (index_ < 0 || beats(value, index)) {
      value_ = value;
      index_ = index;
    }
  }
  STEPC_DEVICE void join(const ArgReduction& other) {
    if (other.index_ >= 0) add(other.value_, other.index_);
  }
  STEPC_DEVICE int64_t result() const { return index_ < 0 ? 0 : index_; }

 private:
  STEPC_DEVICE bool beats(T value, int64_t index) const {
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
