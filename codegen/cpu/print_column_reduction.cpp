#include "codegen/cpu/dialect.h"
#include "codegen/cpu/print_kernel.h"
#include "codegen/nest_text.h"
#include "codegen/reduction_text.h"

namespace stepc::cpu {
namespace {

constexpr int kOuterLevel = 1;  // kept dims but for the last
constexpr int kReducedLevel = 2;
constexpr int kColumnLevel = 3;  // the last dim, kept

std::vector<int> column_levels(const LoopNest& nest) {
  std::vector<int> levels;
  for (const LoopDim& dim : nest.dims) levels.push_back(dim.reduced ? kReducedLevel : kOuterLevel);
  levels.back() = kColumnLevel;
  return levels;
}

// Tiles of columns: each walks the reduced dims and keeps one accumulator per column. Reductions are independent of
// each other here.
class ColumnPrinter {
 public:
  ColumnPrinter(Text& text, const Kernel& kernel)
      : text_(text),
        nest_(kernel, dialect(), column_levels(std::get<LoopNest>(kernel.work)), kColumnLevel),
        columns_(nest_.count(kColumnLevel)),
        outer_(nest_.count(kOuterLevel)),
        length_(nest_.count(kReducedLevel)),
        tile_(kernel.schedule.column_tile),
        two_stage_(kernel.schedule.two_stage) {
    for (const Reduction& reduction : nest_.nest().reductions) texts_.push_back(reduction_text(reduction));
  }

  void print() {
    if (columns_ * outer_ == 0) return;
    if (two_stage_)
      print_two_stages();
    else
      print_one_stage();
  }

 private:
  int64_t tiles() const { return (columns_ + tile_ - 1) / tile_; }
  int64_t segments() const { return (length_ + kColumnSegment - 1) / kColumnSegment; }
  const LoopNest& nest() const { return nest_.nest(); }
  std::string column() const { return NestText::dim_name(nest().dims.size() - 1); }
  std::string element_type(size_t i) const { return texts_[i].is_arg ? texts_[i].row : texts_[i].type; }

  std::vector<ScalarId> values() const {
    std::vector<ScalarId> result;
    for (const Reduction& reduction : nest().reductions) result.push_back(reduction.value);
    return result;
  }
  std::vector<ScalarId> results() const {
    std::vector<ScalarId> result;
    for (const Store& store : nest().stores) result.push_back(store.value);
    return result;
  }

  // Tasks are (parts of the reduced dims, outer, tile), the last one fastest.
  void open_tasks(int64_t parts, int64_t rows_per_task, const std::vector<ScalarId>& roots) {
    text_.open("parallel_for(args, {}, {}, [=](int64_t begin, int64_t end)", parts * outer_ * tiles(),
               grain_of(rows_per_task * tile_));
    declare_buffers(text_, nest_.kernel());
    nest_.emit(text_, roots, 0);
    text_.open("for (int64_t task = begin; task < end; ++task)");
    text_.line("const int64_t c0 = task % {} * {};", tiles(), tile_);
    text_.line("const int64_t width = {0} - c0 < {1} ? {0} - c0 : {1};", columns_, tile_);
    text_.line("const int64_t o = task / {} % {};", tiles(), outer_);
    nest_.decode(text_, kOuterLevel, "o");
    nest_.emit(text_, roots, kOuterLevel);
  }

  void close_tasks() {
    text_.close();
    nest_.forget(0);
    text_.close("});");
  }

  void open_columns() {
    text_.raw("STEPC_INDEPENDENT");
    text_.open("for (int64_t j = 0; j < width; ++j)");
    text_.line("const int64_t {} = c0 + j;", column());
  }

