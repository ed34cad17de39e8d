#include "runtime/cpu/matmul.h"

#include "ir/support/error.h"

#include <dnnl.h>

#include <utility>

namespace stepc {
namespace {

struct Offsets {
  int64_t a = 0, b = 0, c = 0;
};

// Offsets of point `index` of the axes' space, row-major.
Offsets offsets_of(const std::vector<MatmulWork::Batch>& axes, int64_t index) {
  Offsets result;
  for (size_t i = axes.size(); i-- > 0;) {
    const int64_t at = index % axes[i].extent;
    index /= axes[i].extent;
    result.a += at * axes[i].a;
    result.b += at * axes[i].b;
    result.c += at * axes[i].c;
  }
  return result;
}

int64_t points(const std::vector<MatmulWork::Batch>& axes) {
  int64_t count = 1;
  for (const MatmulWork::Batch& axis : axes) count *= axis.extent;
  return count;
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

void MatmulLaunch::run_batch(int64_t batch, const float* a, const float* b, float* c) const {
  const Offsets at = offsets_of(work_.batch, batch);
  for (int64_t sum = 0; sum < sums_; ++sum) {
    const Offsets part = offsets_of(work_.sums, sum);
    multiply(a + at.a + part.a, b + at.b + part.b, c + at.c, sum == 0 ? 0.0F : 1.0F);
  }
}

void MatmulLaunch::run(ThreadPool& pool, const float* a, const float* b, float* c) const {
  const int64_t flops = 2 * work_.m * work_.n * work_.k;
  const bool across = batches_ > 1 && (batches_ >= pool.threads() || flops < kSplittableFlops);
  if (across)
    pool.run(batches_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t batch = begin; batch < end; ++batch) run_batch(batch, a, b, c);
    });
  else
    for (int64_t batch = 0; batch < batches_; ++batch) run_batch(batch, a, b, c);
}

}  // namespace stepc
