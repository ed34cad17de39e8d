#include "runtime/machine_memory.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace stepc {
namespace {

namespace fs = std::filesystem;

// The number after `key` in a file of lines "key number ...".
std::optional<int64_t> field(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    int64_t number = 0;
    if (words >> name >> number && name == key) return number;
  }
  return std::nullopt;
}

// Absent for "max" too.
std::optional<int64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  int64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

struct MemoryFiles {
  const char* controller;  // in the second column of /proc/self/cgroup
  const char* mount;
  const char* limit;
  const char* usage;
  const char* file_cache;  // in memory.stat
};
constexpr MemoryFiles kVersion1{"memory", "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                "total_inactive_file"};
constexpr MemoryFiles kVersion2{"", "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};

// The process's group of a hierarchy: lines are "number:controllers:path".
std::optional<std::string> group_path(const fs::path& root, std::string_view controller) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    std::istringstream columns(line);
    std::string number;
    std::string controllers;
    std::string path;
    std::getline(columns, number, ':');
    std::getline(columns, controllers, ':');
    std::getline(columns, path);
    const bool listed = ("," + controllers + ",").find("," + std::string(controller) + ",") != std::string::npos;
    if (controller.empty() ? controllers.empty() : listed) return path;
  }
  return std::nullopt;
}

std::optional<int64_t> left_in_group(const fs::path& folder, const MemoryFiles& files) {
  const std::optional<int64_t> limit = number_in(folder / files.limit);
  if (!limit) return std::nullopt;
  const int64_t usage = number_in(folder / files.usage).value_or(0);
  const int64_t cache = field(folder / "memory.stat", files.file_cache).value_or(0);
  return std::max<int64_t>(*limit - std::max<int64_t>(usage - cache, 0), 0);
}

void keep_least(std::optional<int64_t>& least, std::optional<int64_t> value) {
  if (value && (!least || *value < *least)) least = value;
}

}  // namespace

std::optional<int64_t> available_memory_bytes(const fs::path& root) {
  std::optional<int64_t> least = field(root / "proc/meminfo", "MemAvailable:");
  if (least) *least *= 1024;
  for (const MemoryFiles& files : {kVersion1, kVersion2}) {
    const std::optional<std::string> group = group_path(root, files.controller);
    if (!group) continue;
    // In a container the path may be that of the host: what does not exist says nothing.
    const fs::path mount = root / files.mount;
    keep_least(least, left_in_group(mount, files));
    fs::path folder = mount;
    for (const fs::path& part : fs::path(*group).relative_path()) {
      folder /= part;
      keep_least(least, left_in_group(folder, files));
    }
  }
  return least;
}

}  // namespace stepc
