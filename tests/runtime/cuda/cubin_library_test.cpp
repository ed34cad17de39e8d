// Kernels through NVRTC for all architectures, their figures, the cache on disk, and source that is refused.
#include "runtime/cuda/cubin_library.h"
#include "ir/support/error.h"
#include "tests/runtime/cuda/cuda_kernels.h"
#include "tests/runtime/cuda/nvrtc_or_skip.h"
#include "tests/runtime/environment_variable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace stepc::test {
namespace {

namespace fs = std::filesystem;
using cuda::Architecture;
using cuda::CubinLibrary;
using testing::HasSubstr;

class CubinLibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("stepc-cubins-{}", getpid());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  CubinLibrary compile(const std::vector<std::string>& units, Architecture architecture = {9, 0}) const {
    return {units, architecture, {.threads = 2, .folder = folder_}};
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> result;
    for (const auto& file : fs::directory_iterator(folder_)) result.push_back(file.path());
    return result;
  }

  fs::path folder_;
};

TEST_F(CubinLibraryTest, CompilesForEveryArchitecture) {
  SKIP_WITHOUT_NVRTC();
  for (const Architecture architecture : cuda::kArchitectures) {
    SCOPED_TRACE(architecture.name());
    const CubinLibrary library = compile(cuda_units(), architecture);
    EXPECT_EQ(library.unit_count(), 5);
    EXPECT_EQ(library.cache_hits(), 0) << "an entry of another architecture was taken";
    EXPECT_GT(cuda::find_figures(library.cubins(), "scale").registers, 0);
    EXPECT_EQ(cuda::find_figures(library.cubins(), "reduce").shared_bytes, 16)
        << "the dynamic arena is not static memory";
    EXPECT_EQ(cuda::find_figures(library.cubins(), "copy_async").shared_bytes, 1024);
    for (const char* symbol : {"scale", "reduce", "copy_async", "multiply", "copy_one"})
      EXPECT_EQ(cuda::find_figures(library.cubins(), symbol).spill_store_bytes, 0) << symbol;
    EXPECT_GT(cuda::find_figures(library.cubins(), "spill").spill_store_bytes, 0);
    EXPECT_GT(cuda::find_figures(library.cubins(), "spill").spill_load_bytes, 0);
    EXPECT_GT(cuda::find_figures(library.cubins(), "spill").stack_bytes, 0);
    EXPECT_LE(cuda::find_figures(library.cubins(), "spill").registers, 64) << "65536 registers for a block of 1024";
    // Parameters: four pointers, at the end of the driver's own part of the bank.
    EXPECT_GE(cuda::find_figures(library.cubins(), "scale").constant_bytes, 32);
    EXPECT_EQ(cuda::find_figures(library.cubins(), "scale").constant_bytes % 4, 0);
  }
}

TEST_F(CubinLibraryTest, EqualUnitsAreCompiledOnce) {
  SKIP_WITHOUT_NVRTC();
  const CubinLibrary library = compile({kScaleKernel, kReduceKernel, kScaleKernel});
  EXPECT_EQ(library.unit_count(), 2);
  EXPECT_EQ(files().size(), 2U);
  EXPECT_EQ(library.cubins()[0].functions[0].symbol, "scale");
  EXPECT_EQ(library.cubins()[1].functions[0].symbol, "reduce");
}

TEST_F(CubinLibraryTest, SecondCompilationComesFromTheCache) {
  SKIP_WITHOUT_NVRTC();
  const CubinLibrary first = compile(cuda_units());
  const CubinLibrary second = compile(cuda_units());
  EXPECT_EQ(second.cache_hits(), 5);
  EXPECT_EQ(files().size(), 5U) << "temporary files stay";
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(first.cubins()[i].image, second.cubins()[i].image);
    EXPECT_EQ(first.cubins()[i].functions, second.cubins()[i].functions);
  }
}

TEST_F(CubinLibraryTest, CorruptEntriesAreBuiltAgain) {
  SKIP_WITHOUT_NVRTC();
  const std::string image = compile({kScaleKernel}).cubins()[0].image;
  const fs::path entry = files()[0];
  const auto size = fs::file_size(entry);
  for (const auto damage : {size / 2, size - 1, uintmax_t{0}}) {
    fs::resize_file(entry, damage);
    const CubinLibrary rebuilt = compile({kScaleKernel});
    EXPECT_EQ(rebuilt.cache_hits(), 0);
    EXPECT_EQ(rebuilt.cubins()[0].image, image);
    EXPECT_EQ(compile({kScaleKernel}).cache_hits(), 1);
  }
  std::fstream file(entry, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(size / 3));
  file.put('\x5a').put('\x5a').put('\x5a');
  file.close();
  EXPECT_EQ(compile({kScaleKernel}).cache_hits(), 0);
}

