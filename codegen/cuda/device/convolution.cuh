#pragma once

#include "codegen/cuda/device/product_tiles.cuh"

// f32 convolutions (ir/convolution.h) and their gradients as products of tiles, per group of channels; one operand is
// gathered from row-major tensors as its tiles are copied, never stored. n counts images, c and m a group's channels of
// the input and of the output, i, k and o row-major positions of input, kernel and output:
//   forward          y[m, (n, o)]  = Σ w[m, (c, k)] · x[(c, k), (n, o)]
//   backward_input   dx[c, (n, i)] = Σ w[c, (m, k)] · dy[(m, k), (n, i)]
//   backward_weight  dw[m, (c, k)] = Σ dy[m, (n, o)] · x[(n, o), (c, k)]
namespace stepc_device {

// Index: an integer that holds the number of rows, columns and the depth of the product.
template <int kAxes, typename Index>
struct ConvolutionSizes {
  Index batch, groups, in_channels, out_channels;  // channels of a group
  Index input[kAxes], kernel[kAxes], output[kAxes];
  int64_t strides[kAxes], dilations[kAxes], pads[kAxes];

  static __device__ __forceinline__ Index points(const Index (&sizes)[kAxes]) {
    Index count = 1;
#pragma unroll
    for (int axis = 0; axis < kAxes; ++axis) count *= sizes[axis];
    return count;
  }
  // The input position that output position `out` reads through kernel position `k`.
  __device__ __forceinline__ int64_t input_place(Index out, Index k) const {
    int64_t place = 0, size = 1;
    bool inside = true;
#pragma unroll
    for (int axis = kAxes - 1; axis >= 0; --axis) {
      const int64_t at = static_cast<int64_t>(out % output[axis]) * strides[axis] +
                         static_cast<int64_t>(k % kernel[axis]) * dilations[axis] - pads[axis];
      inside = inside && at >= 0 && at < static_cast<int64_t>(input[axis]);
      place += at * size;
      size *= input[axis];
      out /= output[axis];
      k /= kernel[axis];
    }
    return inside ? place : kOutside;
  }
  // The output position that reads input position `in` through kernel position `k`.
  __device__ __forceinline__ int64_t output_place(Index in, Index k) const {
    int64_t place = 0, size = 1;
    bool inside = true;
#pragma unroll
    for (int axis = kAxes - 1; axis >= 0; --axis) {
      const int64_t reach = static_cast<int64_t>(in % input[axis]) + pads[axis] -
                            static_cast<int64_t>(k % kernel[axis]) * dilations[axis];
      const int64_t at = reach / strides[axis];
      inside = inside && reach >= 0 && reach % strides[axis] == 0 && at < static_cast<int64_t>(output[axis]);
      place += at * size;
      size *= output[axis];
      in /= input[axis];
      k /= kernel[axis];
    }
    return inside ? place : kOutside;
  }
};

// What the tiles ask of an operand besides `place`.
struct GatheredOperand {
  const float* data;
  static constexpr bool vectors = false;

  __device__ __forceinline__ bool holds(int64_t, int64_t) const { return false; }
  __device__ __forceinline__ int64_t offset(int64_t, int64_t) const { return kOutside; }
};

// Element (outer, (q, r)), r < inner, at outer·outer_stride + q·stride + r.
template <typename Index>
struct SplitOperand : GatheredOperand {
  Index outer, depth, inner;
  int64_t outer_stride, stride;

  __device__ __forceinline__ SplitOperand of_part(int64_t) const { return *this; }
  __device__ __forceinline__ int64_t place(int64_t row, int64_t at_depth) const {
    const Index at = static_cast<Index>(at_depth);
    if (row >= static_cast<int64_t>(outer) || at >= depth) return kOutside;
    return row * outer_stride + static_cast<int64_t>(at / inner) * stride + at % inner;
  }
};

// What position (n, spatial) of one side meets through (channel, k) on the other: the input's element for outputs, the
// output's for inputs (kOfOutput). The pair of channel and kernel is the depth, or the outer index (kWindowsOuter).
template <int kAxes, typename Index, bool kOfOutput, bool kWindowsOuter>
struct WindowOperand : GatheredOperand {
  ConvolutionSizes<kAxes, Index> sizes;

  __device__ __forceinline__ WindowOperand of_part(int64_t) const { return *this; }
  __device__ __forceinline__ int64_t place(int64_t row, int64_t at_depth) const {
    const Index channels = kOfOutput ? sizes.out_channels : sizes.in_channels;
    const Index window = sizes.points(sizes.kernel), here = sizes.points(sizes.output),
                there = sizes.points(sizes.input);
    const Index positions = kOfOutput ? there : here, size = kOfOutput ? here : there;
    const Index pair = static_cast<Index>(kWindowsOuter ? row : at_depth);
    const Index point = static_cast<Index>(kWindowsOuter ? at_depth : row);
    if (pair >= channels * window || point >= sizes.batch * positions) return kOutside;
    const int64_t at = kOfOutput ? sizes.output_place(point % positions, pair % window)
                                 : sizes.input_place(point % positions, pair % window);
    if (at == kOutside) return kOutside;
    const int64_t image = static_cast<int64_t>(point / positions) * sizes.groups;
    return (image * channels + pair / window) * size + at;
  }
};

// Element (row, (q, r)), r < inner, goes to row·row_stride + q·stride + r, after `bias` of its row is added.
template <typename Index>
struct SplitStore {
  float* data;
  const float* bias;  // or null
  Index rows, columns, inner;
  int64_t row_stride, stride;

