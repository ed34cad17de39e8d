#include "codegen/cuda/print_linear_cross_entropy.h"

#include "codegen/cuda/element_text.h"
#include "codegen/scalar_text.h"
#include "ir/support/checked.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

// Linear cross-entropy: chunks, and constants for the templates of device/linear_cross_entropy.cuh and
// device/linear_cross_entropy_gradients.cuh.
namespace stepc::cuda {
namespace {

using Work = LinearCrossEntropyWork;

constexpr int64_t kThreads = 256, kWarpLanes = 32;  // of what is done per row
constexpr int64_t kMostRowTile = 128;
// Half of the rows, where that lies between: with fewer rows in a chunk dw is read and written for too few operations,
// more take more scratch.
constexpr int64_t kLeastRows = 128, kMostRows = 512;
// Blocks that fill a large GPU twice: dx is cut into groups of classes until there are as many.
constexpr int64_t kEnoughBlocks = 256;

int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t rounded(int64_t a, int64_t unit) { return divided(a, unit) * unit; }
bool is_half(Dtype dtype) { return dtype == Dtype::bf16 || dtype == Dtype::f16; }

Dtype x_dtype(const Kernel& kernel) {
  return kernel.buffers[static_cast<size_t>(std::get<Work>(kernel.work).x.buffer)].dtype;
}

// How products are cut: f32 has four warps and the rows of a warp follow the tile; 16 bits run on tensor cores, 16 rows
// per warp, and need wider tiles, as they multiply faster than tiles are read.
struct Tiles {
  int64_t classes = 64, columns = 64, step = 32, least_rows = 16;
  bool half = false;

  explicit Tiles(Dtype dtype) : half(is_half(dtype)) {
    if (half) classes = 128, columns = 128, step = 64, least_rows = 64;
  }

  // Rows of a tile over so many.
  int64_t rows(int64_t count) const {
    int64_t tile = least_rows;
    while (tile < kMostRowTile && tile < count) tile *= 2;
    return tile;
  }
  int64_t threads(int64_t tile_rows) const { return half ? tile_rows / 16 * kWarpLanes : 4 * kWarpLanes; }
  // Bytes of a tile in shared memory, whose rows are padded (padded_stride in device/fragment.cuh).
  int64_t bytes(int64_t lines, int64_t width) const { return lines * (width * (half ? 2 : 4) + 16); }
};

// A function of the sizes and the dtype alone.
struct Schedule {
  int64_t chunk_rows = 0, chunks = 0;
  int64_t groups = 1, group_classes = 0;  // of dx
  int64_t class_tiles = 0, logits_stride = 0;
  // Where the parts of scratch lie, in bytes.
  int64_t counts = 0, logits = 0, statistics = 0, known = 0, label = 0, partial_dx = 0, losses = 0, end = 0;

  Schedule(const Work& work, const Tiles& tiles) {
    const int64_t rows = std::max<int64_t>(work.rows, 1);
    chunk_rows = std::min(rows, std::clamp(rounded(divided(rows, 2), kMostRowTile), kLeastRows, kMostRows));
    chunks = divided(rows, chunk_rows);
    class_tiles = divided(work.classes, tiles.classes);
    logits_stride = rounded(work.classes, 4);
    const int64_t blocks = divided(chunk_rows, tiles.rows(chunk_rows)) * divided(work.depth, tiles.columns);
    group_classes = rounded(divided(work.classes, divided(kEnoughBlocks, blocks)), 4 * tiles.classes);
    groups = divided(work.classes, group_classes);
    take(counts, 2, 8);
    take(logits, checked_mul(chunk_rows, logits_stride), 4);
    take(statistics, checked_mul(chunk_rows, class_tiles), 12);
    take(known, chunk_rows, 16);
    take(label, chunk_rows, 4);
    if (work.dx.buffer >= 0 && groups > 1)
      take(partial_dx, checked_mul(checked_mul(groups, chunk_rows), work.depth), 4);
    if (work.reduction != LossReduction::none) take(losses, work.rows, 4);
  }

