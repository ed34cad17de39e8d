#pragma once

#include "codegen/cpu/program.h"
#include "ir/kernel.h"
#include "runtime/cpu/thread_pool.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace stepc {

// The library for contractions and convolutions on the CPU: oneDNN, or none where stepc is built without it (the CMake
// option STEPC_ONEDNN).

// Its version, where there is one.
std::optional<std::string> onednn_version();

// Who computes contractions and convolutions in this build.
inline cpu::Products cpu_products() { return onednn_version() ? cpu::Products::library : cpu::Products::generated; }

// A kernel that the library carries, made ready once.
class LibraryLaunch {
 public:
  virtual ~LibraryLaunch() = default;
  virtual int64_t scratch_bytes() const = 0;
  // The first elements of the kernel's buffers.
  virtual void run(ThreadPool& pool, std::span<void* const> buffers, void* scratch) const = 0;
};

// Of a contraction or convolution; only where there is a library.
std::unique_ptr<LibraryLaunch> make_library_launch(const Kernel& kernel);

}  // namespace stepc
