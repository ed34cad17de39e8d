#include "codegen/cuda/print_attention.h"

#include "codegen/cuda/element_text.h"
#include "codegen/scalar_text.h"
#include "ir/support/checked.h"
#include "ir/support/error.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>

// Attention: tiles, and constants for the templates of device/attention.cuh and device/attention_backward.cuh.
namespace stepc::cuda {
namespace {

constexpr int64_t kDeltaThreads = 256;
constexpr int64_t kWarpLanes = 32;

int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t rounded(int64_t a, int64_t unit) { return divided(a, unit) * unit; }

// How a stage is cut: it owns `own` rows at a time, meets `other` at a time, walks depths in steps of `step` and holds
// `slice` columns of its results.
struct Tiles {
  int64_t own = 64, other = 32, step = 64, slice = 64;
};

enum class StageOf { forward, keys, queries, mask };

// A function of depths, dtype and the number of rows that are owned. What a thread holds of its results decides: 64 to
// 128 registers, beside those of the scores (16 of each kind).
class Tiling {
 public:
  Tiling(const AttentionWork& work, Dtype dtype, StageOf stage)
      : attention_(work.attention), half_(dtype != Dtype::f32), stage_(stage) {
    const int64_t by_results = half_ ? 16 : 32;
    const int64_t walked = stage == StageOf::forward ? attention_.depth : greatest_depth();
    tiles_.step = std::min(rounded(walked, by_results), half_ ? int64_t{128} : int64_t{64});
    const int64_t most = most_columns();
    tiles_.slice = rounded(divided(columns(), divided(columns(), most)), by_results);
    if (walked <= tiles_.step && stage != StageOf::forward) tiles_.slice = tiles_.step;
    const bool wide = tiles_.slice > 64;
    tiles_.other = half_ && !wide && stage != StageOf::keys ? 64 : 32;
    // Wide sums in f32, of which keys have two, leave registers for half of the rows.
    const bool wide_sums = !half_ && stage != StageOf::forward && tiles_.slice > (stage == StageOf::keys ? 64 : 128);
    const int64_t most_rows = wide_sums ? 32 : 64;
    tiles_.own = std::clamp(rounded(owned_rows(), 16), int64_t{16}, most_rows);
    if (tiles_.own == 48) tiles_.own = 64;
  }

  const Tiles& tiles() const { return tiles_; }
  int64_t threads() const { return half_ ? tiles_.own / 16 * kWarpLanes : 4 * kWarpLanes; }
  int64_t slices() const { return stage_ == StageOf::mask ? 1 : divided(columns(), tiles_.slice); }

  std::string fragment(Dtype dtype) const {
    if (half_) return fmt::format("MmaFragment<{}>", element_type(dtype));
    return fmt::format("FmaFragment<{}>", tiles_.own / 16);
  }

  // As the templates count it; the text asserts that.
  int64_t shared_bytes(bool drops) const {
    const Tiles& t = tiles_;
    const int64_t size = half_ ? 2 : 4, staging = half_ ? 0 : t.own * (t.other + 8);
    const int64_t stride = padded(t.step), slice_stride = padded(t.slice);
    const int64_t kept = drops ? t.own * (t.other + 4) : 0;
    if (stage_ == StageOf::forward)
      return (t.own * stride + std::max(t.other * stride, staging) + t.other * slice_stride) * size + kept;
    const bool resident = greatest_depth() <= t.step, mask = stage_ == StageOf::mask;
    int64_t elements = (resident ? 2 : 1) * (t.own + t.other) * stride;
    if (!mask) elements += (resident ? 0 : t.other * slice_stride) + staging;
    return std::max(elements * size + kept, mask ? t.own * (t.other + 1) * 4 : 0);
  }

 private:
  int64_t greatest_depth() const { return std::max(attention_.depth, attention_.value_depth); }
  // Of the results.
  int64_t columns() const {
    switch (stage_) {
      case StageOf::forward: return attention_.value_depth;
      case StageOf::queries: return attention_.depth;
      default: return greatest_depth();
    }
  }
  // dk and dv are held at once, on tensor cores for all 64 rows.
  int64_t most_columns() const {
    if (!half_ || stage_ != StageOf::keys) return 256;
    return greatest_depth() <= 128 ? 128 : 96;
  }
  int64_t owned_rows() const { return stage_ == StageOf::keys ? attention_.keys : attention_.queries; }
  int64_t padded(int64_t elements) const {
    const int64_t unit = half_ ? 8 : 4;
    return (divided(elements, unit) | 1) * unit;
  }

  const Attention& attention_;
  bool half_;
  StageOf stage_;
  Tiles tiles_;
};

class Printer {
 public:
  explicit Printer(const Kernel& kernel)
      : kernel_(kernel), work_(std::get<AttentionWork>(kernel.work)), dtype_(kernel.buffers[0].dtype) {}

  std::vector<StageText> print() {
    const Attention& a = attention();
    const auto blocks = [&](int64_t heads, int64_t rows, const Tiling& tiling) {
      return checked_mul(checked_mul(a.batch * heads, divided(rows, tiling.tiles().own)), tiling.slices());
    };
    if (!work_.backward) {
      const Tiling tiling(work_, dtype_, StageOf::forward);
      add(blocks(a.heads, a.queries, tiling), tiling, [&](Text& text) { print_forward(text, tiling); });
      return std::move(stages_);
    }
    add_delta();
    const Tiling keys(work_, dtype_, StageOf::keys), queries(work_, dtype_, StageOf::queries);
    add(blocks(a.heads, a.queries, queries), queries, [&](Text& text) { print_backward(text, queries, "queries"); });
    add(blocks(a.key_heads, a.keys, keys), keys, [&](Text& text) { print_backward(text, keys, "keys"); });
    if (!work_.mask_gradient) return std::move(stages_);
    const Tiling mask(work_, dtype_, StageOf::mask);
    const Dims& strides = work_.strides.back();
    const int64_t counts[] = {a.batch, a.heads, divided(a.queries, mask.tiles().own),
                              divided(a.keys, mask.tiles().other)};
    int64_t tasks = 1;
    for (size_t axis = 0; axis < 4; ++axis) tasks = checked_mul(tasks, strides[axis] == 0 ? 1 : counts[axis]);
    add(tasks, mask, [&](Text& text) { print_backward(text, mask, "mask"); });
    return std::move(stages_);
  }

