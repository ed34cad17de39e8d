#pragma once

#include "ir/dtype.h"
#include "ir/kernel.h"
#include "runtime/cpu/thread_pool.h"

#include <cstdint>
#include <span>

namespace stepc {

// A contraction of bf16 or f16 operands without addends: panels of A and B become f32 in scratch, where oneDNN's sgemm
// multiplies them, and each element of C is rounded once, after all its sums. Exact products and f32 sums on any
// processor; oneDNN's own 16-bit products need AVX-512 for bf16 and do not exist for f16 (oneDNN 2.6). Bits depend on
// shape, strides and thread count.
class LowMatmulLaunch {
 public:
  LowMatmulLaunch(const MatmulWork& work, Dtype dtype);

  int64_t scratch_bytes() const;
  // The first elements of A, B and C.
  void run(ThreadPool& pool, std::span<void* const> buffers, void* scratch) const;

 private:
  // A panel in scratch as BLAS takes it.
  struct Panel {
    char transposed = 'N';
    int64_t leading = 1;
  };
  Panel widen(ThreadPool& pool, const uint16_t* from, int64_t rows, int64_t row_stride, int64_t columns,
              int64_t column_stride, float* to) const;
  void round(ThreadPool& pool, const float* from, int64_t rows, int64_t columns, uint16_t* to) const;
  void multiply_block(ThreadPool& pool, const uint16_t* a, const uint16_t* b, uint16_t* c, int64_t rows,
                      int64_t columns, float* scratch) const;

  MatmulWork work_;  // with c_n = 1: a column-major C is the row-major product of the operands in the other order
  Dtype dtype_;
  bool swapped_ = false;
  int64_t block_rows_ = 1, block_columns_ = 1;
};

}  // namespace stepc
