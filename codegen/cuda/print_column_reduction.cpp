#include "codegen/cuda/dialect.h"
#include "codegen/cuda/print_kernel.h"
#include "codegen/nest_text.h"
#include "codegen/reduction_text.h"

#include <algorithm>

namespace stepc::cuda {
namespace {

constexpr int kOuterLevel = 1;  // kept dims but for the last
constexpr int kReducedLevel = 2;
constexpr int kColumnLevel = 3;  // the last dim, kept
constexpr int kColumns = 32;     // of a block: a warp's neighbouring loads
constexpr int kSegments = 8;     // that a block works on at once

std::vector<int> column_levels(const LoopNest& nest) {
  std::vector<int> levels;
  for (const LoopDim& dim : nest.dims) levels.push_back(dim.reduced ? kReducedLevel : kOuterLevel);
  levels.back() = kColumnLevel;
  return levels;
}

// Blocks of columns. Each warp walks a segment of rows (ir/kernel.h), the first one joins the results of all from left
// to right; or, in two stages, those lie in scratch and a thread per column joins them.
class ColumnPrinter {
 public:
  explicit ColumnPrinter(const Kernel& kernel)
      : nest_(kernel, dialect_, column_levels(std::get<LoopNest>(kernel.work)), kColumnLevel),
        columns_(nest_.count(kColumnLevel)),
        outer_(nest_.count(kOuterLevel)),
        length_(nest_.count(kReducedLevel)) {
    for (const Reduction& reduction : nest().reductions) {
      texts_.push_back(reduction_text(reduction));
      values_.push_back(reduction.value);
    }
    for (const Store& store : nest().stores) results_.push_back(store.value);
  }

  bool is_empty() const { return columns_ * outer_ == 0; }

  StageText print_one_stage() {
    StageText stage = open(outer_ * tiles());
    Text& body = stage.body;
    print_place(body, "block_index");
    for (size_t i = 0; i < texts_.size(); ++i) {
      body.line("__shared__ Words<{}> parts{}[{}];", state_type(i), i, kColumns * kSegments);
      declare(body, i, "total");
    }
    body.open("for (Index number0 = 0; number0 < {}; number0 += {})", segments(), kSegments);
    body.raw("const Index number = number0 + warp;");
    body.open("if (number < {} && {} < {})", segments(), column(), columns_);
    print_segment(body);
    for (size_t i = 0; i < texts_.size(); ++i) body.line("shared_store(parts{0}, threadIdx.x, words_of(part{0}));", i);
    body.close();
    body.raw("__syncthreads();");
    body.open("if (warp == 0 && {} < {})", column(), columns_);
    body.open("for (int s = 0; s < {0} && number0 + s < {1}; ++s)", kSegments, segments());
    for (size_t i = 0; i < texts_.size(); ++i)
      print_join(body, i, fmt::format("value_of(shared_load(parts{}, s * {} + lane))", i, kColumns),
                 "number0 + s == 0");
    body.close();
    body.close();
    body.raw("__syncthreads();");
    body.close();
    body.open("if (warp == 0 && {} < {})", column(), columns_);
    print_stores(body);
    body.close();
    return stage;
  }

  // Scratch: partial[segment][outer][column].
  std::vector<StageText> print_two_stages() {
    std::vector<StageText> stages;
    const int64_t groups = (segments() + kSegments - 1) / kSegments;
    stages.push_back(open(outer_ * tiles() * groups));
    Text& first = stages.back().body;
    print_place(first, fmt::format("block_index / {}", groups));
    first.line("const Index number = block_index % {} * {} + warp;", groups, kSegments);
    first.line("if (number >= {} || {} >= {}) return;", segments(), column(), columns_);
    print_segment(first);
    first.line("store(reinterpret_cast<{}*>(scratch), (number * {} + o) * int64_t({}) + {}, part0);", state_type(0),
               outer_, columns_, column());
    nest_.forget(0);

    constexpr int32_t kThreads = 128;
    stages.push_back(open((outer_ * columns_ + kThreads - 1) / kThreads));
    stages.back().threads = kThreads;
    Text& second = stages.back().body;
    second.line("const Index point = block_index * Index({}) + threadIdx.x;", kThreads);
    second.line("if (point >= {}) return;", outer_ * columns_);
    second.line("const Index {} = point % {};", column(), columns_);
    nest_.decode(second, kOuterLevel, fmt::format("(point / {})", columns_));
    second.line("const {0}* const partial = reinterpret_cast<const {0}*>(scratch);", state_type(0));
    declare(second, 0, "total");
    second.line("for (int64_t number = 0; number < {}; ++number)", segments());
    print_join(second, 0, fmt::format("load(partial, number * {} + point)", outer_ * columns_), "number == 0");
    print_stores(second);
    return stages;
  }