 private:
  void take(int64_t& at, int64_t count, int64_t bytes) {
    constexpr int64_t kAlignment = 64;
    at = end;
    end = checked_add(end, rounded(checked_mul(count, bytes), kAlignment));
  }
};

class Printer {
 public:
  explicit Printer(const Kernel& kernel)
      : kernel_(kernel),
        work_(std::get<Work>(kernel.work)),
        tiles_(x_dtype(kernel)),
        schedule_(work_, tiles_),
        row_tile_(tiles_.rows(schedule_.chunk_rows)) {}

  std::vector<StageText> print() {
    add(1, kThreads, 0, fmt::format("count_rows<{}>(problem);", kThreads));
    for (int64_t chunk = 0; chunk < schedule_.chunks; ++chunk) {
      if (chunk > 0) add(1, 1, 0, "next_chunk(problem);");
      add_chunk();
    }
    if (work_.reduction != LossReduction::none && work_.loss.buffer >= 0)
      add(1, kThreads, 0, fmt::format("reduce_losses<{}>(problem);", kThreads));
    return std::move(stages_);
  }

 private:
  void add_chunk() {
    const int64_t row_tiles = divided(schedule_.chunk_rows, row_tile_);
    const std::string logits =
        fmt::format("LogitsTile<{}, {}, {}, {}>", row_tile_, tiles_.classes, tiles_.step, fragment(row_tile_));
    add_product(row_tiles * schedule_.class_tiles, tiles_.threads(row_tile_), logits,
                tiles_.bytes(row_tile_ + tiles_.classes, tiles_.step), "run(problem)");
    add(divided(schedule_.chunk_rows, kThreads / kWarpLanes), kThreads, 0,
        fmt::format("LossOfRows<{}, {}, {}, {}>{{problem, error}}.run();", kThreads, tiles_.classes, label_type(),
                    x_type()));
    if (!work_.has_gradients()) return;
    add(divided(work_.classes, kWarpLanes), kThreads, 0, fmt::format("differentiate_logits<{}>(problem);", kThreads));
    const int64_t column_tiles = divided(work_.depth, tiles_.columns);
    const auto gradient = [&](int64_t blocks, int64_t rows, const std::string& call) {
      add_product(blocks, tiles_.threads(rows),
                  fmt::format("GradientTile<{}, {}, {}, {}>", rows, tiles_.columns, tiles_.step, fragment(rows)),
                  tiles_.bytes(rows, tiles_.step) + tiles_.bytes(tiles_.step, tiles_.columns), call);
    };
    if (work_.dx.buffer >= 0) {
      gradient(row_tiles * column_tiles * schedule_.groups, row_tile_, fmt::format("dx(problem, {})", group_classes()));
      if (schedule_.groups > 1)
        add(divided(checked_mul(schedule_.chunk_rows, work_.depth), kThreads), kThreads, 0,
            fmt::format("sum_dx<{}>(problem, {});", kThreads, schedule_.groups));
    }
    const int64_t class_rows = tiles_.rows(work_.classes);
    if (work_.dw.buffer >= 0) gradient(divided(work_.classes, class_rows) * column_tiles, class_rows, "dw(problem)");
  }

  int64_t group_classes() const { return schedule_.groups > 1 ? schedule_.group_classes : work_.classes; }

  void add_product(int64_t blocks, int64_t threads, const std::string& type, int64_t bytes, const std::string& call) {
    add(blocks, threads, bytes,
        fmt::format("typedef {} Tile;\nstatic_assert(Tile::kThreads == {} && Tile::kSharedBytes == {}, "
                    "\"as it is launched\");\nTile::{};",
                    type, threads, bytes, call));
  }

  void add(int64_t blocks, int64_t threads, int64_t shared_bytes, const std::string& lines) {
    StageText stage;
    stage.grid = blocks;
    stage.threads = static_cast<int32_t>(threads);
    stage.shared_bytes = shared_bytes;
    print_problem(stage.body);
    stage.body.paste(lines);
    stages_.push_back(std::move(stage));
  }

