#include "codegen/cpu/print_kernel.h"
#include "codegen/cpu/scalar_text.h"

#include <fmt/ranges.h>

#include <string_view>
#include <vector>

// Attention: constants for the templates of device/attention.h and device/attention_backward.h.
namespace stepc::cpu {
namespace {

std::string mask_pointer(const AttentionWork& work, AttentionMask kind, std::string_view type) {
  return work.mask == kind ? fmt::format("buffer<const {}>(args, {})", type, work.mask_buffer()) : "nullptr";
}

void print_problem(Text& text, const AttentionWork& work) {
  const Attention& a = work.attention;
  text.raw("const AttentionProblem problem = {");
  text.line("  .batch = {}, .heads = {}, .key_heads = {}, .queries = {}, .keys = {},", a.batch, a.heads, a.key_heads,
            a.queries, a.keys);
  text.line("  .least_distance = {}, .greatest_distance = {},", work.least_distance, work.greatest_distance);
  text.line("  .scale = {}, .softcap = {},", literal_text(a.scale, Dtype::f32), literal_text(a.softcap, Dtype::f32));
  text.line("  .bias = {},", mask_pointer(work, AttentionMask::additive, "float"));
  text.line("  .allowed = {},", mask_pointer(work, AttentionMask::boolean, "uint8_t"));
  text.line("  .mask_strides = {{{}}}}};", work.mask == AttentionMask::none
                                               ? "0"
                                               : fmt::format("{}", fmt::join(work.strides[work.mask_buffer()], ", ")));
}

// Every buffer but the mask under its name.
void print_tensors(Text& text, const Kernel& kernel, const std::vector<std::string_view>& names) {
  const auto& work = std::get<AttentionWork>(kernel.work);
  size_t name = 0;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    if (work.mask != AttentionMask::none && i == work.mask_buffer()) continue;
    text.line("const AttentionTensor {} = {{buffer<float>(args, {}), {{{}}}}};", names[name++], i,
              fmt::join(work.strides[i], ", "));
  }
}

}  // namespace

void print_attention(Text& text, const Kernel& kernel) {
  const auto& work = std::get<AttentionWork>(kernel.work);
  const Attention& a = work.attention;
  print_problem(text, work);
  const std::string sizes = fmt::format("{}, {}, {}, {}", work.query_tile, work.key_tile, a.depth, a.value_depth);
  if (!work.backward) {
    print_tensors(text, kernel, {"q", "k", "v", "o", "lse"});
    text.line("attention_forward<{}>(args, problem, q, k, v, o, lse);", sizes);
    return;
  }
  print_tensors(text, kernel, {"q", "k", "v", "o", "lse", "d_o", "dq", "dk", "dv"});
  text.line("attention_backward<{}, {}>(args, problem, {{q, k, v, o, lse, d_o, dq, dk, dv}});", sizes, work.two_phases);
}

}  // namespace stepc::cpu
