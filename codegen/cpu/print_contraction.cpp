#include "codegen/cpu/print_kernel.h"
#include "codegen/scalar_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>

// Contractions that no library carries: constants for the template of device/contraction.h.
namespace stepc::cpu {
namespace {

// Some axis, so that no array of the template is empty.
std::string axes_text(std::vector<MatmulWork::Batch> axes) {
  if (axes.empty()) axes.push_back({});
  std::vector<std::string> texts;
  for (const MatmulWork::Batch& axis : axes)
    texts.push_back(fmt::format("{{{}, {}, {}, {}}}", axis.extent, axis.a, axis.b, axis.c));
  return fmt::format("{}", fmt::join(texts, ", "));
}

int64_t points(const std::vector<MatmulWork::Batch>& axes) {
  int64_t count = 1;
  for (const MatmulWork::Batch& axis : axes) count *= axis.extent;
  return count;
}

}  // namespace

void print_contraction(Text& text, const Kernel& kernel) {
  const auto& work = std::get<MatmulWork>(kernel.work);
  if (points(work.batch) * work.m * work.n == 0) return;
  const auto type = [&](size_t buffer) { return tile_element(kernel.buffers[buffer].dtype); };
  const size_t c = kernel.buffers.size() - 1;
  text.line("const Contraction<{}, {}, {}, {}, {}, {}> product = {{", type(0), type(1), type(c),
            std::max<size_t>(work.batch.size(), 1), std::max<size_t>(work.sums.size(), 1), work.addends.size());
  text.line("  .a = {{buffer<{}>(args, 0), {}, {}}},", type(0), work.a_m, work.a_k);
  text.line("  .b = {{buffer<{}>(args, 1), {}, {}}},", type(1), work.b_k, work.b_n);
  text.line("  .c = {{buffer<{}>(args, {}), {}, {}}},", type(c), c, work.c_m, work.c_n);
  text.line("  .batch = {{{}}},", axes_text(work.batch));
  text.line("  .sums = {{{}}},", axes_text(work.sums));
  std::vector<std::string> addends;
  for (size_t i = 0; i < work.addends.size(); ++i) {
    const MatmulWork::Addend& addend = work.addends[i];
    addends.push_back(fmt::format("{{buffer<{}>(args, {}), {}, {}, {{{}}}}}", type(2 + i), 2 + i, addend.m, addend.n,
                                  fmt::join(addend.batch, ", ")));
  }
  text.line("  .addends = {{{}}}}};", fmt::join(addends, ", "));
  // 96 by 96 by 256 floats are three tiles of 100 KB and less, within a second-level cache; smaller sizes need less.
  text.line("multiply_tiles<{}, {}, {}>(args, {}, {}, {}, {}, {}, product);", std::min<int64_t>(work.m, 96),
            std::min<int64_t>(work.n, 96), std::clamp<int64_t>(work.k, 1, 256), points(work.batch), work.m, work.n,
            points(work.sums), work.k);
}

}  // namespace stepc::cpu
