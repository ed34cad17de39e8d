// Contractions as cuBLASLt takes them, against products written out; and how its algorithms are chosen and kept.
#include "runtime/cuda/library_matmul.h"
#include "ir/half.h"
#include "ir/support/error.h"
#include "tests/runtime/cuda/fake_cublaslt.h"
#include "tests/runtime/cuda/fake_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <random>
#include <tuple>

namespace stepc::test {
namespace {

namespace fs = std::filesystem;
using cuda::CublasLt;
using cuda::CudaDevice;
using cuda::DevicePointer;
using cuda::LibraryMatmul;
using cuda::MatmulForm;
using cuda::MatmulTypes;
using testing::HasSubstr;

constexpr MatmulTypes kF32{Dtype::f32, Dtype::f32};

int64_t offset(int64_t point, const std::vector<MatmulWork::Batch>& axes,
               const std::function<int64_t(size_t)>& stride) {
  int64_t result = 0;
  for (size_t i = axes.size(); i-- > 0; point /= axes[i].extent) result += point % axes[i].extent * stride(i);
  return result;
}

int64_t points(const std::vector<MatmulWork::Batch>& axes) {
  int64_t count = 1;
  for (const MatmulWork::Batch& axis : axes) count *= axis.extent;
  return count;
}

// As MatmulWork defines it. Buffers: A, B, the addends; the result begins as the last of them.
std::vector<float> written_out(const MatmulWork& w, const std::vector<std::vector<float>>& buffers) {
  const auto element = [&](size_t buffer, int64_t index) { return buffers[buffer][static_cast<size_t>(index)]; };
  std::vector<float> result = buffers.back();
  for (int64_t batch = 0; batch < points(w.batch); ++batch)
    for (int64_t i = 0; i < w.m; ++i)
      for (int64_t j = 0; j < w.n; ++j) {
        float sum = 0;
        for (int64_t s = 0; s < points(w.sums); ++s)
          for (int64_t l = 0; l < w.k; ++l)
            sum += element(0, offset(batch, w.batch, [&](size_t x) { return w.batch[x].a; }) +
                                  offset(s, w.sums, [&](size_t x) { return w.sums[x].a; }) + i * w.a_m + l * w.a_k) *
                   element(1, offset(batch, w.batch, [&](size_t x) { return w.batch[x].b; }) +
                                  offset(s, w.sums, [&](size_t x) { return w.sums[x].b; }) + l * w.b_k + j * w.b_n);
        for (size_t x = 0; x < w.addends.size(); ++x) {
          const MatmulWork::Addend& addend = w.addends[x];
          sum += element(2 + x, offset(batch, w.batch, [&](size_t axis) { return addend.batch[axis]; }) + i * addend.m +
                                    j * addend.n);
        }
        result[static_cast<size_t>(offset(batch, w.batch, [&](size_t x) { return w.batch[x].c; }) + i * w.c_m +
                                   j * w.c_n)] = sum;
      }
  return result;
}

class LibraryMatmulTest : public testing::Test {
 protected:
  static constexpr size_t kElements = 4096;  // of every buffer

  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("stepc-algorithms-{}", getpid());
    fs::remove_all(folder_);
    open();
  }
  void TearDown() override {
    library_.reset();
    device_.reset();
    EXPECT_EQ(lt_.live_objects(), 0U);
    EXPECT_EQ(fake_.live_objects(), 0U);
    fs::remove_all(folder_);
  }
  void open() {
    library_.reset();
    device_.reset();
    driver_.emplace(fake_.table());
    device_.emplace(*driver_, 0);
    library_ = std::make_unique<CublasLt>(lt_.table(), *device_);
  }

