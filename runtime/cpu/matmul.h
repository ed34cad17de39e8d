#pragma once

#include "ir/kernel.h"
#include "runtime/cpu/thread_pool.h"

#include <span>

namespace stepc {

// A contraction on oneDNN's sgemm: strided operands as they lie, batches in parallel where there are enough of them.
// What is added to it is in C before the product is, so it costs no pass of its own over C afterwards; where an addend
// lies in C already, none at all. Bits depend on shape, strides, thread count and the presence of addends.
class MatmulLaunch {
 public:
  explicit MatmulLaunch(const MatmulWork& work);
  // The first elements of A, B, the addends and C.
  void run(ThreadPool& pool, std::span<void* const> buffers) const;

 private:
  // A matrix as BLAS takes it.
  struct Matrix {
    char transposed = 'N';
    int64_t leading = 1;
  };
  static Matrix matrix(int64_t rows, int64_t row_stride, int64_t columns, int64_t column_stride);
  void multiply(const float* a, const float* b, float* c, float beta) const;
  void run_batch(ThreadPool& pool, std::span<void* const> buffers, int64_t batch) const;
  void start_with_addends(ThreadPool& pool, std::span<void* const> buffers, int64_t batch, float* c) const;

  MatmulWork work_;
  Matrix a_, b_, c_;
  int64_t batches_ = 1;
  int64_t sums_ = 1;
};

}  // namespace stepc
