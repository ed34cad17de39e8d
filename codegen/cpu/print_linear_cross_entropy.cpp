#include "codegen/cpu/print_kernel.h"
#include "codegen/scalar_text.h"

#include <limits>
#include <string_view>

// Linear cross-entropy: constants for the template of device/linear_cross_entropy.h.
namespace stepc::cpu {
namespace {

using Work = LinearCrossEntropyWork;

std::string pointer(const Work::Tensor& tensor, std::string_view type) {
  return tensor.buffer < 0 ? "nullptr" : fmt::format("buffer<{}>(args, {})", type, tensor.buffer);
}

void print_rows(Text& text, const Work& work, std::string_view name, const Work::Tensor& tensor,
                std::string_view type) {
  text.line("  .{} = {{{}, {}, {}, {}}},", name, pointer(tensor, type), work.inner_rows, tensor.outer_stride,
            tensor.row_stride);
}

void print_matrix(Text& text, std::string_view name, const Work::Tensor& tensor) {
  text.line("  .{} = {{{}, {}, {}}},", name, pointer(tensor, "float"), tensor.row_stride, tensor.column_stride);
}

}  // namespace

void print_linear_cross_entropy(Text& text, const Kernel& kernel) {
  const auto& work = std::get<Work>(kernel.work);
  const auto f32 = [](double value) { return literal_text(value, Dtype::f32); };
  const std::string_view label =
      kernel.buffers[static_cast<size_t>(work.labels.buffer)].dtype == Dtype::i32 ? "int32_t" : "int64_t";
  const std::string_view x = tile_element(kernel.buffers[static_cast<size_t>(work.x.buffer)].dtype);
  text.line("const LossProblem<{}, {}> problem = {{", label, x);
  text.line("  .rows = {}, .classes = {}, .group_tiles = {},", work.rows, work.classes, work.group_tiles);
  text.line("  .smoothing = {}, .z_loss = {},", f32(work.smoothing), f32(work.z_loss));
  text.line("  .ignore_index = {},", work.ignore_index == std::numeric_limits<int64_t>::min()
                                         ? "INT64_MIN"
                                         : fmt::format("{}", work.ignore_index));
  text.line("  .mean = {}, .total = {},", work.reduction == LossReduction::mean, work.reduction != LossReduction::none);
  print_rows(text, work, "x", work.x, x);
  print_rows(text, work, "dx", work.dx, x);
  text.line("  .x_column_stride = {}, .dx_column_stride = {},", work.x.column_stride, work.dx.column_stride);
  print_matrix(text, "w", work.w);
  print_matrix(text, "dw", work.dw);
  text.line("  .bias = {}, .dbias = {},", pointer(work.bias, "float"), pointer(work.dbias, "float"));
  text.line("  .bias_stride = {}, .dbias_stride = {},", work.bias.row_stride, work.dbias.row_stride);
  print_rows(text, work, "labels", work.labels, label);
  print_rows(text, work, "loss", work.loss, "float");
  print_rows(text, work, "upstream", work.upstream, "float");
  text.line("  .upstream_value = {},", f32(work.upstream_value));
  const Work::Scratch& scratch = work.scratch;
  text.line("  .x_rows = {}, .x_columns = {}, .logits = {}, .statistics = {}, .partial_dx = {}, .losses = {}}};",
            scratch.x_rows, scratch.x_columns, scratch.logits, scratch.statistics, scratch.partial_dx, scratch.losses);
  text.line("LinearCrossEntropy<{}, {}, {}, {}, {}, {}, {}, {}, {}>(args, problem).run();", work.chunk_rows,
            work.class_tile, work.depth, work.depth_step, work.dx.buffer >= 0, work.dw.buffer >= 0,
            work.dbias.buffer >= 0, label, x);
}

}  // namespace stepc::cpu
