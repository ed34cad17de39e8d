#pragma once

#include "ir/op.h"

namespace stepc {

// Sums, products and extrema of elements along axes; not what keeps all elements or finds their places.
inline bool is_plain_reduction(Op op) {
  return op == Op::reduce_sum || op == Op::reduce_max || op == Op::reduce_min || op == Op::reduce_prod;
}

}  // namespace stepc
