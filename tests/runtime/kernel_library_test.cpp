// Compiling, the cache on disk, and what goes wrong with both.
#include "runtime/cpu/kernel_library.h"
#include "codegen/cpu/program.h"
#include "ir/builder.h"
#include "ir/support/error.h"
#include "tests/runtime/environment_variable.h"
#include "tests/runtime/run_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace stepc::test {
namespace {

namespace fs = std::filesystem;

class KernelLibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("stepc-cache-{}", getpid());
    fs::remove_all(folder_);
    Builder b(graph_);
    const ValueId x = graph_.add_input({Dtype::f32, {8}}, InputRole::data, "x");
    graph_.add_output(b.mul(x, x), OutputRole::output, "y");
    plan_ = plain_plan(graph_);
    program_ = cpu::generate(graph_, plan_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  KernelLibrary load() const { return {cpu::translation_units(program_.functions), {.threads = 1, .folder = folder_}}; }
  fs::path entry() const { return fs::directory_iterator(folder_)->path(); }
  std::string refusal() const {
    try {
      load();
      return "accepted";
    } catch (const UserError& error) {
      return error.what();
    }
  }

  fs::path folder_;
  Graph graph_;
  Plan plan_;
  cpu::Program program_;
};

TEST_F(KernelLibraryTest, SecondLoadComesFromTheCache) {
  EXPECT_EQ(load().cache_hits(), 0);
  const KernelLibrary again = load();
  EXPECT_EQ(again.cache_hits(), 1);
  EXPECT_NE(again.find(program_.launches[0].symbol), nullptr);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1) << "temporary files stay";
}

TEST_F(KernelLibraryTest, CorruptEntriesAreBuiltAgain) {
  load();
  const auto size = fs::file_size(entry());
  for (const auto damage : {size / 2, size - 1, uintmax_t{0}}) {
    fs::resize_file(entry(), damage);
    EXPECT_EQ(load().cache_hits(), 0);
    EXPECT_EQ(load().cache_hits(), 1);
  }
  std::fstream file(entry(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(size / 3));
  file.put('\x5a').put('\x5a').put('\x5a');
  file.close();
  EXPECT_EQ(load().cache_hits(), 0);
}

TEST_F(KernelLibraryTest, MissingCompilerIsOneLine) {
  const EnvironmentVariable compiler("CXX", "no-such-compiler");
  EXPECT_THAT(refusal(), testing::HasSubstr("no C++ compiler: 'no-such-compiler' does not run"));
}

TEST_F(KernelLibraryTest, CompilerThatOnlyFailsIsOneLine) {
  const EnvironmentVariable compiler("CXX", "g++ -fno-such-option");
  EXPECT_THAT(refusal(), testing::HasSubstr("'g++ -fno-such-option' does not"));
}

TEST_F(KernelLibraryTest, UnwritableCacheIsOneLine) {
  std::ofstream(folder_) << "a file, not a folder";
  EXPECT_THAT(refusal(), testing::HasSubstr("cannot create the kernel cache"));
}

TEST_F(KernelLibraryTest, NamesOfAModelNeverReachTheSource) {
  Graph hostile;
  const std::string evil = "x\"; system(\"true\"); //\n#include </etc/passwd>";
  Builder b(hostile, {Phase::forward, {evil}, evil});
  hostile.name = evil;
  const ValueId x = hostile.add_input({Dtype::f32, {8}}, InputRole::data, evil);
  const ValueId y = b.mul(x, x);
  hostile.set_name(y, evil);
  hostile.add_output(y, OutputRole::output, evil);
  const Plan plan = plain_plan(hostile);
  EXPECT_EQ(cpu::translation_units(cpu::generate(hostile, plan).functions), cpu::translation_units(program_.functions));
}

TEST_F(KernelLibraryTest, EqualKernelsAreOneFunction) {
  Graph twice;
  Builder b(twice);
  const ValueId x = twice.add_input({Dtype::f32, {8}}, InputRole::data, "x");
  const ValueId y = b.mul(x, x);
  twice.add_output(b.mul(y, y), OutputRole::output, "z");
  const Plan plan = plain_plan(twice);
  const cpu::Program program = cpu::generate(twice, plan);
  EXPECT_EQ(program.functions.size(), 1U);
  EXPECT_EQ(program.launches.size(), 2U);
}

}  // namespace
}  // namespace stepc::test
