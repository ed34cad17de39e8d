#pragma once

#include "codegen/cuda/device/memory.cuh"
#include "codegen/device/reduction.h"

// Reductions of rows in their canonical order on the GPU, a function of the row's length alone: kThreads threads take
// four elements each in turn, in order; the threads of a warp are joined by a tree (lane i with lane i + 16, then + 8,
// + 4, + 2, + 1), the warps from first to last.
namespace stepc_device {

constexpr int kRowVector = 4;  // elements that a thread takes in turn

// A value as words, to be shuffled and shared whatever its constructors.
template <typename T>
struct Words {
  static_assert(sizeof(T) % 4 == 0, "whole words");
  uint32_t words[sizeof(T) / 4];
};
template <typename T>
inline __device__ Words<T> words_of(const T& value) {
  Words<T> result;
  memcpy(&result, &value, sizeof(T));
  return result;
}
template <typename T>
inline __device__ T value_of(const Words<T>& words) {
  T result;
  memcpy(&result, &words, sizeof(T));
  return result;
}

template <typename T>
inline __device__ T shuffle_down(const T& value, int lanes) {
  Words<T> words = words_of(value);
#pragma unroll
  for (uint32_t& word : words.words) word = __shfl_down_sync(0xffffffffU, word, lanes);
  return value_of(words);
}

template <typename T>
inline __device__ T first_lane(const T& value) {
  Words<T> words = words_of(value);
#pragma unroll
  for (uint32_t& word : words.words) word = __shfl_sync(0xffffffffU, word, 0);
  return value_of(words);
}

// How two partial results of a plain reduction, or of an arg reduction, become one.
template <typename Op>
struct Joined {
  template <typename T>
  static inline __device__ T join(const T& a, const T& b) {
    return Op::combine(a, b);
  }
};
struct JoinedArg {
  template <typename State>
  static inline __device__ State join(State a, const State& b) {
    a.join(b);
    return a;
  }
};

// The row's result from those of its threads, known to all of them. Whole warps call it; with more than one warp, the
// whole block.
template <int kThreads, typename Join, typename T>
inline __device__ T row_total(T value) {
  for (int lanes = 16; lanes > 0; lanes /= 2) value = Join::join(value, shuffle_down(value, lanes));
  if (kThreads == 32) return first_lane(value);
  __shared__ Words<T> warps[kThreads / 32];
  if (threadIdx.x % 32 == 0) shared_store(warps, static_cast<int>(threadIdx.x / 32), words_of(value));
  __syncthreads();
  T total = value_of(shared_load(warps, 0));
  for (int w = 1; w < kThreads / 32; ++w) total = Join::join(total, value_of(shared_load(warps, w)));
  __syncthreads();
  return total;
}

}  // namespace stepc_device
