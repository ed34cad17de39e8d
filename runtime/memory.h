#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace stepc {

// One aligned allocation. Poisoned memory is filled with a NaN, so that reading what was never written shows, and can
// tell up to where it was written.
class MemoryRegion {
 public:
  // Throws UserError where the machine cannot give that much.
  MemoryRegion(int64_t bytes, bool poison);

  std::byte* data() const { return data_.get(); }
  int64_t size() const { return bytes_; }
  // The end of the last word that no longer holds the poison; 0 where the region was not poisoned.
  int64_t high_water_bytes() const;

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  int64_t bytes_;
  bool poisoned_;
};

}  // namespace stepc