TEST_F(CubinLibraryTest, AnEntryUnderAnothersNameIsNoticed) {
  SKIP_WITHOUT_NVRTC();
  compile({kScaleKernel});
  const fs::path scale = files()[0];
  compile({kReduceKernel});
  for (const fs::path& file : files())
    if (file != scale) fs::copy_file(scale, file, fs::copy_options::overwrite_existing);
  const CubinLibrary library = compile({kReduceKernel});
  EXPECT_EQ(library.cache_hits(), 0);
  EXPECT_GT(cuda::find_figures(library.cubins(), "reduce").registers, 0);
}

// Processes that start with an empty cache at the same time, several times over.
TEST_F(CubinLibraryTest, ProcessesShareACache) {
  SKIP_WITHOUT_NVRTC();
  const std::vector<std::string> units{kScaleKernel, kReduceKernel, kSpillKernel};
  std::vector<pid_t> children;
  for (int process = 0; process < 3; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      bool good = true;
      for (int round = 0; round < 3; ++round) {
        const CubinLibrary library(units, {9, 0}, {.threads = 1, .folder = folder_});
        good &= cuda::find_figures(library.cubins(), "reduce").shared_bytes == 16 &&
                (round == 0 || library.cache_hits() == 3);
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(files().size(), 3U);
  EXPECT_EQ(compile(units).cache_hits(), 3);
}

TEST_F(CubinLibraryTest, RefusedSourceIsShownWithItsLines) {
  SKIP_WITHOUT_NVRTC();
  const std::string source =
      "// one\n// two\n// three\n// four\nextern \"C\" __global__ void k(float* a) {\n  a[0] = no_such_name;\n}\n";
  try {
    compile({kScaleKernel, source});
    FAIL() << "accepted";
  } catch (const InternalError& error) {
    const std::string message = error.what();
    EXPECT_THAT(message, HasSubstr("refuses generated kernels for sm_90"));
    EXPECT_THAT(message, HasSubstr("identifier \"no_such_name\" is undefined"));
    EXPECT_THAT(message, HasSubstr(">     6 |   a[0] = no_such_name;"));
    EXPECT_THAT(message, HasSubstr("      3 | // three\n"));
    EXPECT_THAT(message, testing::Not(HasSubstr("// two")));
    EXPECT_THAT(message, HasSubstr("nvcc --cubin --gpu-architecture=sm_90 --fmad=false -std=c++20"));
    const std::string path = message.substr(message.rfind(' ') + 1);
    std::ifstream kept(path);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), source) << path;
  }
}

TEST_F(CubinLibraryTest, ProductsAndSumsAreNotContracted) {
  SKIP_WITHOUT_NVRTC();
  // With contraction one instruction and no intermediate rounding; the difference shows in the code's size.
  const std::string fused = "extern \"C\" __global__ void k(float* a) { a[0] = __fmaf_rn(a[1], a[2], a[3]); }";
  const std::string separate = "extern \"C\" __global__ void k(float* a) { a[0] = a[1] * a[2] + a[3]; }";
  EXPECT_NE(compile({fused}).cubins()[0].image, compile({separate}).cubins()[0].image);
}

TEST_F(CubinLibraryTest, AMissingCompilerIsOneLine) {
  const EnvironmentVariable variable("STEPC_NVRTC", "no/such/libnvrtc.so");
  try {
    compile({kScaleKernel});
    FAIL() << "accepted";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("STEPC_NVRTC=no/such/libnvrtc.so: "));
    EXPECT_THAT(error.what(), testing::Not(HasSubstr("\n")));
  }
}

TEST_F(CubinLibraryTest, AnUnknownArchitectureIsOneLine) {
  SKIP_WITHOUT_NVRTC();
  EXPECT_THAT(
      [&] {
        compile({kScaleKernel}, {5, 2});
      },
      testing::ThrowsMessage<UserError>(HasSubstr("does not know sm_52; it knows sm_")));
}

TEST(ArchitectureTest, NamesAreThoseThatAreCompiledFor) {
  EXPECT_EQ(cuda::parse_architecture("sm_100"), (Architecture{10, 0}));
  EXPECT_THAT(
      [] { cuda::parse_architecture("sm_42"); },
      testing::ThrowsMessage<UserError>("'sm_42' is not an architecture that kernels are compiled for; these are "
                                        "sm_80, sm_86, sm_89, sm_90, sm_100, sm_120"));
}

TEST(ArchitectureTest, DevicesRunTheCodeOfTheirMajor) {
  EXPECT_EQ(cuda::architecture_for({8, 7}), (Architecture{8, 6}));
  EXPECT_EQ(cuda::architecture_for({10, 3}), (Architecture{10, 0}));
  EXPECT_EQ(cuda::architecture_for({12, 1}), (Architecture{12, 0}));
  EXPECT_EQ(cuda::architecture_for({7, 5}), std::nullopt);
  EXPECT_EQ(cuda::architecture_for({11, 0}), std::nullopt);
}

}  // namespace
}  // namespace stepc::test
