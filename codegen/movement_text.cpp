#include "codegen/movement_text.h"

#include "codegen/scalar_text.h"
#include "ir/kernel/trace.h"

namespace stepc {
namespace {

std::string element(const Dialect& dialect, int32_t buffer, const std::string& at) {
  return dialect.element(Dialect::kNoSource, buffer, at);
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

}  // namespace

int64_t product(const Dims& dims) {
  int64_t result = 1;
  for (const int64_t dim : dims) result *= dim;
  return result;
}

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

void print_scan_sequence(Text& text, const Kernel& kernel, const Dialect& dialect) {
  const auto& work = std::get<ScanWork>(kernel.work);
  const Dtype dtype = kernel.buffers[0].dtype;
  const std::string_view type = value_type(accumulator_of(dtype));
  text.line("const int64_t in = {};", offset_text("o", work.dims, work.in_strides));
  text.line("const int64_t out = {};", offset_text("o", work.dims, work.out_strides));
  text.line("{} sum = 0;", type);
  text.open("for (int64_t i = 0; i < {}; ++i)", work.extent);
  text.line("const int64_t k = {};", work.reverse ? fmt::format("{} - i", work.extent - 1) : "i");
  text.line("const {} x = {};", type, loaded(element(dialect, 0, fmt::format("in + k * {}", work.in_stride)), dtype));
  const std::string store = dialect.assignment(1, fmt::format("out + k * {}", work.out_stride), stored("sum", dtype));
  if (work.exclusive) text.raw(store);
  text.line("sum = static_cast<{}>(sum + x);", type);
  if (!work.exclusive) text.raw(store);
  text.close();
}

void print_top_k_sequence(Text& text, const Kernel& kernel, const Dialect& dialect) {
  const auto& work = std::get<TopKWork>(kernel.work);
  const Dtype dtype = kernel.buffers[0].dtype;
  text.line("const int64_t in = {};", offset_text("o", work.dims, work.in_strides));
  text.line("const int64_t out = {};", offset_text("o", work.dims, work.out_strides));
  text.line("const auto at = [=](int64_t i) {{ return {}; }};",
            loaded(element(dialect, 0, fmt::format("in + i * {}", work.in_stride)), dtype));
  text.line("top_k<{}>(at, {}, {}, Places{{b2 + out, {}}});", work.largest, work.extent, work.k, work.out_stride);
  text.open("for (int64_t i = 0; i < {}; ++i)", work.k);
  const std::string out = fmt::format("out + i * {}", work.out_stride);
  const std::string in = fmt::format("in + {} * {}", element(dialect, 2, out), work.in_stride);
  text.raw(dialect.assignment(1, out, element(dialect, 0, in)));
  text.close();
}

ScatterDims::ScatterDims(const ScatterWork& work, bool sequential) {
  for (size_t d = 0; d < work.dims.size(); ++d) {
    if (work.dims[d].reduced != sequential || work.dims[d].extent == 1) continue;
    extents.push_back(work.dims[d].extent);
    index.push_back(work.index_strides[d]);
    update.push_back(work.update_strides[d]);
    out.push_back(work.out_strides[d]);
  }
}

std::string scatter_target_text(const ScatterWork& work, const Dialect& dialect) {
  std::string at;
  for (size_t c = 0; c < work.targets.size(); ++c) {
    const int64_t component = static_cast<int64_t>(c) * work.component_stride;
    const std::string raw = element(dialect, 0, fmt::format("index + {}", component));
    at += fmt::format("{}{} * {}", at.empty() ? "" : " + ", dialect.checked_index(raw, work.targets[c].extent),
                      work.targets[c].stride);
  }
  return at;
}

std::string scatter_update_text(const Kernel& kernel, const std::string& at, const std::string& update,
                                const Dialect& dialect) {
  const ScatterMode mode = std::get<ScatterWork>(kernel.work).mode;
  const Dtype dtype = kernel.buffers[2].dtype;
  const std::string old = loaded(element(dialect, 2, at), dtype), added = loaded(element(dialect, 1, update), dtype);
  return dialect.assignment(2, at, stored(combined(mode, old, added, dtype), dtype));
}

}  // namespace stepc
