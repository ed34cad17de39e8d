// Contractions as CUDA kernels, run by the SIMT target: values against a naive product, the same bits in every order of
// threads, and nothing written outside the result.
#include "codegen/cuda/print_contraction.h"
#include "ir/ref_tensor.h"
#include "tests/runtime/simt/kernel_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stepc::test {
namespace {

using Axis = MatmulWork::Batch;

struct Case {
  std::string name;
  MatmulWork work;
  Dtype a = Dtype::f32, b = Dtype::f32, c = Dtype::f32;
  std::string expected;  // of the text: the template and its tile
  int64_t shift = 0;     // elements by which every operand lies off its alignment
};

int64_t points_of(const std::vector<Axis>& axes) {
  int64_t count = 1;
  for (const Axis& axis : axes) count *= axis.extent;
  return count;
}

// Elements from the first to the last, for strides that are not negative.
int64_t reach(std::initializer_list<std::pair<int64_t, int64_t>> extents_and_strides) {
  int64_t last = 0;
  for (const auto& [extent, stride] : extents_and_strides) last += (extent - 1) * stride;
  return last + 1;
}

int64_t reach_of_axes(const std::vector<Axis>& axes, int64_t Axis::*stride) {
  int64_t last = 0;
  for (const Axis& axis : axes) last += (axis.extent - 1) * (axis.*stride);
  return last;
}

Kernel kernel_of(const Case& of) {
  Kernel kernel;
  kernel.kind = KernelKind::contraction;
  kernel.label = of.name;
  kernel.work = of.work;
  kernel.buffers = {{ValueId{}, of.a, false}, {ValueId{}, of.b, false}};
  for (size_t i = 0; i < of.work.addends.size(); ++i) kernel.buffers.push_back({ValueId{}, of.c, false});
  kernel.buffers.push_back({ValueId{}, of.c, true});
  return kernel;
}

std::vector<DeviceBuffer> buffers_of(const Case& of) {
  const MatmulWork& w = of.work;
  const int64_t a =
      reach({{w.m, w.a_m}, {w.k, w.a_k}}) + reach_of_axes(w.batch, &Axis::a) + reach_of_axes(w.sums, &Axis::a);
  const int64_t b =
      reach({{w.k, w.b_k}, {w.n, w.b_n}}) + reach_of_axes(w.batch, &Axis::b) + reach_of_axes(w.sums, &Axis::b);
  const int64_t c = reach({{w.m, w.c_m}, {w.n, w.c_n}}) + reach_of_axes(w.batch, &Axis::c);
  std::vector<DeviceBuffer> buffers = {DeviceBuffer::random(of.a, a, 1), DeviceBuffer::random(of.b, b, 2)};
  for (size_t i = 0; i < w.addends.size(); ++i) {
    int64_t last = reach({{w.m, w.addends[i].m}, {w.n, w.addends[i].n}});
    for (size_t axis = 0; axis < w.batch.size(); ++axis) last += (w.batch[axis].extent - 1) * w.addends[i].batch[axis];
    buffers.push_back(DeviceBuffer::random(of.c, last, 3 + i));
  }
  buffers.push_back(DeviceBuffer::empty(of.c, c));
  for (DeviceBuffer& buffer : buffers) buffer.shift = of.shift;
  return buffers;
}

struct Offsets {
  int64_t a = 0, b = 0, c = 0;
  std::vector<int64_t> at;
};

Offsets offsets_of(const std::vector<Axis>& axes, int64_t point) {
  Offsets result;
  result.at.resize(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    const int64_t at = point % axes[i].extent;
    point /= axes[i].extent;
    result.at[i] = at;
    result.a += at * axes[i].a, result.b += at * axes[i].b, result.c += at * axes[i].c;
  }
  return result;
}

// Element by element in f64, one element of C at a time: NaN where nothing is written.
std::vector<double> naive_product(const Case& of, const std::vector<DeviceBuffer>& buffers) {
  const MatmulWork& w = of.work;
  std::vector<double> result(static_cast<size_t>(buffers.back().count), std::numeric_limits<double>::quiet_NaN());
  for (int64_t point = 0; point < points_of(w.batch); ++point) {
    const Offsets base = offsets_of(w.batch, point);
    for (int64_t i = 0; i < w.m; ++i)
      for (int64_t j = 0; j < w.n; ++j) {
        double sum = 0;
        for (int64_t part = 0; part < points_of(w.sums); ++part) {
          const Offsets of_part = offsets_of(w.sums, part);
          for (int64_t k = 0; k < w.k; ++k)
            sum += buffers[0].at(base.a + of_part.a + i * w.a_m + k * w.a_k) *
                   buffers[1].at(base.b + of_part.b + k * w.b_k + j * w.b_n);
        }
        for (size_t addend = 0; addend < w.addends.size(); ++addend) {
          int64_t at = i * w.addends[addend].m + j * w.addends[addend].n;
          for (size_t axis = 0; axis < w.batch.size(); ++axis) at += base.at[axis] * w.addends[addend].batch[axis];
          sum += buffers[2 + addend].at(at);
        }
        result[static_cast<size_t>(base.c + i * w.c_m + j * w.c_n)] = sum;
      }
  }
  return result;
}

// Of the largest result.
double tolerance_of(const Case& of) {
  if (of.work.tf32) return 1e-3;
  switch (of.c) {
    case Dtype::bf16: return 1e-2;
    case Dtype::f16: return 2e-3;
    default: return 1e-5;
  }
}

void check(const std::vector<Case>& cases) {
  KernelRuns runs;
  for (const Case& of : cases) {
    const Kernel kernel = kernel_of(of);
    const std::vector<cuda::StageText> stages = cuda::print_contraction(kernel);
    EXPECT_THAT(stages[0].body.str(), testing::HasSubstr(of.expected)) << of.name;
    runs.add(kernel, stages, buffers_of(of));
  }
  runs.run();
  for (size_t i = 0; i < cases.size(); ++i)
    runs.expect_near(i, naive_product(cases[i], runs.buffers(i)), tolerance_of(cases[i]));
}

MatmulWork row_major(int64_t m, int64_t n, int64_t k) {
  return {.m = m,
          .n = n,
          .k = k,
          .a_m = k,
          .a_k = 1,
          .b_k = n,
          .b_n = 1,
          .c_m = n,
          .c_n = 1,
          .batch = {},
          .sums = {},
          .addends = {}};
}

// Aᵀ and Bᵀ as they lie.
MatmulWork transposed(MatmulWork work, bool a, bool b) {
  if (a) work.a_m = 1, work.a_k = work.m;
  if (b) work.b_k = 1, work.b_n = work.k;
  return work;
}

MatmulWork batched(MatmulWork work, int64_t points) {
  work.batch = {{points, work.m * work.k, work.k * work.n, work.m * work.n}};
  return work;
}

std::string orientation(bool a, bool b) { return std::string(a ? "t" : "n") + (b ? "t" : "n"); }

TEST(SimtContraction, EveryTileOfF32) {
  std::vector<Case> cases;
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      const auto add = [&](int64_t m, int64_t n, int64_t k, int64_t points, const std::string& tile) {
        cases.push_back({"f32_" + orientation(a, b) + std::to_string(cases.size()),
                         batched(transposed(row_major(m, n, k), a, b), points), Dtype::f32, Dtype::f32, Dtype::f32,
                         "ProductTile<" + tile});
      };
      add(9, 9, 5, 1, "32, 32, ");
      add(31, 33, 32, 1, "32, 32, ");
      add(32, 64, 33, 2, "32, 32, ");
      add(33, 33, 17, 65, "64, 64, ");
    }
  for (const bool turned : {false, true}) {
    const auto add = [&](int64_t m, int64_t n, int64_t points, const std::string& tile) {
      cases.push_back({"f32_wide" + std::to_string(cases.size()),
                       batched(transposed(row_major(m, n, 20), turned, !turned), points), Dtype::f32, Dtype::f32,
                       Dtype::f32, "ProductTile<" + tile});
    };
    add(9, 127, 65, "32, 128, ");
    add(128, 12, 65, "128, 32, ");
    add(33, 68, 65, "64, 128, ");
    add(65, 33, 65, "128, 64, ");
    add(65, 257, 33, "128, 128, ");
  }
  check(cases);
}

