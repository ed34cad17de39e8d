#include "codegen/cpu/dialect.h"
#include "codegen/cpu/print_kernel.h"
#include "codegen/cpu/row_text.h"
#include "ir/kernel/loop_nest.h"

namespace stepc::cpu {
namespace {

constexpr int kPointLevel = 1;  // all reduced dims, in the loop over columns
constexpr int kNever = 2;       // kept dims there: nothing varies along them
constexpr int64_t kTile = 256;  // columns joined together

std::vector<int> point_levels(const LoopNest& nest) {
  std::vector<int> levels;
  for (const LoopDim& dim : nest.dims) levels.push_back(dim.reduced ? kPointLevel : kNever);
  return levels;
}

// First segments of rows in parallel: what is done per row, and one accumulator per column of the nest and point of a
// row in scratch. Then points in parallel: partial results of the segments from left to right.
class InnerOuterPrinter {
 public:
  InnerOuterPrinter(Text& text, const Kernel& kernel)
      : text_(text),
        kernel_(kernel),
        row_(text, kernel),
        points_(kernel, dialect(), point_levels(std::get<LoopNest>(kernel.work))),
        waits_(after_columns(nest())),
        length_(row_.length()),
        segments_((row_.rows() + kColumnSegment - 1) / kColumnSegment) {
    for (const Reduction& column : nest().columns) texts_.push_back(reduction_text(column));
  }

  void print() {
    if (row_.rows() * length_ == 0) return;
    declare_partials();
    print_rows();
    print_columns();
  }

 private:
  const LoopNest& nest() const { return std::get<LoopNest>(kernel_.work); }

  // partial<c>[segment][point]
  void declare_partials() {
    for (size_t c = 0; c < texts_.size(); ++c)
      text_.line("{0}* const partial{1} = reinterpret_cast<{0}*>(static_cast<char*>(args->scratch) + {2});",
                 texts_[c].type, c, column_scratch(nest(), c));
  }

  // The number of a point among those of a row.
  std::string point() {
    IndexForm form;
    form.strides.resize(nest().dims.size());
    int64_t stride = 1;
    for (size_t d = nest().dims.size(); d-- > 0;) {
      if (!nest().dims[d].reduced) continue;
      form.strides[d] = stride;
      stride *= nest().dims[d].extent;
    }
    return row_.nest().index_text(form);
  }

  void print_rows() {
    text_.open("parallel_for(args, {}, {}, [=](int64_t begin, int64_t end)", segments_,
               grain_of(kColumnSegment * length_));
    row_.begin_task();
    text_.open("for (int64_t task = begin; task < end; ++task)");
    for (size_t c = 0; c < texts_.size(); ++c) {
      text_.line("{0}* const part{1} = partial{1} + task * {2};", texts_[c].type, c, length_);
      text_.line("for (int64_t j = 0; j < {0}; ++j) part{1}[j] = {2}::identity();", length_, c, texts_[c].operator_);
    }
    text_.line("const int64_t last = (task + 1) * {0} < {1} ? (task + 1) * {0} : {1};", kColumnSegment, row_.rows());
    text_.open("for (int64_t row = task * {}; row < last; ++row)", kColumnSegment);
    row_.begin_row("row");
    row_.print_passes();
    std::vector<ScalarId> values;
    for (const Reduction& column : nest().columns) values.push_back(column.value);
    row_.print_stores(values, [&] { add_element(); });
    for (int i = 0; i < 2; ++i) text_.close();
    text_.close("});");
  }

  void add_element() {
    for (size_t c = 0; c < texts_.size(); ++c)
      text_.line("part{0}[{1}] = {2}::combine(part{0}[{1}], {3}({4}));", c, point(), texts_[c].operator_,
                 texts_[c].type, row_.nest().name(nest().columns[c].value));
  }

  void print_columns() {
    text_.open("parallel_for(args, {}, {}, [=](int64_t begin, int64_t end)", (length_ + kTile - 1) / kTile,
               grain_of(kTile * segments_));
    declare_buffers(text_, points_.kernel());
    text_.open("for (int64_t task = begin; task < end; ++task)");
    text_.line("const int64_t first = task * {};", kTile);
    text_.line("const int64_t width = {0} - first < {1} ? {0} - first : {1};", length_, kTile);
    for (size_t c = 0; c < texts_.size(); ++c) print_join(c);
    print_results();
    text_.close();
    text_.close("});");
  }

  void print_join(size_t c) {
    text_.line("{} total{}[{}];", texts_[c].type, c, kTile);
    text_.line("for (int64_t j = 0; j < width; ++j) total{0}[j] = partial{0}[first + j];", c);
    text_.open("for (int64_t segment = 1; segment < {}; ++segment)", segments_);
    text_.line("const {0}* const part = partial{1} + segment * {2} + first;", texts_[c].type, c, length_);
    text_.line("for (int64_t j = 0; j < width; ++j) total{0}[j] = {1}::combine(total{0}[j], part[j]);", c,
               texts_[c].operator_);
    text_.close();
    points_.set_column(c, fmt::format("total{}[j]", c));
  }

  void print_results() {
    std::vector<ScalarId> results;
    for (const Store& store : nest().stores)
      if (waits_[static_cast<size_t>(store.value.index)]) results.push_back(store.value);
    points_.emit(text_, results, 0);
    text_.raw("STEPC_INDEPENDENT");
    text_.open("for (int64_t j = 0; j < width; ++j)");
    points_.decode(text_, kPointLevel, "(first + j)");
    points_.emit(text_, results, kPointLevel);
    for (const Store& store : nest().stores)
      if (waits_[static_cast<size_t>(store.value.index)]) points_.store(text_, store);
    text_.close();
  }

  Text& text_;
  const Kernel& kernel_;
  RowText row_;
  NestText points_;
  std::vector<bool> waits_;
  int64_t length_;
  int64_t segments_;
  std::vector<ReductionText> texts_;
};

}  // namespace

void print_inner_outer(Text& text, const Kernel& kernel) { InnerOuterPrinter(text, kernel).print(); }

}  // namespace stepc::cpu
