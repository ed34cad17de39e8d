#include "runtime/cuda/matmul_form.h"

#include <fmt/format.h>

#include <tuple>
#include <utility>

namespace stepc::cuda {
namespace {

using Matrix = MatmulForm::Matrix;

// op(M) has `rows` x `columns` elements with these strides, of which the one along a line must be 1.
std::optional<Matrix> matrix(int64_t rows, int64_t row_stride, int64_t columns, int64_t column_stride) {
  if ((row_stride == 1 || rows == 1) && (columns == 1 || column_stride >= rows))
    return Matrix{.transposed = false, .leading = columns == 1 ? rows : column_stride};
  if ((column_stride == 1 || columns == 1) && (rows == 1 || row_stride >= columns))
    return Matrix{.transposed = true, .leading = rows == 1 ? columns : row_stride};
  return std::nullopt;
}

bool is_supported(const MatmulTypes& types) {
  if (types.operands == Dtype::f32) return types.result == Dtype::f32;
  return (types.operands == Dtype::f16 || types.operands == Dtype::bf16) &&
         (types.result == types.operands || types.result == Dtype::f32);
}

// An addend as it meets D's rows and columns.
struct Strides {
  int64_t rows = 0, columns = 0;
};

// Sorts the addends: one may be C, with D's order of elements, and one a number per row of D, the same in each column.
bool place_addends(const MatmulWork& work, MatmulForm& form) {
  for (size_t i = 0; i < work.addends.size(); ++i) {
    const MatmulWork::Addend& addend = work.addends[i];
    const Strides strides = form.swapped ? Strides{addend.n, addend.m} : Strides{addend.m, addend.n};
    if (strides.rows != 1 && form.m > 1) return false;
    if ((form.n == 1 || strides.columns >= form.m) && !form.c) {
      form.c = i;
      form.c_matrix.leading = form.n == 1 ? form.m : strides.columns;
    } else if ((form.n == 1 || strides.columns == 0) && !form.bias) {
      form.bias = i;
    } else {
      return false;
    }
  }
  return true;
}

// The longest axis whose points one call can carry; the others are looped over. A C that is the same for every point of
// an axis is not what the library takes.
void place_batch(const MatmulWork& work, MatmulForm& form) {
  std::optional<size_t> best;
  for (size_t i = 0; i < work.batch.size(); ++i) {
    const bool shares_c = form.c && work.addends[*form.c].batch[i] == 0;
    if (!shares_c && (!best || work.batch[i].extent > work.batch[*best].extent)) best = i;
  }
  for (size_t i = 0; i < work.batch.size(); ++i)
    if (i != best) form.loops.push_back(i);
  if (!best) return;
  const MatmulWork::Batch& axis = work.batch[*best];
  form.batch = axis.extent;
  form.a.batch_stride = form.swapped ? axis.b : axis.a;
  form.b.batch_stride = form.swapped ? axis.a : axis.b;
  form.d.batch_stride = axis.c;
  if (form.c) form.c_matrix.batch_stride = work.addends[*form.c].batch[*best];
  if (form.bias) form.bias_batch_stride = work.addends[*form.bias].batch[*best];
}

}  // namespace

std::variant<MatmulForm, std::string> matmul_form(const MatmulWork& work, const MatmulTypes& types) {
  if (!is_supported(types))
    return fmt::format("cuBLASLt multiplies no {} into {}", dtype_name(types.operands), dtype_name(types.result));
  int64_t products = 1;
  for (const MatmulWork::Batch& axis : work.batch) products *= axis.extent;
  if (work.m == 0 || work.n == 0 || work.k == 0 || products == 0) return "nothing to multiply";
  const auto a = matrix(work.m, work.a_m, work.k, work.a_k);
  const auto b = matrix(work.k, work.b_k, work.n, work.b_n);
  const auto c = matrix(work.m, work.c_m, work.n, work.c_n);
  if (!a || !b || !c) return "a matrix without a stride of 1";
  const auto flip = [](Matrix m) { return Matrix{!m.transposed, m.leading, m.batch_stride}; };
  MatmulForm form;
  form.swapped = c->transposed;
  form.k = work.k;
  std::tie(form.m, form.n) = form.swapped ? std::pair(work.n, work.m) : std::pair(work.m, work.n);
  std::tie(form.a, form.b) = form.swapped ? std::pair(flip(*b), flip(*a)) : std::pair(*a, *b);
  form.d = form.swapped ? flip(*c) : *c;
  if (!place_addends(work, form)) return "cuBLASLt adds one matrix and one vector along a result's lines, no more";
  place_batch(work, form);
  return form;
}

}  // namespace stepc::cuda