TEST(SimtContraction, EveryTileOfTensorCores) {
  std::vector<Case> cases;
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      const auto add = [&](int64_t m, int64_t n, int64_t k, int64_t points, Dtype c, const std::string& tile) {
        const Dtype operands = cases.size() % 2 == 0 ? Dtype::bf16 : Dtype::f16;
        cases.push_back({"half_" + orientation(a, b) + std::to_string(cases.size()),
                         batched(transposed(row_major(m, n, k), a, b), points), operands, operands,
                         c == Dtype::f32 ? c : operands, "TensorTile<" + tile});
      };
      add(9, 9, 5, 1, Dtype::f16, "32, 32, ");
      add(31, 33, 64, 1, Dtype::f32, "32, 32, ");
      add(32, 64, 32, 2, Dtype::f16, "32, 32, ");
      add(64, 64, 72, 2, Dtype::f32, "32, 32, ");
      add(16, 40, 31, 65, Dtype::f16, "64, 64, ");
    }
  cases.push_back({"half_128_64", batched(row_major(128, 16, 40), 65), Dtype::bf16, Dtype::bf16, Dtype::bf16,
                   "TensorTile<128, 64, "});
  cases.push_back(
      {"half_64_128", batched(row_major(9, 127, 40), 65), Dtype::f16, Dtype::f16, Dtype::f32, "TensorTile<64, 128, "});
  cases.push_back({"half_128_128", batched(transposed(row_major(72, 72, 33), true, true), 65), Dtype::bf16, Dtype::bf16,
                   Dtype::f32, "TensorTile<128, 128, "});
  check(cases);
}

