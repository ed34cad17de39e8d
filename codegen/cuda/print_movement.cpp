#include "codegen/cuda/print_kernel.h"
#include "codegen/scalar_text.h"
#include "ir/kernel/trace.h"

#include <algorithm>
#include <string>

// Scans, top-k and scatters: a thread per independent sequence.
namespace stepc::cuda {
namespace {

constexpr int32_t kThreads = 128;

int64_t product(const Dims& dims) {
  int64_t result = 1;
  for (const int64_t dim : dims) result *= dim;
  return result;
}

// Σ coordinate·stride where the coordinates are those of the linear index `index` over `dims`.
std::string offset_text(const std::string& index, const Dims& dims, const Dims& strides) {
  std::string text;
  int64_t inner = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] != 1 && strides[d] != 0)
      text += fmt::format("{}{} / {} % {} * {}", text.empty() ? "" : " + ", index, inner, dims[d], strides[d]);
    inner *= dims[d];
  }
  return text.empty() ? "0" : text;
}

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

// What an element becomes when an update meets it.
std::string combined(ScatterMode mode, const std::string& old, const std::string& update, Dtype dtype) {
  const std::string_view type = value_type(dtype);
  switch (mode) {
    case ScatterMode::assign: break;
    case ScatterMode::add: return fmt::format("static_cast<{}>({} + {})", type, old, update);
    case ScatterMode::mul: return fmt::format("static_cast<{}>({} * {})", type, old, update);
    case ScatterMode::max: return fmt::format("maximum<{}>({}, {})", type, old, update);
    case ScatterMode::min: return fmt::format("minimum<{}>({}, {})", type, old, update);
  }
  return update;
}

// The dims of a scatter that are sequential, or those that are not, with each kind of strides.
struct Dimensions {
  Dims extents, index, update, out;
};

Dimensions select(const ScatterWork& work, bool sequential) {
  Dimensions result;
  for (size_t d = 0; d < work.dims.size(); ++d) {
    if (work.dims[d].reduced != sequential || work.dims[d].extent == 1) continue;
    result.extents.push_back(work.dims[d].extent);
    result.index.push_back(work.index_strides[d]);
    result.update.push_back(work.update_strides[d]);
    result.out.push_back(work.out_strides[d]);
  }
  return result;
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

std::string target_text(const ScatterWork& work) {
  std::string at;
  for (size_t c = 0; c < work.targets.size(); ++c)
    at += fmt::format("{}checked_index(error, load(b0, index + {}), {}) * {}", at.empty() ? "" : " + ",
                      static_cast<int64_t>(c) * work.component_stride, work.targets[c].extent, work.targets[c].stride);
  return at;
}

StageText print_updates(const Kernel& kernel, const ScatterWork& work) {
  const Dimensions sequential = select(work, true), free = select(work, false);
  const Dtype dtype = kernel.buffers[2].dtype;
  StageText stage = open_sequences(product(free.extents));
  Text& body = stage.body;
  body.line("const int64_t index_o = {};", offset_text("o", free.extents, free.index));
  body.line("const int64_t update_o = {};", offset_text("o", free.extents, free.update));
  body.line("const int64_t out_o = {};", offset_text("o", free.extents, free.out));
  body.open("for (int64_t s = 0; s < {}; ++s)", product(sequential.extents));
  body.line("const int64_t index = index_o + {};", offset_text("s", sequential.extents, sequential.index));
  body.line("const int64_t at = {} + out_o;", target_text(work));
  const std::string update =
      loaded(fmt::format("load(b1, update_o + {})", offset_text("s", sequential.extents, sequential.update)), dtype);
  body.line("store(b2, at, {});", stored(combined(work.mode, loaded("load(b2, at)", dtype), update, dtype), dtype));
  body.close();
  body.close();
  return stage;
}

}  // namespace

std::vector<StageText> print_scan(const Kernel& kernel) {
  const auto& work = std::get<ScanWork>(kernel.work);
  const Dtype dtype = kernel.buffers[0].dtype;
  const std::string_view type = value_type(accumulator_of(dtype));
  if (product(work.dims) * work.extent == 0) return {};
  StageText stage = open_sequences(product(work.dims));
  Text& body = stage.body;
  body.line("const int64_t in = {};", offset_text("o", work.dims, work.in_strides));
  body.line("const int64_t out = {};", offset_text("o", work.dims, work.out_strides));
  body.line("{} sum = 0;", type);
  body.open("for (int64_t i = 0; i < {}; ++i)", work.extent);
  body.line("const int64_t k = {};", work.reverse ? fmt::format("{} - i", work.extent - 1) : "i");
  body.line("const {} x = {};", type, loaded(fmt::format("load(b0, in + k * {})", work.in_stride), dtype));
  const std::string result = fmt::format("store(b1, out + k * {}, {});", work.out_stride, stored("sum", dtype));
  if (work.exclusive) body.raw(result);
  body.line("sum = static_cast<{}>(sum + x);", type);
  if (!work.exclusive) body.raw(result);
  body.close();
  body.close();
  return list(std::move(stage));
}

std::vector<StageText> print_top_k(const Kernel& kernel) {
  const auto& work = std::get<TopKWork>(kernel.work);
  const Dtype dtype = kernel.buffers[0].dtype;
  if (product(work.dims) * work.k == 0) return {};
  StageText stage = open_sequences(product(work.dims));
  Text& body = stage.body;
  body.line("const int64_t in = {};", offset_text("o", work.dims, work.in_strides));
  body.line("const int64_t out = {};", offset_text("o", work.dims, work.out_strides));
  body.line("const auto at = [=](int64_t i) {{ return {}; }};",
            loaded(fmt::format("load(b0, in + i * {})", work.in_stride), dtype));
  body.line("top_k<{}>(at, {}, {}, Places{{b2 + out, {}}});", work.largest, work.extent, work.k, work.out_stride);
  body.open("for (int64_t i = 0; i < {}; ++i)", work.k);
  body.line("store(b1, out + i * {0}, load(b0, in + load(b2, out + i * {0}) * {1}));", work.out_stride, work.in_stride);
  body.close();
  body.close();
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