  std::string_view label_type() const {
    return kernel_.buffers[static_cast<size_t>(work_.labels.buffer)].dtype == Dtype::i32 ? "int32_t" : "int64_t";
  }

  std::string_view x_type() const { return element_type(x_dtype(kernel_)); }

  std::string fragment(int64_t rows) const {
    return tiles_.half ? fmt::format("MmaFragment<{}>", x_type()) : fmt::format("FmaFragment<{}>", rows / 16);
  }

  std::string pointer(const Work::Tensor& tensor) const {
    return tensor.buffer < 0 ? "nullptr" : element_pointer(kernel_, static_cast<size_t>(tensor.buffer));
  }

  void print_rows(Text& text, std::string_view name, const Work::Tensor& tensor) const {
    text.line("  {{{}, {}, {}, {}}},  // {}", pointer(tensor), work_.inner_rows, tensor.outer_stride, tensor.row_stride,
              name);
  }

  void print_matrix(Text& text, std::string_view name, const Work::Tensor& tensor) const {
    text.line("  {{{}, {}, {}}},  // {}", pointer(tensor), tensor.row_stride, tensor.column_stride, name);
  }

  void print_problem(Text& text) const {
    const auto f32 = [](double value) { return literal_text(value, Dtype::f32); };
    text.line("const LossProblem<{}, {}> problem = {{", label_type(), x_type());
    text.line("  {}, {}, {}, {},  // rows, classes, depth, rows of a chunk", work_.rows, work_.classes, work_.depth,
              schedule_.chunk_rows);
    text.line("  {}, {},  // smoothing, z-loss", f32(work_.smoothing), f32(work_.z_loss));
    text.line("  {},  // ignored label", work_.ignore_index == std::numeric_limits<int64_t>::min()
                                             ? "INT64_MIN"
                                             : fmt::format("{}", work_.ignore_index));
    text.line("  {}, {},  // mean, one number", work_.reduction == LossReduction::mean,
              work_.reduction != LossReduction::none);
    print_rows(text, "x", work_.x);
    print_rows(text, "dx", work_.dx);
    text.line("  {}, {},  // column strides", work_.x.column_stride, work_.dx.column_stride);
    print_matrix(text, "w", work_.w);
    print_matrix(text, "dw", work_.dw);
    text.line("  {}, {}, {}, {},  // bias, its gradient", pointer(work_.bias), pointer(work_.dbias),
              work_.bias.row_stride, work_.dbias.row_stride);
    print_rows(text, "labels", work_.labels);
    print_rows(text, "loss", work_.loss);
    print_rows(text, "upstream", work_.upstream);
    text.line("  {},  // upstream without a tensor", f32(work_.upstream_value));
    print_scratch(text);
  }

  void print_scratch(Text& text) const {
    const auto part = [&](std::string_view type, int64_t at, std::string_view name) {
      text.line("  reinterpret_cast<{}*>(scratch + {}),  // {}", type, at, name);
    };
    part("int64_t", schedule_.counts, "counts");
    part("float", schedule_.logits, "logits");
    text.line("  {},", schedule_.logits_stride);
    part("float", schedule_.statistics, "statistics");
    part("float", schedule_.known, "known");
    part("int32_t", schedule_.label, "label");
    part("float", schedule_.partial_dx, "partial dx");
    part("float", schedule_.losses, "losses");
    text.raw("};");
  }

  const Kernel& kernel_;
  const Work& work_;
  const Tiles tiles_;
  const Schedule schedule_;
  const int64_t row_tile_;
  std::vector<StageText> stages_;
};

}  // namespace

std::vector<StageText> print_linear_cross_entropy(const Kernel& kernel) { return Printer(kernel).print(); }

int64_t linear_cross_entropy_scratch_bytes(const Kernel& kernel) {
  return Schedule(std::get<Work>(kernel.work), Tiles(x_dtype(kernel))).end;
}

}  // namespace stepc::cuda
