#include "codegen/cpu/print_kernel.h"
#include "codegen/cpu/row_text.h"

namespace stepc::cpu {
namespace {

class RowPrinter {
 public:
  RowPrinter(Text& text, const Kernel& kernel)
      : text_(text), row_(text, kernel), two_stage_(kernel.schedule.two_stage) {}

  void print() {
    if (row_.rows() == 0) return;
    if (two_stage_)
      print_two_stages();
    else
      print_rows();
  }

 private:
  void open_rows(int64_t count, int64_t grain, const std::string& row) {
    text_.open("parallel_for(args, {}, {}, [=](int64_t begin, int64_t end)", count, grain);
    row_.begin_task();
    text_.open("for (int64_t task = begin; task < end; ++task)");
    row_.begin_row(row);
  }

  void close_rows() {
    text_.close();
    row_.nest().forget(0);
    text_.close("});");
  }

  void print_rows() {
    open_rows(row_.rows(), grain_of(row_.length()), "task");
    row_.print_passes();
    row_.print_stores();
    close_rows();
  }

  // Segments of all rows in parallel, their results in scratch, then the rows.
  void print_two_stages() {
    const int64_t length = row_.length();
    const int64_t segments = (length + kRowSegment - 1) / kRowSegment;
    const ReductionText& own = row_.reduction_text(0);
    const std::string state = RowText::state(0);
    const std::string partial = own.is_arg ? own.row : own.type;
    text_.line("{0}* const partial = static_cast<{0}*>(args->scratch);", partial);
    open_rows(row_.rows() * segments, grain_of(kRowSegment), fmt::format("(task / {})", segments));
    text_.line("const int64_t segment = task % {} * {};", segments, kRowSegment);
    text_.line("const int64_t segment_end = segment + {0} < {1} ? segment + {0} : {1};", kRowSegment, length);
    text_.line("{} {};", own.row, state);
    row_.print_segment({0});
    if (!own.is_arg) text_.line("{}.end_segment();", state);
    text_.line("partial[task] = {}{};", state, own.is_arg ? "" : ".result()");
    close_rows();

    open_rows(row_.rows(), grain_of(segments), "task");
    text_.line("{} {};", own.row, state);
    text_.line("for (int64_t i = 0; i < {0}; ++i) {1}.join(partial[task * {0} + i]);", segments, state);
    row_.know(0);
    row_.print_stores();
    close_rows();
  }

  Text& text_;
  RowText row_;
  bool two_stage_;
};

}  // namespace

void print_row_reduction(Text& text, const Kernel& kernel) { RowPrinter(text, kernel).print(); }

}  // namespace stepc::cpu
