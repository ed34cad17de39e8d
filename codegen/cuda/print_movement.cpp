#include "codegen/cuda/dialect.h"
#include "codegen/cuda/print_kernel.h"
#include "codegen/movement_text.h"
#include "codegen/scalar_text.h"

// Scans, top-k and scatters: a thread per independent sequence.
namespace stepc::cuda {
namespace {

constexpr int32_t kThreads = 128;

// `o` runs over `count` sequences.
StageText open_sequences(int64_t count) {
  StageText stage;
  stage.threads = kThreads;
  stage.grid = blocks_for(count, kThreads);
  stage.body.open(
      "for (int64_t o = block_index * int64_t({0}) + threadIdx.x; o < {1}; o += block_count * int64_t({0}))", kThreads,
      count);
  return stage;
}

std::vector<StageText> list(StageText stage) {
  std::vector<StageText> stages;
  stages.push_back(std::move(stage));
  return stages;
}

// The result starts as the base, unless it was planned over it.
StageText print_base(const Kernel& kernel, const ScatterWork& work) {
  const Dtype dtype = kernel.buffers[2].dtype;
  StageText stage;
  if (!work.base_number && work.base_strides == row_major_strides(work.result)) stage.body.raw("if (b2 == b3) return;");
  StageText loop = open_sequences(work.result.numel());
  loop.body.line("store(b2, o, {});",
                 work.base_number
                     ? stored(literal_text(*work.base_number, dtype), dtype)
                     : fmt::format("load(b3, {})", offset_text("o", work.result.dims(), work.base_strides)));
  loop.body.close();
  stage.body.paste(loop.body.str());
  stage.grid = loop.grid;
  stage.threads = loop.threads;
  return stage;
}

StageText print_updates(const Kernel& kernel, const ScatterWork& work) {
  const ScatterDims sequential(work, true), free(work, false);
  const CudaDialect dialect;
  StageText stage = open_sequences(product(free.extents));
  Text& body = stage.body;
  body.line("const int64_t index_o = {};", offset_text("o", free.extents, free.index));
  body.line("const int64_t update_o = {};", offset_text("o", free.extents, free.update));
  body.line("const int64_t out_o = {};", offset_text("o", free.extents, free.out));
  body.open("for (int64_t s = 0; s < {}; ++s)", product(sequential.extents));
  body.line("const int64_t index = index_o + {};", offset_text("s", sequential.extents, sequential.index));
  body.line("const int64_t at = {} + out_o;", scatter_target_text(work, dialect));
  body.raw(scatter_update_text(
      kernel, "at", fmt::format("update_o + {}", offset_text("s", sequential.extents, sequential.update)), dialect));
  body.close();
  body.close();
  return stage;
}

}  // namespace

std::vector<StageText> print_scan(const Kernel& kernel) {
  const auto& work = std::get<ScanWork>(kernel.work);
  if (product(work.dims) * work.extent == 0) return {};
  StageText stage = open_sequences(product(work.dims));
  print_scan_sequence(stage.body, kernel, CudaDialect());
  stage.body.close();
  return list(std::move(stage));
}

std::vector<StageText> print_top_k(const Kernel& kernel) {
  const auto& work = std::get<TopKWork>(kernel.work);
  if (product(work.dims) * work.k == 0) return {};
  StageText stage = open_sequences(product(work.dims));
  print_top_k_sequence(stage.body, kernel, CudaDialect());
  stage.body.close();
  return list(std::move(stage));
}

std::vector<StageText> print_scatter(const Kernel& kernel) {
  const auto& work = std::get<ScatterWork>(kernel.work);
  std::vector<StageText> stages;
  if (work.result.numel() == 0) return stages;
  stages.push_back(print_base(kernel, work));
  int64_t updates = 1;
  for (const LoopDim& dim : work.dims) updates *= dim.extent;
  if (updates > 0) stages.push_back(print_updates(kernel, work));
  return stages;
}

}  // namespace stepc::cuda
