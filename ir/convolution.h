#pragma once

#include "ir/attrs.h"
#include "ir/shape.h"

#include <cstdint>

namespace stepc {

// The loop nest of a convolution in any number of spatial dims: x [N, C, in..], w [M, C/group, k..] → y [N, M, out..],
//   y[n, m, o] = Σ x[n, c, o·stride + k·dilation − pad_low] · w[m, c, k]   over k and the C/group channels of m's
//   group,
// where x is 0 outside its bounds.
struct Convolution {
  int64_t batch = 0;
  int64_t groups = 1;
  int64_t in_channels = 0;      // per group
  int64_t out_channels = 0;     // per group
  Shape input, kernel, output;  // spatial sizes
  Dims strides, dilations, pad_low, pad_high;

  Shape output_shape() const;
  int64_t multiply_adds() const;  // padding included, as is usual
  // The input position that output position `out` reads through kernel position `k`, as an offset into the row-major
  // spatial dims; -1 in the padding.
  int64_t input_offset(const Dims& out, const Dims& k) const;
};

// Attributes `strides` and `dilations` (one per spatial dim), `pads` (all low ends, then all high ends), `group`.
// Throws UserError where they or the shapes do not fit.
Convolution bind_convolution(const Attrs& attrs, const Shape& x, const Shape& w);

}  // namespace stepc
