#include "codegen/cuda/dialect.h"
#include "codegen/cuda/print_kernel.h"
#include "codegen/nest_text.h"
#include "codegen/scalar_text.h"

namespace stepc::cuda {
namespace {

constexpr int kTile = 32;
constexpr int kRows = 8;  // of a tile, worked on at once: a warp each
constexpr int kOuterLevel = 1, kTiledLevel = 2, kInnerLevel = 3;

// Square tiles over the innermost dim and the one that some loads walk: those are read along it into shared memory,
// whose rows have a word more than a tile's, so that neither side meets in one bank.
class TransposedPrinter {
 public:
  explicit TransposedPrinter(const Kernel& kernel)
      : kernel_(kernel),
        tiled_(static_cast<size_t>(kernel.schedule.tile_dim)),
        inner_(nest().dims.size() - 1),
        text_(kernel, dialect_, levels()) {
    for (const Store& store : nest().stores) roots_.push_back(store.value);
    for (size_t s = 0; s < nest().sources.size(); ++s)
      if (is_across(nest().sources[s])) across_.push_back(s);
  }

  StageText print() {
    const int64_t tiled_tiles = (extent(tiled_) + kTile - 1) / kTile,
                  inner_tiles = (extent(inner_) + kTile - 1) / kTile;
    StageText stage;
    stage.threads = kTile * kRows;
    stage.grid = text_.count(kOuterLevel) * tiled_tiles * inner_tiles;
    Text& body = stage.body;
    body.raw(index_alias(nest(), std::max(stage.grid, nest().kept_count())));
    for (const size_t s : across_)
      body.line("__shared__ {} tile{}[{}];", storage_type(text_.buffer_dtype(load(s).buffer)), s, kTile * (kTile + 1));
    body.line("const int column = threadIdx.x % {0}, row = threadIdx.x / {0};", kTile);
    body.line("const Index o = block_index / {};", tiled_tiles * inner_tiles);
    body.line("const Index t0 = block_index / {} % {} * {};", inner_tiles, tiled_tiles, kTile);
    body.line("const Index i0 = block_index % {} * {};", inner_tiles, kTile);
    text_.emit(body, roots_, 0);
    text_.decode(body, kOuterLevel, "o");
    text_.emit(body, roots_, kOuterLevel);
    open_points(body, "column", "j");
    for (const size_t s : across_)
      body.line("shared_store(tile{0}, j * {1} + column, load(b{2}, {3}));", s, kTile + 1, load(s).buffer,
                text_.index_text(load(s).at));
    close_points(body);
    body.raw("__syncthreads();");
    for (const size_t s : across_)
      dialect_.name_element(s, fmt::format("shared_load(tile{}, column * {} + j)", s, kTile + 1));
    open_points(body, "j", "column");
    text_.emit(body, roots_, kInnerLevel);
    for (const Store& store : nest().stores) text_.store(body, store);
    close_points(body);
    return stage;
  }

 private:
  const LoopNest& nest() const { return std::get<LoopNest>(kernel_.work); }
  int64_t extent(size_t dim) const { return nest().dims[dim].extent; }
  const LoadSource& load(size_t source) const { return std::get<LoadSource>(nest().sources[source]); }

  std::vector<int> levels() const {
    std::vector<int> levels(nest().dims.size(), kOuterLevel);
    levels[tiled_] = kTiledLevel;
    levels[inner_] = kInnerLevel;
    return levels;
  }

  bool is_across(const Source& source) const {
    const auto* load = std::get_if<LoadSource>(&source);
    return load != nullptr && load->guards.empty() && load->at.dynamic.empty() && load->at.strides[tiled_] == 1 &&
           load->at.strides[inner_] > 1;
  }

  void open_points(Text& body, const char* tiled, const char* inner) const {
    body.raw("#pragma unroll");
    body.open("for (int j = row; j < {}; j += {})", kTile, kRows);
    body.line("const Index {} = t0 + {};", NestText::dim_name(tiled_), tiled);
    body.line("const Index {} = i0 + {};", NestText::dim_name(inner_), inner);
    body.open("if ({} < {} && {} < {})", NestText::dim_name(tiled_), extent(tiled_), NestText::dim_name(inner_),
              extent(inner_));
  }

  void close_points(Text& body) {
    body.close();
    body.close();
    text_.forget(kTiledLevel);
  }

  const Kernel& kernel_;
  size_t tiled_, inner_;
  CudaDialect dialect_;
  NestText text_;
  std::vector<ScalarId> roots_;
  std::vector<size_t> across_;  // sources
};

}  // namespace

std::vector<StageText> print_transposed(const Kernel& kernel) {
  if (std::get<LoopNest>(kernel.work).kept_count() == 0) return {};
  std::vector<StageText> stages;
  stages.push_back(TransposedPrinter(kernel).print());
  return stages;
}

}  // namespace stepc::cuda