  DevicePointer put(const std::vector<float>& values) {
    const DevicePointer address = device_->allocate(static_cast<int64_t>(values.size() * sizeof(float)), "a matrix");
    device_->upload(address, std::as_bytes(std::span(values)));
    return address;
  }
  std::vector<float> get(DevicePointer address) {
    std::vector<float> values(kElements);
    device_->download(std::as_writable_bytes(std::span(values)), address);
    return values;
  }
  // Small integers: every order of additions gives the same sum.
  std::vector<float> integers() {
    std::vector<float> values(kElements);
    for (float& value : values) value = static_cast<float>(random_() % 5) - 2;
    return values;
  }
  LibraryMatmul make(const MatmulWork& work, const std::vector<DevicePointer>& addresses,
                     const MatmulTypes& types = kF32) {
    return {*library_, work, types, {addresses, 0xab00, 4096}, ObjectCache(folder_)};
  }
  // With `in_place` the last addend lies where the result does.
  void expect_product(const MatmulWork& work, bool in_place = false) {
    ASSERT_TRUE(std::holds_alternative<MatmulForm>(matmul_form(work, kF32)));
    std::vector<std::vector<float>> buffers;
    for (size_t i = 0; i < 3 + work.addends.size(); ++i) buffers.push_back(integers());
    if (in_place) buffers.back() = buffers[buffers.size() - 2];
    std::vector<DevicePointer> addresses;
    for (const auto& buffer : buffers) addresses.push_back(put(buffer));
    if (in_place) addresses.back() = addresses[addresses.size() - 2];
    make(work, addresses).run();
    EXPECT_EQ(get(addresses.back()), written_out(work, buffers));
  }

