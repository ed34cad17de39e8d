#pragma once

#include "runtime/simt/device/cuda.h"

// How the engine calls a kernel: a launch's arguments are pointers to the parameters' values.
namespace stepc_simt {

template <unsigned... I>
struct Indices {};
template <unsigned N, unsigned... I>
struct FirstIndices : FirstIndices<N - 1, N - 1, I...> {};
template <unsigned... I>
struct FirstIndices<0, I...> {
  using Type = Indices<I...>;
};

template <typename... Parameters, unsigned... I>
__forceinline__ void call(void (*function)(Parameters...), void* const* arguments, Indices<I...>) {
  function(*static_cast<Parameters*>(arguments[I])...);
}

template <typename... Parameters>
__forceinline__ void enter(void (*function)(Parameters...), StepcSimtThread* thread, void* const* arguments) {
  stepc_simt_thread = thread;
  call(function, arguments, typename FirstIndices<sizeof...(Parameters)>::Type{});
}

}  // namespace stepc_simt

#define STEPC_SIMT_ENTRY(KERNEL)                                                                             \
  extern "C" {                                                                                               \
  __attribute__((visibility("default"))) void stepc_simt_##KERNEL(StepcSimtThread* thread, void* const* a) { \
    stepc_simt::enter(KERNEL, thread, a);                                                                    \
  }                                                                                                          \
  __attribute__((visibility("default"))) unsigned char* stepc_simt_arena_##KERNEL() { return stepc_shared; } \
  }