 private:
  const LoopNest& nest() const { return nest_.nest(); }
  int64_t tiles() const { return (columns_ + kColumns - 1) / kColumns; }
  int64_t segments() const { return (length_ + kColumnSegment - 1) / kColumnSegment; }
  std::string column() const { return NestText::dim_name(nest().dims.size() - 1); }
  std::string state_type(size_t i) const { return texts_[i].is_arg ? texts_[i].row : texts_[i].type; }

  StageText open(int64_t grid) const {
    StageText stage;
    stage.grid = grid;
    stage.threads = kColumns * kSegments;
    stage.body.raw(index_alias(nest(), outer_ * columns_ * std::max<int64_t>(length_, 1)));
    return stage;
  }

  void print_place(Text& body, const std::string& block) {
    body.line("const int lane = threadIdx.x % {0}, warp = threadIdx.x / {0};", kColumns);
    body.line("const Index tile = {} % {};", block, tiles());
    body.line("const Index o = {} / {};", block, tiles());
    body.line("const Index {} = tile * {} + lane;", column(), kColumns);
    nest_.decode(body, kOuterLevel, "o");
    nest_.emit(body, values_, kOuterLevel);
  }

  void declare(Text& body, size_t i, const char* name) const {
    if (texts_[i].is_arg)
      body.line("{} {}{};", texts_[i].row, name, i);
    else
      body.line("{} {}{} = {};", texts_[i].type, name, i, texts_[i].identity);
  }

  // part<i> combines the rows of segment `number`.
  void print_segment(Text& body) {
    for (size_t i = 0; i < texts_.size(); ++i)
      if (texts_[i].is_arg)
        body.line("{} part{};", texts_[i].row, i);
      else
        body.line("{} part{} = {}::identity();", texts_[i].type, i, texts_[i].operator_);
    body.line("const Index segment = number * {};", kColumnSegment);
    body.line("const Index segment_end = segment + {0} < {1} ? segment + {0} : {1};", kColumnSegment, length_);
    body.raw("#pragma unroll 4");
    body.open("for (Index r = segment; r < segment_end; ++r)");
    nest_.decode(body, kReducedLevel, "r");
    nest_.emit(body, values_, kColumnLevel);
    for (size_t i = 0; i < texts_.size(); ++i) {
      const std::string value = nest_.name(values_[i]);
      if (texts_[i].is_arg)
        body.line("part{}.add({}, r);", i, value);
      else
        body.line("part{0} = {1}::combine(part{0}, {2}({3}));", i, texts_[i].operator_, texts_[i].type, value);
    }
    body.close();
    nest_.forget(kReducedLevel);
  }

  void print_join(Text& body, size_t i, const std::string& part, const char* first) const {
    if (texts_[i].is_arg)
      body.line("total{}.join({});", i, part);
    else
      body.line("total{0} = {1} ? {2} : {3}::combine(total{0}, {2});", i, first, part, texts_[i].operator_);
  }

  void print_stores(Text& body) {
    for (size_t i = 0; i < texts_.size(); ++i)
      nest_.set_reduced(i, fmt::format("total{}{}", i, texts_[i].is_arg ? ".result()" : ""));
    nest_.emit(body, results_, kColumnLevel);
    for (const Store& store : nest().stores) nest_.store(body, store);
  }

  CudaDialect dialect_;
  NestText nest_;
  int64_t columns_, outer_, length_;
  std::vector<ReductionText> texts_;
  std::vector<ScalarId> values_, results_;
};

}  // namespace

std::vector<StageText> print_column_reduction(const Kernel& kernel) {
  ColumnPrinter printer(kernel);
  std::vector<StageText> stages;
  if (printer.is_empty()) return stages;
  if (kernel.schedule.two_stage) return printer.print_two_stages();
  stages.push_back(printer.print_one_stage());
  return stages;
}

}  // namespace stepc::cuda