  FakeDriver fake_;
  FakeCublasLt lt_;
  std::optional<cuda::Driver> driver_;
  std::optional<CudaDevice> device_;
  std::unique_ptr<CublasLt> library_;
  fs::path folder_;
  std::mt19937 random_{7};
};

// Every combination of which stride is 1, with lines longer than the matrix.
MatmulWork work_of(int layout) {
  MatmulWork work;
  std::tie(work.m, work.n, work.k) = std::tuple(5, 7, 3);
  std::tie(work.a_m, work.a_k) = layout & 1 ? std::pair(1, 6) : std::pair(4, 1);
  std::tie(work.b_k, work.b_n) = layout & 2 ? std::pair(1, 5) : std::pair(8, 1);
  std::tie(work.c_m, work.c_n) = layout & 4 ? std::pair(1, 7) : std::pair(9, 1);
  return work;
}

TEST_F(LibraryMatmulTest, TakesEveryLayout) {
  for (int layout = 0; layout < 8; ++layout) {
    SCOPED_TRACE(layout);
    expect_product(work_of(layout));
  }
}

TEST_F(LibraryMatmulTest, TakesVectorsAndNumbers) {
  for (int layout = 0; layout < 8; ++layout)
    for (int ones = 1; ones < 8; ++ones) {
      SCOPED_TRACE(fmt::format("layout {} ones {}", layout, ones));
      MatmulWork work = work_of(layout);
      if (ones & 1) work.m = 1;
      if (ones & 2) work.n = 1;
      if (ones & 4) work.k = 1;
      expect_product(work);
    }
}

TEST_F(LibraryMatmulTest, LongestAxisIsOneCallAndOthersAreLooped) {
  for (int layout = 0; layout < 8; ++layout) {
    SCOPED_TRACE(layout);
    MatmulWork work = work_of(layout);
    work.batch = {{2, 500, 0, 900}, {4, 60, 100, 120}};
    lt_.calls.clear();
    expect_product(work);
    ASSERT_EQ(lt_.calls.size(), 2U);
    EXPECT_EQ(lt_.calls[0].batch, 4);
  }
}

TEST_F(LibraryMatmulTest, SumsAddToWhatIsThere) {
  for (int layout = 0; layout < 8; ++layout) {
    SCOPED_TRACE(layout);
    MatmulWork work = work_of(layout);
    work.batch = {{2, 1000, 1000, 1000}};
    work.sums = {{2, 100, 200, 0}, {3, 30, 60, 0}};
    expect_product(work);
  }
}

TEST_F(LibraryMatmulTest, AddsAMatrixAndAVector) {
  for (int layout = 0; layout < 8; ++layout)
    for (int addends = 0; addends < 4; ++addends) {
      SCOPED_TRACE(fmt::format("layout {} addends {}", layout, addends));
      MatmulWork work = work_of(layout);
      work.batch = {{2, 1000, 1000, 1000}, {3, 150, 150, 150}};
      work.sums = {{2, 500, 500, 0}};
      const bool by_columns = (layout & 4) != 0;  // the result's lines are its columns
      const MatmulWork::Addend vector{by_columns ? 1 : 0, by_columns ? 0 : 1, {100, 10}};
      const MatmulWork::Addend shared{by_columns ? 1 : 0, by_columns ? 0 : 1, {0, 0}};
      const MatmulWork::Addend matrix{work.c_m, work.c_n, {1000, 150}};
      const MatmulWork::Addend repeated{work.c_m, work.c_n, {0, 200}};
      if (addends == 0) work.addends = {vector};
      if (addends == 1) work.addends = {shared, matrix};
      if (addends == 2) work.addends = {matrix, vector};
      if (addends == 3) work.addends = {repeated};
      expect_product(work, addends == 1);
    }
}

TEST_F(LibraryMatmulTest, WhatTheLibraryDoesNotTakeHasAReason) {
  const auto reason = [](const MatmulWork& work, const MatmulTypes& types = kF32) {
    const auto form = matmul_form(work, types);
    return std::holds_alternative<std::string>(form) ? std::get<std::string>(form) : "taken";
  };
  MatmulWork work = work_of(0);
  EXPECT_EQ(reason(work), "taken");
  EXPECT_EQ(reason(work, {Dtype::bf16, Dtype::f32}), "taken");
  EXPECT_EQ(reason(work, {Dtype::f64, Dtype::f64}), "cuBLASLt multiplies no f64 into f64");
  EXPECT_EQ(reason(work, {Dtype::f16, Dtype::bf16}), "cuBLASLt multiplies no f16 into bf16");
  const MatmulWork::Addend across{1, 0, {}};  // one number per row of a result that lies by rows
  work.addends = {across};
  EXPECT_THAT(reason(work), HasSubstr("one vector along a result's lines"));
  work.addends = {{9, 1, {}}, {9, 1, {}}};
  EXPECT_THAT(reason(work), HasSubstr("adds one matrix"));
  work = work_of(0);
  work.a_m = work.a_k = 2;
  EXPECT_EQ(reason(work), "a matrix without a stride of 1");
  work = work_of(0);
  work.k = 0;
  EXPECT_EQ(reason(work), "nothing to multiply");
}

TEST_F(LibraryMatmulTest, SixteenBitOperandsMayGiveF32) {
  std::vector<uint16_t> a(kElements);
  std::vector<float> wide(kElements);
  for (size_t i = 0; i < kElements; ++i) {
    wide[i] = static_cast<float>(random_() % 5) - 2;
    a[i] = f32_to_bf16(wide[i]);
  }
  const DevicePointer from = device_->allocate(2 * kElements, "bf16");
  device_->upload(from, std::as_bytes(std::span(a)));
  const DevicePointer to = put(std::vector<float>(kElements));
  make(work_of(1), {from, from, to}, {Dtype::bf16, Dtype::f32}).run();
  EXPECT_EQ(get(to), written_out(work_of(1), {wide, wide, std::vector<float>(kElements)}));
}

TEST_F(LibraryMatmulTest, Tf32IsUsedWhereAskedForAlone) {
  const std::vector<DevicePointer> addresses(3, put(integers()));
  make(work_of(0), addresses).run();
  make(work_of(0), addresses, {Dtype::f32, Dtype::f32, true}).run();
  EXPECT_EQ(lt_.calls[0].compute_type, cuda::kLtCompute32F);
  EXPECT_EQ(lt_.calls[1].compute_type, cuda::kLtComputeTf32);
  EXPECT_NE(lt_.calls[0].algorithm, lt_.calls[1].algorithm);
}

TEST_F(LibraryMatmulTest, StaysWithinItsWorkspace) {
  const std::vector<DevicePointer> addresses(3, put(integers()));
  make(work_of(0), addresses).run();
  EXPECT_EQ(lt_.preferences[cuda::kLtPreferenceWorkspace], 4096U);
  EXPECT_EQ(lt_.calls[0].workspace_bytes, 4096U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(lt_.calls[0].workspace), 0xab00U);
}

TEST_F(LibraryMatmulTest, AlignmentIsWhatAllAddressesHave) {
  const DevicePointer aligned = put(integers());
  MatmulWork work = work_of(0);
  const auto stated = [&](DevicePointer a) {
    make(work, {a, aligned, aligned});
    return lt_.preferences[cuda::kLtPreferenceAlignmentA];
  };
  EXPECT_EQ(stated(aligned), 16U);
  EXPECT_EQ(stated(aligned + 4), 4U);
  work.batch = {{2, 1001, 1000, 1000}};
  EXPECT_EQ(stated(aligned), 4U);
}

TEST_F(LibraryMatmulTest, AlgorithmsAreKept) {
  const std::vector<DevicePointer> addresses(3, put(integers()));
  make(work_of(0), addresses).run();
  make(work_of(0), addresses).run();  // a recompute, or another run
  EXPECT_EQ(lt_.heuristics, 1);
  EXPECT_EQ(lt_.calls[0].algorithm, lt_.calls[1].algorithm);
  make(work_of(1), addresses);
  EXPECT_EQ(lt_.heuristics, 2) << "another layout is another key";
}

TEST_F(LibraryMatmulTest, AlgorithmsBelongToDeviceDriverAndLibrary) {
  const auto choose = [&] {
    open();
    make(work_of(0), std::vector<DevicePointer>(3, put(integers())));
    return lt_.heuristics;
  };
  EXPECT_EQ(choose(), 1);
  EXPECT_EQ(choose(), 1);
  fake_.name = "Another GPU";
  EXPECT_EQ(choose(), 2);
  fake_.version = 13010;
  EXPECT_EQ(choose(), 3);
  lt_.version = 130200;
  EXPECT_EQ(choose(), 4);
  EXPECT_EQ(choose(), 4);
}

TEST_F(LibraryMatmulTest, AKeptAlgorithmThatIsRefusedOrDamagedIsChosenAgain) {
  const std::vector<DevicePointer> addresses(3, put(integers()));
  make(work_of(0), addresses);
  lt_.refuses_kept_algorithm = true;
  make(work_of(0), addresses);
  EXPECT_EQ(lt_.heuristics, 2);
  lt_.refuses_kept_algorithm = false;
  make(work_of(0), addresses).run();
  EXPECT_EQ(lt_.heuristics, 2);
  EXPECT_EQ(lt_.calls[0].algorithm, 102U) << "the refused one was kept";
  fs::resize_file(fs::directory_iterator(folder_)->path(), 20);
  make(work_of(0), addresses);
  EXPECT_EQ(lt_.heuristics, 3);
}

TEST_F(LibraryMatmulTest, NoAlgorithmIsOneLine) {
  const std::vector<DevicePointer> addresses(3, put(integers()));
  lt_.choices = 0;
  EXPECT_THAT([&] { make(work_of(0), addresses); }, testing::ThrowsMessage<UserError>(testing::AllOf(
                                                        HasSubstr("7x5x3"), HasSubstr("4096 bytes of workspace"))));
}

TEST_F(LibraryMatmulTest, ALibraryThatDoesNotStartIsOneLine) {
  lt_.create_status = 1;
  EXPECT_THAT([&] { const CublasLt library(lt_.table(), *device_); },
              testing::ThrowsMessage<UserError>("cuBLASLt 130100: starting cuBLASLt: not initialized"));
}

// Not started: without a driver the library loses what it had allocated, which the leak check reports.
TEST(LoadCublasLt, TheInstalledLibraryHasEveryFunction) {
  const std::optional<cuda::CublasLtApi> library = cuda::load_cublaslt();
  if (!library) GTEST_SKIP() << "no cuBLASLt on this machine";
  EXPECT_GT(library->cublasLtGetVersion(), 0u);
}

}  // namespace
}  // namespace stepc::test
