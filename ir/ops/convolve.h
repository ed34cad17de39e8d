#pragma once

#include "ir/convolution.h"
#include "ir/op_def.h"
#include "ir/ops/index_space.h"

namespace stepc {

// What conv, conv_backward_input and conv_backward_weight share.

// Attributes: those of a convolution, after the shape of the result where a gradient cannot know it otherwise.
constexpr std::array<AttrSpec, 12> convolution_attrs(std::string_view result_shape = {}) {
  constexpr AttrSpec kStrides{"strides", AttrKind::integers}, kPads{"pads", AttrKind::integers},
      kDilations{"dilations", AttrKind::integers}, kGroup{"group", AttrKind::integer, false, 1};
  if (result_shape.empty()) return {{kStrides, kPads, kDilations, kGroup}};
  return {{{result_shape, AttrKind::integers}, kStrides, kPads, kDilations, kGroup}};
}

// The attributes of `node` for another of the operations: with the shape of its result under this key, or with none.
Attrs attrs_for(const Node& node, std::string_view result_shape = {}, const Shape& shape = {});

// The dtype of the first two operands. Throws UserError unless it is one float type.
Dtype convolved_dtype(const InferArgs& args);
// Throws UserError unless `dy` has the shape of the result of convolving x with w.
void check_result_gradient(const InferArgs& args, const Shape& x, const Shape& w, const Shape& dy);

// Calls f(x, w, y) with the element offsets of every product of a convolution, those with padding excepted. The three
// convolution operations are this loop with different operands as the result.
template <typename F>
void for_each_product(const Convolution& conv, F&& f) {
  const int64_t in_size = conv.input.numel(), out_size = conv.output.numel(), kernel_size = conv.kernel.numel();
  const int64_t group_count = conv.groups, inputs = conv.in_channels, outputs = conv.out_channels;
  int64_t y = 0;
  for_each_point(conv.output, [&](const Dims& out) {
    int64_t w = 0;
    for_each_point(conv.kernel, [&](const Dims& k) {
      const int64_t x = conv.input_offset(out, k);
      for (int64_t n = 0; x >= 0 && n < conv.batch; ++n)
        for (int64_t g = 0; g < group_count; ++g)
          for (int64_t m = g * outputs; m < (g + 1) * outputs; ++m)
            for (int64_t c = 0; c < inputs; ++c)
              f(static_cast<size_t>(((n * group_count + g) * inputs + c) * in_size + x),
                static_cast<size_t>((m * inputs + c) * kernel_size + w),
                static_cast<size_t>((n * group_count * outputs + m) * out_size + y));
      ++w;
    });
    ++y;
  });
}

}  // namespace stepc