  // part<i>[j] combines the rows [segment, segment_end).
  void print_segment() {
    for (size_t i = 0; i < texts_.size(); ++i) {
      text_.line("{} part{}[{}];", element_type(i), i, tile_);
      if (!texts_[i].is_arg)
        text_.line("for (int64_t j = 0; j < width; ++j) part{}[j] = {}::identity();", i, texts_[i].operator_);
    }
    text_.open("for (int64_t r = segment; r < segment_end; ++r)");
    nest_.decode(text_, kReducedLevel, "r");
    nest_.emit(text_, values(), kReducedLevel);
    open_columns();
    nest_.emit(text_, values(), kColumnLevel);
    for (size_t i = 0; i < texts_.size(); ++i) {
      const std::string value = nest_.name(nest().reductions[i].value);
      if (texts_[i].is_arg)
        text_.line("part{}[j].add({}, r);", i, value);
      else
        text_.line("part{0}[j] = {1}::combine(part{0}[j], {2}({3}));", i, texts_[i].operator_, texts_[i].type, value);
    }
    text_.close();
    nest_.forget(kColumnLevel);
    text_.close();
    nest_.forget(kReducedLevel);
  }

  // total<i>[j] combines `part`, an expression with j, of the segment number `segment`.
  void print_join(size_t i, const std::string& part, const std::string& first) {
    if (texts_[i].is_arg)
      text_.line("for (int64_t j = 0; j < width; ++j) total{}[j].join({});", i, part);
    else
      text_.line("for (int64_t j = 0; j < width; ++j) total{0}[j] = {1} ? {2} : {3}::combine(total{0}[j], {2});", i,
                 first, part, texts_[i].operator_);
  }

  void declare_totals() {
    for (size_t i = 0; i < texts_.size(); ++i) text_.line("{} total{}[{}];", element_type(i), i, tile_);
    if (length_ > 0) return;
    for (size_t i = 0; i < texts_.size(); ++i)
      if (!texts_[i].is_arg) text_.line("for (int64_t j = 0; j < width; ++j) total{}[j] = {};", i, texts_[i].identity);
  }

  void print_stores() {
    for (size_t i = 0; i < texts_.size(); ++i)
      nest_.set_reduced(i, fmt::format("total{}[j]{}", i, texts_[i].is_arg ? ".result()" : ""));
    nest_.emit(text_, results(), kOuterLevel);
    open_columns();
    nest_.emit(text_, results(), kColumnLevel);
    for (const Store& store : nest().stores) nest_.store(text_, store);
    text_.close();
  }

  void print_one_stage() {
    std::vector<ScalarId> roots = values();
    open_tasks(1, length_, roots);
    declare_totals();
    if (length_ > 0) {
      text_.open("for (int64_t segment = 0; segment < {0}; segment += {1})", length_, kColumnSegment);
      text_.line("const int64_t segment_end = segment + {0} < {1} ? segment + {0} : {1};", kColumnSegment, length_);
      print_segment();
      for (size_t i = 0; i < texts_.size(); ++i) print_join(i, fmt::format("part{}[j]", i), "segment == 0");
      text_.close();
    }
    print_stores();
    close_tasks();
  }

  // Scratch: partial[segment][outer][column].
  void print_two_stages() {
    const std::string type = element_type(0);
    text_.line("{0}* const partial = static_cast<{0}*>(args->scratch);", type);
    open_tasks(segments(), kColumnSegment, values());
    text_.line("const int64_t number = task / {};", tiles() * outer_);
    text_.line("const int64_t segment = number * {};", kColumnSegment);
    text_.line("const int64_t segment_end = segment + {0} < {1} ? segment + {0} : {1};", kColumnSegment, length_);
    print_segment();
    text_.line("{}* const row = partial + (number * {} + o) * {} + c0;", type, outer_, columns_);
    text_.raw("for (int64_t j = 0; j < width; ++j) row[j] = part0[j];");
    close_tasks();

    open_tasks(1, segments(), results());
    declare_totals();
    text_.open("for (int64_t number = 0; number < {}; ++number)", segments());
    text_.line("const {}* const row = partial + (number * {} + o) * {} + c0;", type, outer_, columns_);
    print_join(0, "row[j]", "number == 0");
    text_.close();
    print_stores();
    close_tasks();
  }

  Text& text_;
  NestText nest_;
  int64_t columns_;
  int64_t outer_;
  int64_t length_;
  int64_t tile_;
  bool two_stage_;
  std::vector<ReductionText> texts_;
};

}  // namespace

void print_column_reduction(Text& text, const Kernel& kernel) { ColumnPrinter(text, kernel).print(); }

}  // namespace stepc::cpu
