#include "codegen/cpu/dialect.h"
#include "codegen/cpu/print_kernel.h"
#include "codegen/movement_text.h"
#include "codegen/scalar_text.h"

#include <optional>

// Scans, top-k and scatters.
namespace stepc::cpu {
namespace {

// Splits off the innermost free dim: tasks are (outer, piece of the innermost dim).
struct Pieces {
  explicit Pieces(const ScatterWork& work) : outer(work, false) {
    if (outer.extents.empty()) return;
    inner = outer.extents.back();
    index = outer.index.back();
    update = outer.update.back();
    out = outer.out.back();
    for (Dims* list : {&outer.extents, &outer.index, &outer.update, &outer.out}) list->pop_back();
  }

  ScatterDims outer;
  int64_t inner = 1, index = 0, update = 0, out = 0;
};

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

}  // namespace

void print_scan(Text& text, const Kernel& kernel) {
  const auto& work = std::get<ScanWork>(kernel.work);
  if (product(work.dims) * work.extent == 0) return;
  text.open("parallel_for(args, {}, {}, [=](int64_t begin, int64_t end)", product(work.dims), grain_of(work.extent));
  declare_buffers(text, kernel);
  text.open("for (int64_t o = begin; o < end; ++o)");
  print_scan_sequence(text, kernel, dialect());
  text.close();
  text.close("});");
}

void print_top_k(Text& text, const Kernel& kernel) {
  const auto& work = std::get<TopKWork>(kernel.work);
  if (product(work.dims) * work.k == 0) return;
  text.open("parallel_for(args, {}, {}, [=](int64_t begin, int64_t end)", product(work.dims), grain_of(work.extent));
  declare_buffers(text, kernel);
  text.open("for (int64_t o = begin; o < end; ++o)");
  print_top_k_sequence(text, kernel, dialect());
  text.close();
  text.close("});");
}

void print_scatter(Text& text, const Kernel& kernel) {
  const auto& work = std::get<ScatterWork>(kernel.work);
  if (work.result.numel() == 0) return;
  print_base(text, kernel, work);
  const ScatterDims sequential(work, true);
  const Pieces free(work);
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
    text.line("const int64_t target = {};", scatter_target_text(work, dialect()));
  }
  text.line("const int64_t update = update_o + {};", offset_text("s", sequential.extents, sequential.update));
  text.open("for (int64_t i = first; i < last; ++i)");
  if (index_varies) {
    text.line("const int64_t index = index_o + i * {} + {};", free.index, index_s);
    text.line("const int64_t target = {};", scatter_target_text(work, dialect()));
  }
  text.raw(scatter_update_text(kernel, fmt::format("target + out_o + i * {}", free.out),
                               fmt::format("update + i * {}", free.update), dialect()));
  for (int i = 0; i < 3; ++i) text.close();
  text.close("});");
}

}  // namespace stepc::cpu
