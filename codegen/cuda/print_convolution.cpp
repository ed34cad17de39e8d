#include "codegen/cuda/print_contraction.h"
#include "codegen/cuda/product_schedule.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>

// Convolutions: constants for the templates of device/convolution.cuh.
namespace stepc::cuda {
namespace {

ProductSizes sizes_of(const ConvolutionWork& work) {
  const Convolution& c = work.convolution;
  const int64_t window = c.kernel.numel(), in = c.input.numel(), out = c.output.numel();
  switch (work.kind) {
    case ConvolutionKind::forward: return {c.out_channels, c.batch * out, c.in_channels * window, c.groups};
    case ConvolutionKind::backward_input: return {c.in_channels, c.batch * in, c.out_channels * window, c.groups};
    case ConvolutionKind::backward_weight: return {c.out_channels, c.in_channels * window, c.batch * out, c.groups};
  }
  return {};
}

// Divisions of 32 bits are worth choosing where rows, columns and depth, rounded up to tiles, allow.
std::string_view index_type(const ProductSizes& sizes) {
  constexpr int64_t kLimit = int64_t{1} << 30;
  return std::max({sizes.m, sizes.n, sizes.k}) < kLimit ? "uint32_t" : "int64_t";
}

std::string call_text(const ConvolutionWork& work, std::string_view tile) {
  const auto call = [&](std::string_view name, std::string_view buffers) {
    return fmt::format("convolve_{}<{}>(stepc_shared, sizes, {});", name, tile, buffers);
  };
  switch (work.kind) {
    case ConvolutionKind::forward: return call("forward", work.has_bias ? "b0, b1, b2, b3" : "b0, b1, nullptr, b2");
    case ConvolutionKind::backward_input: return call("backward_input", "b0, b1, b2");
    case ConvolutionKind::backward_weight: return call("backward_weight", "b0, b1, b2");
  }
  return "";
}

}  // namespace

std::vector<StageText> print_convolution(const Kernel& kernel) {
  const auto& work = std::get<ConvolutionWork>(kernel.work);
  const Convolution& c = work.convolution;
  const ProductSizes sizes = sizes_of(work);
  const ProductSchedule schedule = schedule_tiles(sizes);
  if (schedule.blocks == 0) return {};  // the gradient of an empty input
  StageText stage;
  Text& text = stage.body;
  text.line("extern __shared__ __align__(16) unsigned char stepc_shared[];");
  text.line("const ConvolutionSizes<{}, {}> sizes = {{", c.kernel.rank(), index_type(sizes));
  text.line("    .batch = {}, .groups = {}, .in_channels = {}, .out_channels = {},", c.batch, c.groups, c.in_channels,
            c.out_channels);
  text.line("    .input = {{{}}}, .kernel = {{{}}}, .output = {{{}}},", fmt::join(c.input.dims(), ", "),
            fmt::join(c.kernel.dims(), ", "), fmt::join(c.output.dims(), ", "));
  text.line("    .strides = {{{}}}, .dilations = {{{}}}, .pads = {{{}}}}};", fmt::join(c.strides, ", "),
            fmt::join(c.dilations, ", "), fmt::join(c.pad_low, ", "));
  const std::string tile = fmt::format("ProductTile<{}, {}, {}, {}, {}>", schedule.tile_m, schedule.tile_n,
                                       schedule.tile_depth, schedule.split_m, schedule.split_n);
  text.raw(call_text(work, tile));
  stage.grid = schedule.blocks;
  stage.threads = schedule.threads;
  stage.shared_bytes = schedule.shared_bytes;
  return {stage};
}

}  // namespace stepc::cuda
