// Where libraries of the CUDA toolkit are looked for.
#include "runtime/cuda/shared_library.h"
#include "ir/support/error.h"
#include "tests/runtime/environment_variable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace stepc::test {
namespace {

namespace fs = std::filesystem;
using cuda::open_toolkit_library;
using testing::HasSubstr;

// A folder with what looks like a toolkit's library: a copy of the C++ runtime's file under other names.
class ToolkitLibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("stepc-toolkit-{}", getpid());
    fs::remove_all(folder_);
    std::string why;
    const auto libz = cuda::SharedLibrary::open("libz.so.1", why);
    ASSERT_TRUE(libz) << why;
    library_ = libz->path();
  }
  void TearDown() override { fs::remove_all(folder_); }
  void put(const fs::path& file) const {
    fs::create_directories((folder_ / file).parent_path());
    fs::copy_file(library_, folder_ / file);
  }

  fs::path folder_, library_;
};

TEST_F(ToolkitLibraryTest, AnEnvironmentVariableNamesAFile) {
  put("other-name.so");
  const EnvironmentVariable variable("STEPC_TEST_LIBRARY", (folder_ / "other-name.so").string());
  const auto library = open_toolkit_library("stepctest", "STEPC_TEST_LIBRARY");
  ASSERT_TRUE(library);
  EXPECT_EQ(library->path(), folder_ / "other-name.so");
  EXPECT_NE(library->find("zlibVersion"), nullptr);
  EXPECT_EQ(library->find("no_such_function"), nullptr);
}

TEST_F(ToolkitLibraryTest, AnEnvironmentVariableNamesAFolder) {
  put("libstepctest.so.12");
  put("libstepctest.so.13");
  put("libstepctest-extra.so.14");
  const EnvironmentVariable variable("STEPC_TEST_LIBRARY", folder_.string());
  EXPECT_EQ(open_toolkit_library("stepctest", "STEPC_TEST_LIBRARY")->path(), folder_ / "libstepctest.so.13");
}

TEST_F(ToolkitLibraryTest, AVariableThatNamesNothingIsOneLine) {
  fs::create_directories(folder_);
  const EnvironmentVariable variable("STEPC_TEST_LIBRARY", folder_.string());
  EXPECT_THAT([] { open_toolkit_library("stepctest", "STEPC_TEST_LIBRARY"); },
              testing::ThrowsMessage<UserError>(HasSubstr("no libstepctest.so in this folder")));
}

TEST_F(ToolkitLibraryTest, CudaHomeIsSearched) {
  put("lib64/libstepctest.so.13");
  const EnvironmentVariable variable("CUDA_HOME", folder_.string());
  EXPECT_EQ(open_toolkit_library("stepctest", "STEPC_TEST_LIBRARY")->path(), folder_ / "lib64/libstepctest.so.13");
}

TEST_F(ToolkitLibraryTest, PackagesOfPythonAreSearched) {
  put("nvidia/cu13/lib/libstepctest.so.13");
  const EnvironmentVariable variable("PYTHONPATH", folder_.string());
  const auto library = open_toolkit_library("stepctest", "STEPC_TEST_LIBRARY");
  ASSERT_TRUE(library) << "is there a python3 on PATH?";
  EXPECT_EQ(library->path(), folder_ / "nvidia/cu13/lib/libstepctest.so.13");
}

TEST_F(ToolkitLibraryTest, NowhereIsNothing) { EXPECT_FALSE(open_toolkit_library("stepctest", "STEPC_TEST_LIBRARY")); }

TEST_F(ToolkitLibraryTest, AFunctionThatIsMissingIsOneLine) {
  std::string why;
  const auto library = cuda::SharedLibrary::open(library_.string(), why);
  std::function<int(int)> entry;
  EXPECT_THAT([&] { library->bind(entry, "cuInit"); },
              testing::ThrowsMessage<UserError>(HasSubstr("is too old: it has no cuInit")));
}

TEST(SharedLibraryTest, WhatDoesNotOpenSaysWhy) {
  std::string why;
  EXPECT_FALSE(cuda::SharedLibrary::open("libno-such-library.so", why));
  EXPECT_THAT(why, HasSubstr("libno-such-library.so"));
}

}  // namespace
}  // namespace stepc::test
