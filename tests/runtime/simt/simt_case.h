#pragma once

#include "runtime/simt/simt_device.h"

#include <cstring>
#include <string>
#include <vector>

namespace stepc::test {

constexpr simt::Order kOrders[] = {simt::Order::ascending, simt::Order::descending, simt::Order::random};

// A kernel `kernel` on a SIMT device of its own, behind the device functions that generated code has.
class SimtCase {
 public:
  explicit SimtCase(const std::string& kernel, simt::Order order = simt::Order::ascending,
                    cuda::Architecture architecture = {9, 0});

  template <typename T>
  T* buffer(const std::vector<T>& values) {
    T* const result = output<T>(values.size());
    std::memcpy(result, values.data(), values.size() * sizeof(T));
    return result;
  }
  template <typename T>
  T* output(size_t count) {
    return static_cast<T*>(device.allocate(static_cast<int64_t>(count * sizeof(T))));
  }

  // Launches it over the pointers.
  template <typename... Pointers>
  void launch(int64_t grid, int32_t threads, int64_t shared_bytes, Pointers... pointers) {
    void* values[] = {pointers...};
    void* arguments[sizeof...(pointers)];
    for (size_t i = 0; i < sizeof...(pointers); ++i) arguments[i] = &values[i];
    device.launch({"kernel", grid, threads, shared_bytes}, arguments);
  }
  // The same, and what it found.
  template <typename... Pointers>
  std::vector<simt::Finding> findings(int64_t grid, int32_t threads, int64_t shared_bytes, Pointers... pointers) {
    try {
      launch(grid, threads, shared_bytes, pointers...);
    } catch (const simt::FindingsError& error) {
      return error.findings();
    }
    return {};
  }

  // The line of the text that has `part`.
  int line_of(const std::string& part) const;

  SimtDevice device;

 private:
  std::string text_;
};

}  // namespace stepc::test
