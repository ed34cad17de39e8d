#include "models/atomic_file.h"

#include "ir/support/error.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace stepc {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class AtomicFileTest : public testing::Test {
 protected:
  AtomicFileTest() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~AtomicFileTest() override { fs::remove_all(folder_); }

  const fs::path folder_ = fs::path(testing::TempDir()) / "atomic_file_test";
  const fs::path path_ = folder_ / "file";
};

TEST_F(AtomicFileTest, NothingIsSeenBeforeTheCommit) {
  write_file_atomically(path_.string(), "old");
  {
    AtomicFile file(path_.string());
    file.write("new");
    EXPECT_EQ(content(path_), "old");
  }
  EXPECT_EQ(content(path_), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "a temporary file is left";
  write_file_atomically(path_.string(), "new");
  EXPECT_EQ(content(path_), "new");
}

TEST_F(AtomicFileTest, AnswersBeforeTheWorkWhetherAFileCanBeWritten) {
  check_writable(path_.string());
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_THROW(check_writable(folder_.string()), UserError);
  EXPECT_THROW(check_writable((folder_ / "absent" / "file").string()), UserError);
}

TEST_F(AtomicFileTest, MoreThanTheDiskHoldsIsRefusedBeforeItIsWritten) {
  AtomicFile file(path_.string());
  EXPECT_THROW(file.reserve(int64_t{1} << 60), UserError);
}

}  // namespace
}  // namespace stepc
