#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace stepc::simt {

// A piece of global memory that a pointer must stay in.
struct Extent {
  const void* address = nullptr;
  int64_t bytes = 0;
};

// The device's memory. An allocation has exactly the bytes asked for, poisoned with 0xff (NaN in every float type), at
// a multiple of 256 as CUDA's are, between red zones.
class GlobalMemory {
 public:
  void* allocate(int64_t bytes);  // never null; throws UserError where the machine has no more
  void release(void* address);    // null is allowed
  std::vector<Extent> extents() const;
  // The allocations whose red zones were written to; they are mended.
  std::vector<Extent> damaged();

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  struct Allocation {
    std::unique_ptr<std::byte, Free> memory;
    int64_t bytes = 0;
  };

  std::map<std::byte*, Allocation> allocations_;  // by the address given out
};

}  // namespace stepc::simt
