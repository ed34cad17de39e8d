#include "models/constant_directory.h"

#include "ir/support/error.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace stepc {
namespace {

namespace fs = std::filesystem;

class ConstantDirectoryTest : public testing::Test {
 protected:
  ConstantDirectoryTest() { fs::remove_all(folder_); }
  ~ConstantDirectoryTest() override { fs::remove_all(folder_); }

  const fs::path folder_ = fs::path(testing::TempDir()) / "constant_directory_test.constants";
  const Tensor tensor_ = Tensor::of_f32(std::vector<float>(20, 0.5F), {20});
  const std::string hash_ = constant_hash(tensor_);
};

TEST_F(ConstantDirectoryTest, ChecksWhatItReads) {
  ConstantDirectory directory(folder_);
  EXPECT_THROW(directory.get(hash_, tensor_.type()), UserError);
  directory.put(hash_, tensor_);
  EXPECT_EQ(directory.get(hash_, tensor_.type()), tensor_);
  EXPECT_THROW(directory.get(hash_, Type{Dtype::f32, {10}}), UserError);
  EXPECT_THROW(directory.get(hash_, Type{Dtype::f32, {4, 5}}), UserError);
  std::ofstream(folder_ / hash_, std::ios::binary) << std::string(80, 'x');
  EXPECT_THROW(directory.get(hash_, tensor_.type()), UserError);
}

TEST_F(ConstantDirectoryTest, ReplacesAFileOfAnotherSize) {
  ConstantDirectory directory(folder_);
  directory.put(hash_, tensor_);
  fs::resize_file(folder_ / hash_, 4);
  directory.put(hash_, tensor_);
  EXPECT_EQ(directory.get(hash_, tensor_.type()), tensor_);
}

TEST_F(ConstantDirectoryTest, WritersAtTheSameTimeDoNotDisturbEachOther) {
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i)
    writers.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        ConstantDirectory(folder_).put(hash_, tensor_);
        EXPECT_EQ(ConstantDirectory(folder_).get(hash_, tensor_.type()), tensor_);
      }
    });
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "temporary files are left";
}

}  // namespace
}  // namespace stepc
