#pragma once

// The only way in which device code touches memory. Under NVRTC these are the accesses themselves; on the SIMT target
// the engine looks at each first (runtime/simt/device) and an access that it refuses gives bytes 0xff, NaN in every
// float type, or stores nothing. `line` is where the caller stands.
//
// Vectors are N elements, together at most 16 bytes, a power of two, and aligned to their size.
#ifdef STEPC_SIMT
#define STEPC_HERE __builtin_LINE()
#else
#define STEPC_HERE 0
#endif

namespace stepc_device {

template <typename T, int N>
struct alignas(sizeof(T) * N) Vector {
  static_assert(sizeof(T) * N <= 16 && (sizeof(T) * N & (sizeof(T) * N - 1)) == 0, "1, 2, 4, 8 or 16 bytes");
  T values[N];

  __device__ __forceinline__ T& operator[](int i) { return values[i]; }
  __device__ __forceinline__ const T& operator[](int i) const { return values[i]; }
};

template <int kBytes>
__device__ __forceinline__ bool is_aligned(const void* pointer) {
  return reinterpret_cast<size_t>(pointer) % kBytes == 0;
}

// p, which is known to be aligned: what is_aligned asks of it is decided when it is compiled.
template <int kBytes, typename T>
__device__ __forceinline__ T* known_aligned(T* p) {
  return static_cast<T*>(__builtin_assume_aligned(p, kBytes));
}

// What p points at without const.
template <typename T>
struct Element {
  using Type = T;
};
template <typename T>
struct Element<const T> {
  using Type = T;
};
template <typename T>
using ElementOf = typename Element<T>::Type;

// One access of the size of Whole at p + i.
template <typename Whole, typename T>
__device__ __forceinline__ Whole load_as(const T* p, long long i, int line) {
#ifdef STEPC_SIMT
  return stepc_simt::load_global<Whole>(p, p + i, line);
#else
  return *reinterpret_cast<const Whole*>(p + i);
#endif
}

template <typename Whole, typename T>
__device__ __forceinline__ void store_as(T* p, long long i, const Whole& value, int line) {
#ifdef STEPC_SIMT
  stepc_simt::store_global<Whole>(p, p + i, value, line);
#else
  *reinterpret_cast<Whole*>(p + i) = value;
#endif
}

template <typename Whole, typename T>
__device__ __forceinline__ Whole shared_load_as(const T* p, int i, int line) {
#ifdef STEPC_SIMT
  return stepc_simt::load_shared<Whole>(p, p + i, line);
#else
  return *reinterpret_cast<const Whole*>(p + i);
#endif
}

template <typename Whole, typename T>
__device__ __forceinline__ void shared_store_as(T* p, int i, const Whole& value, int line) {
#ifdef STEPC_SIMT
  stepc_simt::store_shared<Whole>(p, p + i, value, line);
#else
  *reinterpret_cast<Whole*>(p + i) = value;
#endif
}

// Global memory.
template <typename T>
__device__ __forceinline__ ElementOf<T> load(T* p, long long i, int line = STEPC_HERE) {
  return load_as<ElementOf<T>>(p, i, line);
}

template <typename T>
__device__ __forceinline__ void store(T* p, long long i, ElementOf<T> value, int line = STEPC_HERE) {
  store_as(p, i, value, line);
}

template <int N, typename T>
__device__ __forceinline__ Vector<ElementOf<T>, N> load_vector(T* p, long long i, int line = STEPC_HERE) {
  return load_as<Vector<ElementOf<T>, N>>(p, i, line);
}

template <int N, typename T>
__device__ __forceinline__ void store_vector(T* p, long long i, const Vector<T, N>& value, int line = STEPC_HERE) {
  store_as(p, i, value, line);
}

// Shared memory.
template <typename T>
__device__ __forceinline__ ElementOf<T> shared_load(T* p, int i, int line = STEPC_HERE) {
  return shared_load_as<ElementOf<T>>(p, i, line);
}

template <typename T>
__device__ __forceinline__ void shared_store(T* p, int i, ElementOf<T> value, int line = STEPC_HERE) {
  shared_store_as(p, i, value, line);
}

template <int N, typename T>
__device__ __forceinline__ Vector<ElementOf<T>, N> shared_load_vector(T* p, int i, int line = STEPC_HERE) {
  return shared_load_as<Vector<ElementOf<T>, N>>(p, i, line);
}

template <int N, typename T>
__device__ __forceinline__ void shared_store_vector(T* p, int i, const Vector<T, N>& value, int line = STEPC_HERE) {
  shared_store_as(p, i, value, line);
}

// Copies 4, 8 or 16 bytes from global to shared memory while the thread goes on (cp.async). They are there for the
// thread after wait_async, for others after a barrier that follows it.
template <int BYTES>
__device__ __forceinline__ void copy_async(void* shared, const void* global, int line = STEPC_HERE) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
#ifdef STEPC_SIMT
  stepc_simt::copy_async(shared, global, BYTES, line);
#else
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  const size_t from = __cvta_generic_to_global(global);
  if (BYTES == 16)  // past the first-level cache, which no other thread of the block would read from
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(to), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;\n" ::"r"(to), "l"(from), "n"(BYTES) : "memory");
#endif
}

// Ends a group of the copies that this thread started since the last group.
__device__ __forceinline__ void commit_async() {
#ifdef STEPC_SIMT
  stepc_simt::commit_async();
#else
  asm volatile("cp.async.commit_group;\n" ::: "memory");
#endif
}

// Waits until all but the N newest groups of this thread are there.
template <int N>
__device__ __forceinline__ void wait_async() {
#ifdef STEPC_SIMT
  stepc_simt::wait_async(N);
#else
  asm volatile("cp.async.wait_group %0;\n" ::"n"(N) : "memory");
#endif
}

}  // namespace stepc_device
