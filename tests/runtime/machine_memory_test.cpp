#include "runtime/machine_memory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace stepc {
namespace {

namespace fs = std::filesystem;

// A root with 1000 KiB of available memory and the groups that a test adds.
class MachineMemoryTest : public testing::Test {
 protected:
  MachineMemoryTest() {
    fs::remove_all(root_);
    write("proc/meminfo", "MemTotal: 2000 kB\nMemAvailable: 1000 kB\n");
  }
  ~MachineMemoryTest() override { fs::remove_all(root_); }

  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  const fs::path root_ = fs::path(testing::TempDir()) / "machine_memory_test";
};

TEST_F(MachineMemoryTest, WithoutGroupsItIsWhatTheKernelSays) { EXPECT_EQ(available_memory_bytes(root_), 1000 * 1024); }

TEST_F(MachineMemoryTest, UnknownWithoutMeminfo) {
  fs::remove(root_ / "proc/meminfo");
  EXPECT_EQ(available_memory_bytes(root_), std::nullopt);
}

TEST_F(MachineMemoryTest, AGroupAboveMayAllowLess) {
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/outer/memory.max", "5000\n");
  write("sys/fs/cgroup/outer/memory.current", "3000\n");
  write("sys/fs/cgroup/outer/memory.stat", "anon 2500\ninactive_file 500\n");
  write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  write("sys/fs/cgroup/outer/inner/memory.current", "2000\n");
  EXPECT_EQ(available_memory_bytes(root_), 5000 - (3000 - 500));
}

TEST_F(MachineMemoryTest, Version1HasItsOwnHierarchy) {
  write("proc/self/cgroup", "7:cpu,cpuacct:/other\n4:memory:/job\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "8000\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4000\n");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1000\n");
  EXPECT_EQ(available_memory_bytes(root_), 3000);
}

TEST_F(MachineMemoryTest, AFullGroupHasNothingLeft) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "4000\n");
  write("sys/fs/cgroup/memory.current", "4096\n");
  EXPECT_EQ(available_memory_bytes(root_), 0);
}

}  // namespace
}  // namespace stepc
