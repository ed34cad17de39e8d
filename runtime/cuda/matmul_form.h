#pragma once

#include "ir/dtype.h"
#include "ir/kernel.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace stepc::cuda {

// The types of a contraction. It accumulates in f32; addends have the result's type.
struct MatmulTypes {
  Dtype operands{};
  Dtype result{};
  bool tf32 = false;  // of f32 operands 10 bits of mantissa may do
};

// A contraction as BLAS takes it, all matrices by columns: D = op(A)·op(B) + C + bias, for `batch` products in one call
// and one call per point of `loops`. Where the result lies by rows its transpose is computed, from the operands in
// the other order (`swapped`).
struct MatmulForm {
  struct Matrix {
    bool transposed = false;
    int64_t leading = 1;  // stride of columns as stored
    int64_t batch_stride = 0;
  };
  bool swapped = false;
  int64_t m = 0, n = 0, k = 0;
  Matrix a, b, d;
  int64_t batch = 1;
  std::vector<size_t> loops;  // axes of MatmulWork::batch
  // Addends, as indices of MatmulWork::addends.
  std::optional<size_t> c, bias;
  Matrix c_matrix;
  int64_t bias_batch_stride = 0;
};

// Or the reason why cuBLASLt does not take it, and a generated kernel must.
std::variant<MatmulForm, std::string> matmul_form(const MatmulWork& work, const MatmulTypes& types);

}  // namespace stepc::cuda
