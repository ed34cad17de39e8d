#include "runtime/cpu/matmul.h"

#include "ir/support/error.h"
#include "runtime/cpu/batch_offsets.h"

#include <dnnl.h>

#include <algorithm>
#include <type_traits>
#include <vector>

namespace stepc {
namespace {

// A line of an addend: its first element and the stride to the next.
struct Line {
  const float* data;
  int64_t stride;
};

int64_t offset_of(const MatmulWork::Addend& addend, const std::vector<MatmulWork::Batch>& axes, int64_t index) {
  int64_t offset = 0;
  for (size_t i = axes.size(); i-- > 0;) {
    offset += index % axes[i].extent * addend.batch[i];
    index /= axes[i].extent;
  }
  return offset;
}

// to[j] = Σ lines[i][j], in the order of the lines, one of which may be `to`.
void add_lines(std::span<const Line> lines, int64_t count, float* to) {
  constexpr int64_t kChunk = 256;
  float sum[kChunk];
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t size = std::min(kChunk, count - begin);
    for (size_t i = 0; i < lines.size(); ++i) {
      const float* const from = lines[i].data + begin * lines[i].stride;
      const auto add = [&](auto stride) {
        if (i == 0) std::fill_n(sum, size, -0.0F);  // neutral for every number, zeros of either sign among them
#pragma omp simd
        for (int64_t j = 0; j < size; ++j) sum[j] += from[j * stride];
      };
      if (lines[i].stride == 1)
        add(std::integral_constant<int64_t, 1>());
      else
        add(lines[i].stride);
    }
    std::copy_n(sum, size, to + begin);
  }
}

// Below this a product is too small to be split across threads with profit.
constexpr int64_t kSplittableFlops = 1 << 25;

}  // namespace

MatmulLaunch::Matrix MatmulLaunch::matrix(int64_t rows, int64_t row_stride, int64_t columns, int64_t column_stride) {
  if ((column_stride == 1 || columns == 1) && (rows == 1 || row_stride >= columns))
    return {'N', rows == 1 ? columns : row_stride};
  return {'T', columns == 1 ? rows : column_stride};
}

MatmulLaunch::MatmulLaunch(const MatmulWork& work)
    : work_(work),
      a_(matrix(work.m, work.a_m, work.k, work.a_k)),
      b_(matrix(work.k, work.b_k, work.n, work.b_n)),
      c_(matrix(work.m, work.c_m, work.n, work.c_n)),
      batches_(points(work.batch)),
      sums_(points(work.sums)) {}

void MatmulLaunch::multiply(const float* a, const float* b, float* c, float beta) const {
  const auto flipped = [](char transposed) { return transposed == 'N' ? 'T' : 'N'; };
  // A column-major C is the row-major product of the transposed operands in the other order.
  const dnnl_status_t status = c_.transposed == 'N'
                                   ? dnnl_sgemm(a_.transposed, b_.transposed, work_.m, work_.n, work_.k, 1.0F, a,
                                                a_.leading, b, b_.leading, beta, c, c_.leading)
                                   : dnnl_sgemm(flipped(b_.transposed), flipped(a_.transposed), work_.n, work_.m,
                                                work_.k, 1.0F, b, b_.leading, a, a_.leading, beta, c, c_.leading);
  CHECK(status == dnnl_success, "sgemm of {}x{}x{}: status {}", work_.m, work_.n, work_.k, static_cast<int>(status));
}

void MatmulLaunch::start_with_addends(ThreadPool& pool, std::span<void* const> buffers, int64_t batch, float* c) const {
  const bool rows = c_.transposed == 'N';  // C's lines are its rows
  pool.run(rows ? work_.m : work_.n, 1, [&](int64_t begin, int64_t end) {
    std::vector<Line> lines(work_.addends.size());
    for (int64_t line = begin; line < end; ++line) {
      for (size_t i = 0; i < lines.size(); ++i) {
        const MatmulWork::Addend& addend = work_.addends[i];
        const int64_t offset = offset_of(addend, work_.batch, batch) + line * (rows ? addend.m : addend.n);
        lines[i] = {static_cast<const float*>(buffers[2 + i]) + offset, rows ? addend.n : addend.m};
      }
      float* const to = c + line * c_.leading;
      if (lines.size() > 1 || lines[0].data != to) add_lines(lines, rows ? work_.n : work_.m, to);
    }
  });
}

void MatmulLaunch::run_batch(ThreadPool& pool, std::span<void* const> buffers, int64_t batch) const {
  const BatchOffsets at = offsets_of(work_.batch, batch);
  float* const c = static_cast<float*>(buffers.back()) + at.c;
  if (!work_.addends.empty()) start_with_addends(pool, buffers, batch, c);
  for (int64_t sum = 0; sum < sums_; ++sum) {
    const BatchOffsets part = offsets_of(work_.sums, sum);
    const bool first = sum == 0 && work_.addends.empty();
    multiply(static_cast<const float*>(buffers[0]) + at.a + part.a,
             static_cast<const float*>(buffers[1]) + at.b + part.b, c, first ? 0.0F : 1.0F);
  }
}

void MatmulLaunch::run(ThreadPool& pool, std::span<void* const> buffers) const {
  const int64_t flops = 2 * work_.m * work_.n * work_.k;
  const bool across = batches_ > 1 && (batches_ >= pool.threads() || flops < kSplittableFlops);
  if (across)
    pool.run(batches_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t batch = begin; batch < end; ++batch) run_batch(pool, buffers, batch);
    });
  else
    for (int64_t batch = 0; batch < batches_; ++batch) run_batch(pool, buffers, batch);
}

}  // namespace stepc
