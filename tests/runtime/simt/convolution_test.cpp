// Convolutions and their gradients as CUDA kernels, run by the SIMT target.
#include "codegen/cuda/print_contraction.h"
#include "ir/ops/convolve.h"
#include "tests/runtime/simt/kernel_runs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stepc::test {
namespace {

struct Case {
  std::string name;
  Shape x, w;
  int64_t groups = 1;
  Dims strides, dilations, pads;  // pads: all low ends, then all high ends
  bool bias = false;
};

// Every number of axes, and with each: groups, strides, dilations, pads that differ, sizes that are no tile's.
const Case kCases[] = {
    {"line", {2, 3, 17}, {5, 3, 4}, 1, {1}, {1}, {0, 0}, true},
    {"patches", {2, 3, 24, 24}, {16, 3, 8, 8}, 1, {8, 8}, {1, 1}, {0, 0, 0, 0}, true},
    {"same", {1, 33, 9, 7}, {34, 33, 3, 3}, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"strided", {3, 4, 11, 13}, {6, 2, 3, 2}, 2, {2, 3}, {2, 1}, {0, 2, 3, 1}, true},
    {"depthwise", {2, 5, 6, 6}, {5, 1, 3, 3}, 5, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"volume", {2, 6, 9, 7, 5}, {4, 3, 3, 2, 1}, 2, {2, 1, 3}, {1, 2, 1}, {1, 1, 0, 0, 1, 2}},
};

Convolution convolution_of(const Case& of) {
  Attrs attrs;
  attrs.set("strides", of.strides);
  attrs.set("dilations", of.dilations);
  attrs.set("pads", of.pads);
  attrs.set("group", of.groups);
  return bind_convolution(attrs, of.x, of.w);
}

// The operands and the result of one kind.
struct Tensors {
  Kernel kernel;
  std::vector<DeviceBuffer> buffers;
};

Tensors tensors_of(const Case& of, ConvolutionKind kind) {
  const Convolution conv = convolution_of(of);
  const bool bias = of.bias && kind == ConvolutionKind::forward;
  const ConvolutionWork work{kind, of.x, of.w, conv.output_shape(), conv, bias};
  const int64_t x = of.x.numel(), w = of.w.numel(), y = conv.output_shape().numel();
  std::vector<int64_t> sizes;
  switch (kind) {
    case ConvolutionKind::forward: sizes = {x, w, y}; break;
    case ConvolutionKind::backward_input: sizes = {y, w, x}; break;
    case ConvolutionKind::backward_weight: sizes = {x, y, w}; break;
  }
  if (bias) sizes.insert(sizes.begin() + 2, of.w[0]);
  Tensors tensors;
  tensors.kernel.kind = KernelKind::convolution;
  tensors.kernel.label = of.name;
  tensors.kernel.work = work;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool written = i + 1 == sizes.size();
    tensors.kernel.buffers.push_back({ValueId{}, Dtype::f32, written});
    tensors.buffers.push_back(written ? DeviceBuffer::empty(Dtype::f32, sizes[i])
                                      : DeviceBuffer::random(Dtype::f32, sizes[i], i + 1));
  }
  return tensors;
}

std::vector<double> naive_convolution(const Case& of, ConvolutionKind kind, const std::vector<DeviceBuffer>& buffers) {
  const Convolution conv = convolution_of(of);
  std::vector<double> result(static_cast<size_t>(buffers.back().count), 0.0);
  const auto operand = [&](size_t buffer, size_t at) { return buffers[buffer].at(static_cast<int64_t>(at)); };
  for_each_product(conv, [&](size_t x, size_t w, size_t y) {
    switch (kind) {
      case ConvolutionKind::forward: result[y] += operand(0, x) * operand(1, w); break;
      case ConvolutionKind::backward_input: result[x] += operand(0, y) * operand(1, w); break;
      case ConvolutionKind::backward_weight: result[w] += operand(0, x) * operand(1, y); break;
    }
  });
  if (buffers.size() == 4) {
    const auto points = static_cast<size_t>(conv.output.numel()), channels = static_cast<size_t>(of.w[0]);
    for (size_t y = 0; y < result.size(); ++y) result[y] += operand(2, y / points % channels);
  }
  return result;
}

void check(ConvolutionKind kind) {
  KernelRuns runs;
  for (const Case& of : kCases) {
    Tensors tensors = tensors_of(of, kind);
    runs.add(tensors.kernel, cuda::print_convolution(tensors.kernel), std::move(tensors.buffers));
  }
  runs.run();
  for (size_t i = 0; i < std::size(kCases); ++i)
    runs.expect_near(i, naive_convolution(kCases[i], kind, runs.buffers(i)), 1e-5);
}

TEST(SimtConvolution, Forward) { check(ConvolutionKind::forward); }
TEST(SimtConvolution, BackwardInput) { check(ConvolutionKind::backward_input); }
TEST(SimtConvolution, BackwardWeight) { check(ConvolutionKind::backward_weight); }

TEST(SimtConvolution, TheGradientOfAnEmptyInputLaunchesNothing) {
  const Case of{"nothing", {0, 3, 9}, {5, 3, 4}, 1, {1}, {1}, {0, 0}};
  EXPECT_TRUE(cuda::print_convolution(tensors_of(of, ConvolutionKind::backward_input).kernel).empty());
}

}  // namespace
}  // namespace stepc::test
