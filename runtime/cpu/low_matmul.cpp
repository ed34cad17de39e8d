#include "runtime/cpu/low_matmul.h"

#include "codegen/device/half.h"
#include "ir/support/error.h"
#include "runtime/cpu/batch_offsets.h"

#include <dnnl.h>

#include <algorithm>
#include <utility>

namespace stepc {
namespace {

// Rows and columns of C at a time: an element is widened once per block that it enters, which is little beside the
// kBlock products that it takes part in there, and panels take no more scratch than such a block needs.
constexpr int64_t kBlock = 1024;

template <typename Convert>
void widen_line(const uint16_t* from, int64_t count, float* to, Convert convert) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = convert(from[i]);
}

template <typename Convert>
void round_line(const float* from, int64_t count, uint16_t* to, Convert convert) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = convert(from[i]);
}

MatmulWork row_major(const MatmulWork& work) {
  MatmulWork result = work;
  std::swap(result.m, result.n);
  result.a_m = work.b_n;
  result.a_k = work.b_k;
  result.b_k = work.a_k;
  result.b_n = work.a_m;
  std::swap(result.c_m, result.c_n);
  for (std::vector<MatmulWork::Batch>* axes : {&result.batch, &result.sums})
    for (MatmulWork::Batch& axis : *axes) std::swap(axis.a, axis.b);
  return result;
}

}  // namespace

LowMatmulLaunch::LowMatmulLaunch(const MatmulWork& work, Dtype dtype)
    : work_(work), dtype_(dtype), swapped_(work.c_n != 1 && work.n != 1) {
  CHECK(work.addends.empty(), "a 16-bit product with {} addends", work.addends.size());
  if (swapped_) work_ = row_major(work);
  block_rows_ = std::min(work_.m, kBlock);
  block_columns_ = std::min(work_.n, kBlock);
}

int64_t LowMatmulLaunch::scratch_bytes() const {
  return 4 * ((block_rows_ + block_columns_) * work_.k + block_rows_ * block_columns_);
}

LowMatmulLaunch::Panel LowMatmulLaunch::widen(ThreadPool& pool, const uint16_t* from, int64_t rows, int64_t row_stride,
                                              int64_t columns, int64_t column_stride, float* to) const {
  const bool by_rows = column_stride == 1 || columns == 1;
  const int64_t lines = by_rows ? rows : columns, length = by_rows ? columns : rows;
  const int64_t stride = by_rows ? row_stride : column_stride;
  pool.run(lines, 16, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const uint16_t* const source = from + line * stride;
      if (dtype_ == Dtype::bf16)
        widen_line(source, length, to + line * length, stepc_device::bf16_to_f32);
      else
        widen_line(source, length, to + line * length, stepc_device::f16_to_f32);
    }
  });
  return {by_rows ? 'N' : 'T', length};
}

void LowMatmulLaunch::round(ThreadPool& pool, const float* from, int64_t rows, int64_t columns, uint16_t* to) const {
  pool.run(rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* const source = from + row * columns;
      if (dtype_ == Dtype::bf16)
        round_line(source, columns, to + row * work_.c_m, stepc_device::f32_to_bf16);
      else
        round_line(source, columns, to + row * work_.c_m, stepc_device::f32_to_f16);
    }
  });
}

void LowMatmulLaunch::multiply_block(ThreadPool& pool, const uint16_t* a, const uint16_t* b, uint16_t* c, int64_t rows,
                                     int64_t columns, float* scratch) const {
  float* const wide_a = scratch;
  float* const wide_b = wide_a + block_rows_ * work_.k;
  float* const wide_c = wide_b + block_columns_ * work_.k;
  for (int64_t sum = 0; sum < points(work_.sums); ++sum) {
    const BatchOffsets part = offsets_of(work_.sums, sum);
    const Panel of_a = widen(pool, a + part.a, rows, work_.a_m, work_.k, work_.a_k, wide_a);
    const Panel of_b = widen(pool, b + part.b, work_.k, work_.b_k, columns, work_.b_n, wide_b);
    const dnnl_status_t status =
        dnnl_sgemm(of_a.transposed, of_b.transposed, rows, columns, work_.k, 1.0F, wide_a, of_a.leading, wide_b,
                   of_b.leading, sum == 0 ? 0.0F : 1.0F, wide_c, columns);
    CHECK(status == dnnl_success, "sgemm of {}x{}x{}: status {}", rows, columns, work_.k, static_cast<int>(status));
  }
  round(pool, wide_c, rows, columns, c);
}

void LowMatmulLaunch::run(ThreadPool& pool, std::span<void* const> buffers, void* scratch) const {
  const auto* const a = static_cast<const uint16_t*>(buffers[swapped_ ? 1 : 0]);
  const auto* const b = static_cast<const uint16_t*>(buffers[swapped_ ? 0 : 1]);
  auto* const c = static_cast<uint16_t*>(buffers.back());
  for (int64_t batch = 0; batch < points(work_.batch); ++batch) {
    const BatchOffsets at = offsets_of(work_.batch, batch);
    for (int64_t row = 0; row < work_.m; row += block_rows_)
      for (int64_t column = 0; column < work_.n; column += block_columns_)
        multiply_block(pool, a + at.a + row * work_.a_m, b + at.b + column * work_.b_n,
                       c + at.c + row * work_.c_m + column, std::min(block_rows_, work_.m - row),
                       std::min(block_columns_, work_.n - column), static_cast<float*>(scratch));
  }
}

}  // namespace stepc
