#include "ir/cost/roofline.h"

#include <algorithm>

namespace stepc {

DeviceSpec cpu_device() { return {"cpu", 19e3, 60e3, 5}; }

double predicted_us(const KernelTraffic& traffic, const DeviceSpec& device) {
  const auto bytes = static_cast<double>(traffic.read_bytes + traffic.write_bytes);
  return device.launch_us +
         std::max(bytes / device.bytes_per_us, static_cast<double>(traffic.flops) / device.flops_per_us);
}

}  // namespace stepc
