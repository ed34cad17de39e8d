#pragma once

#include "ir/kernel.h"
#include "runtime/cpu/thread_pool.h"

namespace stepc {

// A contraction on oneDNN's sgemm: strided operands as they lie, batches in parallel where there are enough of them.
// Bits depend on shape, strides and thread count. Pointers are the operands' first elements.
class MatmulLaunch {
 public:
  explicit MatmulLaunch(const MatmulWork& work);
  void run(ThreadPool& pool, const float* a, const float* b, float* c) const;

 private:
  // A matrix as BLAS takes it.
  struct Matrix {
    char transposed = 'N';
    int64_t leading = 1;
  };
  static Matrix matrix(int64_t rows, int64_t row_stride, int64_t columns, int64_t column_stride);
  void multiply(const float* a, const float* b, float* c, float beta) const;
  void run_batch(int64_t batch, const float* a, const float* b, float* c) const;

  MatmulWork work_;
  Matrix a_, b_, c_;
  int64_t batches_ = 1;
  int64_t sums_ = 1;
};

}  // namespace stepc
