#include "codegen/cpu/print_kernel.h"
#include "codegen/scalar_text.h"

#include <fmt/ranges.h>

#include <string_view>
#include <vector>

// Attention: constants for the templates of device/attention.h and device/attention_backward.h.
namespace stepc::cpu {

std::string_view tile_element(Dtype dtype) {
  switch (dtype) {
    case Dtype::bf16: return "Bf16";
    case Dtype::f16: return "F16";
    default: return storage_type(dtype);
  }
}

namespace {

Dtype mask_dtype(const Kernel& kernel) {
  const auto& work = std::get<AttentionWork>(kernel.work);
  return work.mask == AttentionMask::none ? Dtype::f32 : kernel.buffers[work.mask_buffer].dtype;
}

std::string tensor_text(const Kernel& kernel, size_t buffer) {
  const std::string_view type = tile_element(kernel.buffers[buffer].dtype);
  return fmt::format("AttentionTensor<{}>{{buffer<{}>(args, {}), {{{}}}}}", type, type, buffer,
                     fmt::join(std::get<AttentionWork>(kernel.work).strides[buffer], ", "));
}

void print_problem(Text& text, const Kernel& kernel) {
  const auto& work = std::get<AttentionWork>(kernel.work);
  const Attention& a = work.attention;
  const std::string_view mask = tile_element(mask_dtype(kernel));
  const bool masked = work.mask != AttentionMask::none;
  text.raw(fmt::format("const AttentionProblem<{}> problem = {{", mask));
  text.line("  .batch = {}, .heads = {}, .key_heads = {}, .queries = {}, .keys = {},", a.batch, a.heads, a.key_heads,
            a.queries, a.keys);
  text.line("  .least_distance = {}, .greatest_distance = {},", work.least_distance, work.greatest_distance);
  text.line("  .scale = {}, .softcap = {},", literal_text(a.scale, Dtype::f32), literal_text(a.softcap, Dtype::f32));
  text.line("  .mask = {},", masked ? fmt::format("buffer<const {}>(args, {})", mask, work.mask_buffer) : "nullptr");
  text.line("  .mask_strides = {{{}}},",
            masked ? fmt::format("{}", fmt::join(work.strides[work.mask_buffer], ", ")) : "0");
  text.line("  .dropout = {}, .kept_scale = {},", literal_text(a.dropout, Dtype::f32),
            literal_text(a.kept_scale(), Dtype::f32));
  text.line("  .dropout_key = INT64_C({}), .dropout_offset = {}}};", a.dropout_key,
            a.dropout > 0 ? fmt::format("*buffer<const int64_t>(args, {})", work.offset_buffer) : "0");
}

}  // namespace

void print_attention(Text& text, const Kernel& kernel) {
  const auto& work = std::get<AttentionWork>(kernel.work);
  const Attention& a = work.attention;
  print_problem(text, kernel);
  const std::string sizes = fmt::format("{}, {}, {}, {}", work.query_tile, work.key_tile, a.depth, a.value_depth);
  const std::string_view element = tile_element(kernel.buffers[0].dtype), mask = tile_element(mask_dtype(kernel));
  size_t first_result = 0;
  while (!kernel.buffers[first_result].written) ++first_result;
  std::vector<std::string> tensors;
  for (size_t i = 0; i < (work.backward ? 6U : 3U); ++i) tensors.push_back(tensor_text(kernel, i));
  for (size_t i = first_result; i < kernel.buffers.size(); ++i) tensors.push_back(tensor_text(kernel, i));
  if (!work.backward) {
    text.line("attention_forward<{}>(args, problem, {});", sizes, fmt::join(tensors, ",\n    "));
    return;
  }
  text.line("const AttentionGradients<{}, {}> tensors = {{\n    {}}};", element, mask, fmt::join(tensors, ",\n    "));
  text.line("attention_backward<{}, {}, {}>(args, problem, tensors);", sizes, work.two_phases, work.mask_gradient);
}

}  // namespace stepc::cpu