TEST(SimtContraction, EveryTileOfTf32) {
  std::vector<Case> cases;
  const auto add = [&](MatmulWork work, const std::string& expected, int64_t shift = 0) {
    work.tf32 = true;
    cases.push_back(
        {"tf32_" + std::to_string(cases.size()), std::move(work), Dtype::f32, Dtype::f32, Dtype::f32, expected, shift});
  };
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      const auto add_turned = [&](int64_t m, int64_t n, int64_t k, int64_t points, const std::string& tile) {
        add(batched(transposed(row_major(m, n, k), a, b), points), "TensorTile<" + tile);
      };
      add_turned(9, 9, 5, 1, "32, 32, 16, ");
      add_turned(31, 33, 36, 1, "32, 32, 16, ");
      add_turned(32, 64, 16, 2, "32, 32, 16, ");
      add_turned(16, 40, 31, 65, "64, 64, 16, ");
    }
  add(batched(row_major(128, 16, 40), 65), "TensorTile<128, 64, 16, ");
  add(batched(row_major(9, 127, 40), 65), "TensorTile<64, 128, 16, ");
  add(batched(transposed(row_major(72, 72, 33), true, true), 65), "TensorTile<128, 128, 16, ");
  add(row_major(32, 32, 32), "TensorTile<32, 32, 16, ", 1);
  add(row_major(8, 70, 33), "contract_thin<8>");  // f32: memory sets the pace
  check(cases);
}

TEST(SimtContraction, ThinAndPlainOfEveryDtype) {
  std::vector<Case> cases;
  const auto add = [&](MatmulWork work, Dtype a, Dtype b, Dtype c, const std::string& expected) {
    cases.push_back({"other_" + std::to_string(cases.size()), std::move(work), a, b, c, expected});
  };
  add(row_major(1, 1, 300), Dtype::f32, Dtype::f32, Dtype::f32, "contract_thin<1>");
  add(row_major(1, 70, 5), Dtype::bf16, Dtype::bf16, Dtype::bf16, "contract_thin<1>");
  add(transposed(row_major(8, 33, 257), true, true), Dtype::f16, Dtype::f16, Dtype::f32, "contract_thin<8>");
  add(row_major(40, 3, 67), Dtype::f32, Dtype::f32, Dtype::f32, "contract_thin<3>");
  add(batched(row_major(2, 31, 33), 7), Dtype::f64, Dtype::f64, Dtype::f64, "contract_thin<2>");
  add(row_major(4, 31, 33), Dtype::i8, Dtype::i32, Dtype::i64, "contract_thin<4>");
  add(row_major(13, 17, 1), Dtype::f32, Dtype::f32, Dtype::f32, "contract_plain");
  add(row_major(13, 1, 1), Dtype::bf16, Dtype::bf16, Dtype::f32, "contract_plain");
  add(batched(transposed(row_major(19, 23, 29), true, false), 3), Dtype::f64, Dtype::f64, Dtype::f64, "contract_plain");
  add(row_major(16, 17, 18), Dtype::bf16, Dtype::f32, Dtype::f32, "contract_plain");
  add(row_major(16, 17, 18), Dtype::bf16, Dtype::f16, Dtype::bf16, "contract_plain");
  add(row_major(16, 17, 18), Dtype::i8, Dtype::i8, Dtype::i32, "contract_plain");
  add(row_major(16, 17, 18), Dtype::i64, Dtype::i64, Dtype::i64, "contract_plain");
  check(cases);
}

