#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stepc {

// What targets write differently.
class Dialect {
 public:
  static constexpr size_t kNoSource = SIZE_MAX;  // of kernels without a nest

  virtual ~Dialect() = default;
  virtual std::string_view index_type() const = 0;  // of coordinates
  // An element in memory, of its storage type; `source` is the number of the nest's source that asks.
  virtual std::string element(size_t source, int32_t buffer, const std::string& index) const = 0;
  // The statement that writes one.
  virtual std::string assignment(int32_t buffer, const std::string& index, const std::string& value) const = 0;
  // `raw` in [-extent, extent) wrapped into [0, extent); anything else is reported, and 0 goes on.
  virtual std::string checked_index(const std::string& raw, int64_t extent) const = 0;
};

}  // namespace stepc