  __device__ __forceinline__ void operator()(int64_t row, int64_t column, const float (&sums)[4]) const {
    if (row >= static_cast<int64_t>(rows)) return;
    const float addend = bias != nullptr ? load(bias, row) : -0.0F;  // x + -0 is x, whatever its sign
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Index at = static_cast<Index>(column + i);
      if (at < columns)
        store(data, row * row_stride + static_cast<int64_t>(at / inner) * stride + at % inner, sums[i] + addend);
    }
  }
};

// Buffers: x, w, the bias or null, y.
template <typename Tile, int kAxes, typename Index>
__device__ __forceinline__ void convolve_forward(unsigned char* shared, const ConvolutionSizes<kAxes, Index>& sizes,
                                                 const float* x, const float* w, const float* bias, float* y) {
  const Index in = sizes.points(sizes.input), window = sizes.points(sizes.kernel), out = sizes.points(sizes.output);
  const Index rows = sizes.out_channels, columns = sizes.batch * out, depth = sizes.in_channels * window;
  const TilePlace place(blockIdx.x, rows, columns, Tile::kM, Tile::kN);
  const int64_t group = place.point, first_row = group * rows;
  const SplitOperand<Index> weights{{w + first_row * depth}, rows, depth, depth, depth, 0};
  const WindowOperand<kAxes, Index, false, false> images{{x + group * sizes.in_channels * in}, sizes};
  const SplitStore<Index> results{y + first_row * out,
                                  bias != nullptr ? bias + first_row : nullptr,
                                  rows,
                                  columns,
                                  out,
                                  out,
                                  static_cast<int64_t>(sizes.groups) * rows * out};
  multiply_tiles<Tile, true, false>(reinterpret_cast<float*>(shared), weights, images, 1, depth, place.row,
                                    place.column, results);
}

// Buffers: dy, w, dx.
template <typename Tile, int kAxes, typename Index>
__device__ __forceinline__ void convolve_backward_input(unsigned char* shared,
                                                        const ConvolutionSizes<kAxes, Index>& sizes, const float* dy,
                                                        const float* w, float* dx) {
  const Index in = sizes.points(sizes.input), window = sizes.points(sizes.kernel), out = sizes.points(sizes.output);
  const Index rows = sizes.in_channels, columns = sizes.batch * in, depth = sizes.out_channels * window;
  const TilePlace place(blockIdx.x, rows, columns, Tile::kM, Tile::kN);
  const int64_t group = place.point, of_channel = static_cast<int64_t>(rows) * window;
  const SplitOperand<Index> weights{
      {w + group * sizes.out_channels * of_channel}, rows, depth, window, window, of_channel};
  const WindowOperand<kAxes, Index, true, false> gradients{{dy + group * sizes.out_channels * out}, sizes};
  const SplitStore<Index> results{
      dx + group * rows * in, nullptr, rows, columns, in, in, static_cast<int64_t>(sizes.groups) * rows * in};
  multiply_tiles<Tile, true, false>(reinterpret_cast<float*>(shared), weights, gradients, 1, depth, place.row,
                                    place.column, results);
}

// Buffers: x, dy, dw.
template <typename Tile, int kAxes, typename Index>
__device__ __forceinline__ void convolve_backward_weight(unsigned char* shared,
                                                         const ConvolutionSizes<kAxes, Index>& sizes, const float* x,
                                                         const float* dy, float* dw) {
  const Index in = sizes.points(sizes.input), window = sizes.points(sizes.kernel), out = sizes.points(sizes.output);
  const Index rows = sizes.out_channels, columns = sizes.in_channels * window, depth = sizes.batch * out;
  const TilePlace place(blockIdx.x, rows, columns, Tile::kM, Tile::kN);
  const int64_t group = place.point;
  const SplitOperand<Index> gradients{
      {dy + group * rows * out}, rows, depth, out, out, static_cast<int64_t>(sizes.groups) * rows * out};
  const WindowOperand<kAxes, Index, false, true> images{{x + group * sizes.in_channels * in}, sizes};
  const SplitStore<Index> results{dw + group * rows * columns, nullptr, rows, columns, columns, columns, 0};
  multiply_tiles<Tile, true, true>(reinterpret_cast<float*>(shared), gradients, images, 1, depth, place.row,
                                   place.column, results);
}

}  // namespace stepc_device