 private:
  const Attention& attention() const { return work_.attention; }
  bool drops() const { return attention().dropout > 0; }

  template <typename Body>
  void add(int64_t blocks, const Tiling& tiling, const Body& body) {
    if (blocks == 0) return;
    StageText stage;
    stage.grid = blocks;
    stage.threads = static_cast<int32_t>(tiling.threads());
    stage.shared_bytes = tiling.shared_bytes(drops());
    body(stage.body);
    stages_.push_back(std::move(stage));
  }

  void add_delta() {
    const Attention& a = attention();
    const int64_t queries = checked_mul(a.batch * a.heads, a.queries);
    if (queries == 0) return;
    StageText stage;
    stage.grid = divided(queries, kDeltaThreads / kWarpLanes);
    stage.threads = kDeltaThreads;
    print_problem(stage.body);
    print_gradients(stage.body);
    stage.body.line("attention_delta<{}, {}>(problem, tensors);", kDeltaThreads, a.value_depth);
    stages_.push_back(std::move(stage));
  }

  std::string_view mask_type() const {
    return work_.mask == AttentionMask::none ? "NoMask" : element_type(kernel_.buffers[work_.mask_buffer].dtype);
  }

  std::string tensor(size_t buffer) const {
    return fmt::format("{{{}, {{{}}}}}", element_pointer(kernel_, buffer), fmt::join(work_.strides[buffer], ", "));
  }

  void print_problem(Text& text) const {
    const Attention& a = attention();
    const bool masked = work_.mask != AttentionMask::none;
    text.raw(fmt::format("const AttentionProblem<{}> problem = {{", mask_type()));
    text.line("  {}, {}, {}, {}, {},  // batch, heads, key heads, queries, keys", a.batch, a.heads, a.key_heads,
              a.queries, a.keys);
    text.line("  {}, {},  // least and greatest distance", work_.least_distance, work_.greatest_distance);
    text.line("  {}, {},  // scale, cap", literal_text(a.scale, Dtype::f32), literal_text(a.softcap, Dtype::f32));
    text.line("  {}, {{{}}},  // mask", masked ? element_pointer(kernel_, work_.mask_buffer) : "nullptr",
              masked ? fmt::format("{}", fmt::join(work_.strides[work_.mask_buffer], ", ")) : "0");
    text.line("  {}, {}, INT64_C({}), {}}};  // dropout", literal_text(a.dropout, Dtype::f32),
              literal_text(a.kept_scale(), Dtype::f32), a.dropout_key,
              drops() ? fmt::format("b{}", work_.offset_buffer) : "nullptr");
  }

  size_t first_result() const {
    size_t first = 0;
    while (!kernel_.buffers[first].written) ++first;
    return first;
  }

  void print_gradients(Text& text) const {
    std::vector<std::string> tensors;
    for (size_t i = 0; i < 6; ++i) tensors.push_back(tensor(i));
    for (size_t i = first_result(); i < kernel_.buffers.size(); ++i) tensors.push_back(tensor(i));
    if (!work_.mask_gradient) tensors.push_back("{}");
    text.raw(fmt::format("const AttentionGradients<{}, {}> tensors = {{", element_type(dtype_), mask_type()));
    for (const std::string& line : tensors) text.line("  {},", line);
    const int64_t rows = attention().batch * attention().heads * attention().queries;
    text.line("  reinterpret_cast<float*>(scratch), reinterpret_cast<float*>(scratch) + {}}};", rows);
  }

  void print_stage(Text& text, const Tiling& tiling, std::string_view type) const {
    const Tiles& t = tiling.tiles();
    text.line("typedef {}, {}, {}, {}, {}, {}, {}> Stage;", type, t.own, t.other, t.step, t.slice, attention().depth,
              attention().value_depth);
    text.line("static_assert(Stage::kThreads == {} && Stage::kSlices == {}, \"as it is launched\");", tiling.threads(),
              tiling.slices());
    text.line("static_assert(Stage::shared_bytes({}) == {}, \"as it is launched\");", drops(),
              tiling.shared_bytes(drops()));
    text.raw("Stage stage;");
  }

  void print_forward(Text& text, const Tiling& tiling) const {
    print_problem(text);
    print_stage(text, tiling, fmt::format("AttentionForward<{}", tiling.fragment(dtype_)));
    const size_t result = first_result();
    text.line("stage.run(problem, {}, {}, {}, {}, {});", tensor(0), tensor(1), tensor(2), tensor(result),
              tensor(result + 1));
  }

  void print_backward(Text& text, const Tiling& tiling, std::string_view of) const {
    print_problem(text);
    print_gradients(text);
    print_stage(text, tiling, fmt::format("AttentionBackward<{}, GradientOf::{}", tiling.fragment(dtype_), of));
    text.line("stage.{}(problem, tensors);", of);
  }

  const Kernel& kernel_;
  const AttentionWork& work_;
  Dtype dtype_;
  std::vector<StageText> stages_;
};

}  // namespace

std::vector<StageText> print_attention(const Kernel& kernel) { return Printer(kernel).print(); }

}  // namespace stepc::cuda
