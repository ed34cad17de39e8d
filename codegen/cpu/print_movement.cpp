#include "codegen/cpu/print_kernel.h"
#include "codegen/scalar_text.h"
#include "ir/kernel/trace.h"
#include "ir/support/error.h"

#include <vector>

// Scans, top-k and scatters.
namespace stepc::cpu {
namespace {

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

// What an element becomes when an update meets it.
std::string combined(ScatterMode mode, const std::string& old, const std::string& update, Dtype dtype) {
  const std::string_view type = value_type(dtype);
  switch (mode) {
    case ScatterMode::assign: return update;
    case ScatterMode::add: return fmt::format("static_cast<{}>({} + {})", type, old, update);
    case ScatterMode::mul: return fmt::format("static_cast<{}>({} * {})", type, old, update);
    case ScatterMode::max: return fmt::format("maximum<{}>({}, {})", type, old, update);
    case ScatterMode::min: return fmt::format("minimum<{}>({}, {})", type, old, update);
  }
  return {};
}

// The dims of a scatter that are sequential, or those that are not, with one kind of strides.
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

// Splits off the innermost dim: tasks are (outer, piece of the innermost dim).
struct Pieces {
  Dimensions outer;
  int64_t inner = 1, index = 0, update = 0, out = 0;
};

Pieces pieces_of(Dimensions free) {
  Pieces pieces;
  if (free.extents.empty()) return pieces;
  pieces.inner = free.extents.back();
  pieces.index = free.index.back();
  pieces.update = free.update.back();
  pieces.out = free.out.back();
  for (Dims* list : {&free.extents, &free.index, &free.update, &free.out}) list->pop_back();
  pieces.outer = std::move(free);
  return pieces;
}

// The result starts as the base, unless it was planned over it.
void print_base(Text& text, const Kernel& kernel, const ScatterWork& work) {
  const int64_t count = work.result.numel();
  const Dtype dtype = kernel.buffers[2].dtype;
  text.open("parallel_for(args, {}, {}, [=](int64_t begin, int64_t end)", count, grain_of(1));
  declare_buffers(text, kernel);
  if (work.base_number)
    text.line("for (int64_t i = begin; i < end; ++i) b2[i] = {};",
              stored(literal_text(*work.base_number, dtype), dtype));
  else if (work.base_strides == row_major_strides(work.result))
    text.raw("for (int64_t i = begin; i < end && b2 != b3; ++i) b2[i] = b3[i];");
  else
    text.line("for (int64_t i = begin; i < end; ++i) b2[i] = b3[{}];",
              offset_text("i", work.result.dims(), work.base_strides));
  text.close("});");
}

std::string target_text(const ScatterWork& work) {
  std::string at;
  for (size_t c = 0; c < work.targets.size(); ++c)
    at += fmt::format("{}checked_index(args, b0[index + {}], {}) * {}", at.empty() ? "" : " + ",
                      static_cast<int64_t>(c) * work.component_stride, work.targets[c].extent, work.targets[c].stride);
  return at;
}

}  // namespace

void print_scan(Text& text, const Kernel& kernel) {
  const auto& work = std::get<ScanWork>(kernel.work);
  const Dtype dtype = kernel.buffers[0].dtype;
  const std::string_view type = value_type(accumulator_of(dtype));
  if (product(work.dims) * work.extent == 0) return;
  text.open("parallel_for(args, {}, {}, [=](int64_t begin, int64_t end)", product(work.dims), grain_of(work.extent));
  declare_buffers(text, kernel);
  text.open("for (int64_t o = begin; o < end; ++o)");
  text.line("const int64_t in = {};", offset_text("o", work.dims, work.in_strides));
  text.line("const int64_t out = {};", offset_text("o", work.dims, work.out_strides));
  text.line("{} sum = 0;", type);
  text.open("for (int64_t i = 0; i < {}; ++i)", work.extent);
  text.line("const int64_t k = {};", work.reverse ? fmt::format("{} - i", work.extent - 1) : "i");
  text.line("const {} x = {};", type, loaded(fmt::format("b0[in + k * {}]", work.in_stride), dtype));
  const std::string store = fmt::format("b1[out + k * {}] = {};", work.out_stride, stored("sum", dtype));
  if (work.exclusive) text.raw(store);
  text.line("sum = static_cast<{}>(sum + x);", type);
  if (!work.exclusive) text.raw(store);
  text.close();
  text.close();
  text.close("});");
}

void print_top_k(Text& text, const Kernel& kernel) {
  const auto& work = std::get<TopKWork>(kernel.work);
  const Dtype dtype = kernel.buffers[0].dtype;
  if (product(work.dims) * work.k == 0) return;
  text.open("parallel_for(args, {}, {}, [=](int64_t begin, int64_t end)", product(work.dims), grain_of(work.extent));
  declare_buffers(text, kernel);
  text.open("for (int64_t o = begin; o < end; ++o)");
  text.line("const int64_t in = {};", offset_text("o", work.dims, work.in_strides));
  text.line("const int64_t out = {};", offset_text("o", work.dims, work.out_strides));
  text.line("const auto at = [=](int64_t i) {{ return {}; }};",
            loaded(fmt::format("b0[in + i * {}]", work.in_stride), dtype));
  text.line("top_k<{}>(at, {}, {}, Places{{b2 + out, {}}});", work.largest, work.extent, work.k, work.out_stride);
  text.open("for (int64_t i = 0; i < {}; ++i)", work.k);
  text.line("b1[out + i * {0}] = b0[in + b2[out + i * {0}] * {1}];", work.out_stride, work.in_stride);
  text.close();
  text.close();
  text.close("});");
}

void print_scatter(Text& text, const Kernel& kernel) {
  const auto& work = std::get<ScatterWork>(kernel.work);
  if (work.result.numel() == 0) return;
  print_base(text, kernel, work);
  const Dtype dtype = kernel.buffers[2].dtype;
  const Dimensions sequential = select(work, true);
  const Pieces free = pieces_of(select(work, false));
  const int64_t updates = product(sequential.extents);
  const int64_t outer = product(free.outer.extents);
  if (updates * outer * free.inner == 0) return;
  constexpr int64_t kPiece = 256;
  const int64_t pieces = (free.inner + kPiece - 1) / kPiece;
  text.open("parallel_for(args, {}, {}, [=](int64_t begin, int64_t end)", outer * pieces,
            grain_of(updates * (free.inner < kPiece ? free.inner : kPiece)));
  declare_buffers(text, kernel);
  text.open("for (int64_t task = begin; task < end; ++task)");
  text.line("const int64_t o = task / {};", pieces);
  text.line("const int64_t first = task % {} * {};", pieces, kPiece);
  text.line("const int64_t last = first + {0} < {1} ? first + {0} : {1};", kPiece, free.inner);
  text.line("const int64_t index_o = {};", offset_text("o", free.outer.extents, free.outer.index));
  text.line("const int64_t update_o = {};", offset_text("o", free.outer.extents, free.outer.update));
  text.line("const int64_t out_o = {};", offset_text("o", free.outer.extents, free.outer.out));
  text.open("for (int64_t s = 0; s < {}; ++s)", updates);
  const std::string index_s = offset_text("s", sequential.extents, sequential.index);
  const bool index_varies = free.index != 0;
  if (!index_varies) {
    text.line("const int64_t index = index_o + {};", index_s);
    text.line("const int64_t target = {};", target_text(work));
  }
  text.line("const int64_t update = update_o + {};", offset_text("s", sequential.extents, sequential.update));
  text.open("for (int64_t i = first; i < last; ++i)");
  if (index_varies) {
    text.line("const int64_t index = index_o + i * {} + {};", free.index, index_s);
    text.line("const int64_t target = {};", target_text(work));
  }
  const std::string element = fmt::format("b2[target + out_o + i * {}]", free.out);
  text.line("{} = {};", element,
            stored(combined(work.mode, loaded(element, dtype),
                            loaded(fmt::format("b1[update + i * {}]", free.update), dtype), dtype),
                   dtype));
  for (int i = 0; i < 3; ++i) text.close();
  text.close("});");
}

}  // namespace stepc::cpu
