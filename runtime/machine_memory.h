#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace stepc {

// Bytes of memory that this process could still take without swapping: what the kernel calls available, less where a
// control group (v1 or v2) of the process, or one above it, allows less. Pages that only cache files count as free.
// Unknown where the system does not say. `root` is the root of the file system.
std::optional<int64_t> available_memory_bytes(const std::filesystem::path& root = "/");

}  // namespace stepc