// Strides of neither axis 1, broadcast operands, two batch axes, sums, addends of every form, C by columns.
MatmulWork awkward(int64_t m, int64_t n, int64_t k) {
  MatmulWork work{.m = m,
                  .n = n,
                  .k = k,
                  .a_m = 2 * k + 1,
                  .a_k = 2,
                  .b_k = 3,
                  .b_n = 3 * k,
                  .c_m = n + 5,
                  .c_n = 1,
                  .batch = {},
                  .sums = {},
                  .addends = {}};
  work.batch = {{3, 7, 0, 2 * m * (n + 5)}, {2, 0, 11, m * (n + 5)}};
  work.sums = {{2, 5, 13, 0}, {3, 1, 2, 0}};
  work.addends = {{0, 1, {0, 0}}, {1, 0, {m, 0}}, {n, 1, {0, m * n}}};
  return work;
}

TEST(SimtContraction, StridesSumsAndAddends) {
  std::vector<Case> cases;
  MatmulWork aligned = batched(transposed(row_major(64, 64, 32), true, false), 2);
  aligned.sums = {{3, 4, 8, 0}};
  aligned.addends = {{64, 1, {64 * 64}}, {0, 1, {64}}};
  MatmulWork by_columns = awkward(33, 19, 21);
  by_columns.c_m = 1, by_columns.c_n = 33 + 2;
  by_columns.batch = {{3, 7, 0, 2 * 19 * 35}, {2, 0, 11, 19 * 35}};
  MatmulWork tf32 = awkward(33, 19, 21);
  tf32.tf32 = true;
  cases.push_back({"awkward_tf32", tf32, Dtype::f32, Dtype::f32, Dtype::f32, "contract_tensor"});
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::f64, Dtype::i32}) {
    const std::string name(dtype_name(dtype));
    cases.push_back({"awkward_" + name, awkward(33, 19, 21), dtype, dtype, dtype, "contract_"});
    cases.push_back({"thin_" + name, awkward(5, 37, 41), dtype, dtype, dtype, "contract_thin<5>"});
    cases.push_back({"columns_" + name, by_columns, dtype, dtype, dtype, ".m = 19, .n = 33, .k = 21"});
    cases.push_back({"aligned_" + name, aligned, dtype, dtype, dtype, "contract_"});
    cases.push_back({"shifted_" + name, aligned, dtype, dtype, dtype, "contract_", 1});
  }
  check(cases);
}

// An addition after a contraction gives the same bits alone as in the contraction's kernel.
TEST(SimtContraction, AddendsChangeNoBitOfTheProduct) {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    MatmulWork with = row_major(40, 48, 64);
    with.addends = {{48, 1, {}}};
    const Case alone{"alone", row_major(40, 48, 64), dtype, dtype, dtype, ""},
        fused{"fused", with, dtype, dtype, dtype, ""};
    KernelRuns runs;
    for (const Case& of : {alone, fused})
      runs.add(kernel_of(of), cuda::print_contraction(kernel_of(of)), buffers_of(of));
    runs.run();
    for (int64_t i = 0; i < 40 * 48; ++i) {
      const float sum = static_cast<float>(runs.buffers(0).back().at(i)) + static_cast<float>(runs.buffers(1)[2].at(i));
      ASSERT_EQ(runs.buffers(1).back().at(i), round_to(dtype, sum)) << i;
    }
  }
}

}  // namespace
}  // namespace stepc::test
