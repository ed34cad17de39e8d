#pragma once

#include "ir/cost/device_spec.h"
#include "ir/kernel.h"

#include <cstdint>
#include <string_view>

namespace stepc {

enum class Bound : uint8_t { compute, memory, launch };
std::string_view bound_name(Bound bound);

// What limits a kernel, and how long it takes at that rate.
struct Prediction {
  double us = 0;
  Bound bound{};
};

// The roofline (Williams, Waterman and Patterson 2009): a launch costs its overhead and the longer of its memory
// traffic and its arithmetic, which overlap.
double predicted_us(const KernelTraffic& traffic, const DeviceSpec& device);

// Of a node that has no kernel yet: every operand and result is touched once.
double predicted_us(const Graph& graph, const Node& node, const DeviceSpec& device);

// A kernel's traffic where it finds again what the device's cache is trusted to hold (DeviceSpec::reuse_bytes).
KernelTraffic traffic_on(const Graph& graph, const Kernel& kernel, const DeviceSpec& device);

// The roofline of a whole kernel: contractions and convolutions at the share of their dtype's peak that a library
// reaches, everything else at the rate of generated kernels. `bound` is what takes longest.
Prediction predict(const Graph& graph, const Kernel& kernel, const DeviceSpec& device);

}  // namespace stepc
