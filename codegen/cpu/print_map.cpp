#include "codegen/cpu/dialect.h"
#include "codegen/cpu/print_kernel.h"
#include "codegen/nest_text.h"

#include <algorithm>

namespace stepc::cpu {
namespace {

std::vector<ScalarId> roots_of(const LoopNest& nest) {
  std::vector<ScalarId> roots;
  for (const Store& store : nest.stores) roots.push_back(store.value);
  return roots;
}

// Values first, then stores: a result may be written over an operand.
void print_point(Text& text, NestText& nest, int level) {
  nest.emit(text, roots_of(nest.nest()), level);
  for (const Store& store : nest.nest().stores) nest.store(text, store);
}

// Rows of the innermost dim, split over all the others.
void print_plain(Text& text, const Kernel& kernel) {
  const auto& dims = std::get<LoopNest>(kernel.work).dims;
  const size_t inner = dims.size() - 1;
  std::vector<int> levels(dims.size(), 1);
  levels[inner] = 2;
  NestText nest(kernel, dialect(), levels);
  const bool flat = inner == 0;  // a single dim is split itself
  const int64_t count = flat ? dims[0].extent : nest.count(1);
  text.open("parallel_for(args, {}, {}, [=](int64_t begin, int64_t end)", count,
            grain_of(flat ? 1 : dims[inner].extent));
  declare_buffers(text, nest.kernel());
  const std::vector<ScalarId> roots = roots_of(nest.nest());
  nest.emit(text, roots, 0);
  if (!flat) {
    text.open("for (int64_t o = begin; o < end; ++o)");
    nest.decode(text, 1, "o");
    nest.emit(text, roots, 1);
  }
  text.raw("STEPC_INDEPENDENT");
  text.open("for (int64_t {0} = {1}; {0} < {2}; ++{0})", NestText::dim_name(inner), flat ? "begin" : "0",
            flat ? "end" : std::to_string(dims[inner].extent));
  print_point(text, nest, 2);
  text.close();
  if (!flat) text.close();
  text.close("});");
}

// Square tiles over the innermost dim and the one that a load walks: both sides touch whole cache lines.
void print_tiled(Text& text, const Kernel& kernel) {
  const auto& dims = std::get<LoopNest>(kernel.work).dims;
  const size_t inner = dims.size() - 1;
  const auto tiled = static_cast<size_t>(kernel.schedule.tile_dim);
  const int64_t tile = kernel.schedule.tile;
  std::vector<int> levels(dims.size(), 1);
  levels[tiled] = 2;
  levels[inner] = 3;
  NestText nest(kernel, dialect(), levels);
  const int64_t tiles = (dims[tiled].extent + tile - 1) / tile;
  text.open("parallel_for(args, {}, {}, [=](int64_t begin, int64_t end)", nest.count(1) * tiles,
            grain_of(tile * dims[inner].extent));
  declare_buffers(text, nest.kernel());
  const std::vector<ScalarId> roots = roots_of(nest.nest());
  nest.emit(text, roots, 0);
  text.open("for (int64_t task = begin; task < end; ++task)");
  text.line("const int64_t o = task / {};", tiles);
  nest.decode(text, 1, "o");
  nest.emit(text, roots, 1);
  text.line("const int64_t t0 = task % {} * {};", tiles, tile);
  text.line("const int64_t t1 = t0 + {0} < {1} ? t0 + {0} : {1};", tile, dims[tiled].extent);
  text.open("for (int64_t i0 = 0; i0 < {}; i0 += {})", dims[inner].extent, tile);
  text.line("const int64_t i1 = i0 + {0} < {1} ? i0 + {0} : {1};", tile, dims[inner].extent);
  text.open("for (int64_t {0} = t0; {0} < t1; ++{0})", NestText::dim_name(tiled));
  nest.emit(text, roots, 2);
  text.raw("STEPC_INDEPENDENT");
  text.open("for (int64_t {0} = i0; {0} < i1; ++{0})", NestText::dim_name(inner));
  print_point(text, nest, 3);
  for (int i = 0; i < 4; ++i) text.close();
  text.close("});");
}

}  // namespace

int64_t grain_of(int64_t elements) {
  constexpr int64_t kElementsPerTask = 16384;  // some microseconds: what waking a thread costs
  return std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, elements));
}

void print_map(Text& text, const Kernel& kernel) {
  const auto& nest = std::get<LoopNest>(kernel.work);
  if (nest.kept_count() == 0) return;
  if (kernel.schedule.tile_dim >= 0)
    print_tiled(text, kernel);
  else
    print_plain(text, kernel);
}

}  // namespace stepc::cpu
