#include "codegen/cuda/print_kernel.h"
#include "codegen/cuda/row_text.h"

namespace stepc::cuda {
namespace {

constexpr int32_t kThreads = 256;

// A team of threads per row: a warp, several in a block, or a whole block.
class RowPrinter {
 public:
  RowPrinter(const Kernel& kernel, std::span<const int64_t> alignments) : kernel_(kernel), alignments_(alignments) {}

  std::vector<StageText> print() {
    std::vector<StageText> stages;
    if (RowText(unused_, kernel_, alignments_).rows() == 0) return stages;
    if (kernel_.schedule.two_stage) {
      stages.push_back(print_segments());
      stages.push_back(print_rows(true));
    } else {
      stages.push_back(print_rows(false));
    }
    return stages;
  }

 private:
  // Teams numbered by `task`, as many as there are.
  StageText open(RowText& row, Text& body, int64_t tasks) const {
    const int teams = kThreads / row.threads();
    StageText stage;
    stage.threads = kThreads;
    stage.grid = (tasks + teams - 1) / teams;
    body.raw(index_alias(row.nest().nest(), std::max(tasks, row.rows() * row.length())));
    body.line("const int thread = threadIdx.x % {};", row.threads());
    body.line("const Index task = block_index * Index({}) + threadIdx.x / {};", teams, row.threads());
    if (teams > 1) body.line("if (task >= {}) return;", tasks);
    row.begin();
    return stage;
  }

  std::string partial_type(const RowText& row) const {
    const ReductionText& own = row.reduction_text(0);
    return own.is_arg ? own.row : own.type;
  }

  StageText print_rows(bool from_partials) {
    Text body;
    RowText row(body, kernel_, alignments_);
    StageText stage = open(row, body, row.rows());
    row.begin_row("task");
    if (from_partials)
      print_join(row, body);
    else
      row.print_passes();
    row.print_stores();
    stage.body = std::move(body);
    return stage;
  }

  // Segments of all rows at once, their results in scratch.
  StageText print_segments() {
    Text body;
    RowText row(body, kernel_, alignments_);
    const int64_t segments = segments_of(row);
    StageText stage = open(row, body, row.rows() * segments);
    row.begin_row(fmt::format("(task / {})", segments));
    body.line("const Index segment = task % {} * {};", segments, kRowSegment);
    body.line("const Index segment_end = segment + {0} < {1} ? segment + {0} : {1};", kRowSegment, row.length());
    row.print_segment({0}, "segment");
    body.line("if (thread == 0) store(reinterpret_cast<{}*>(scratch), task, state0);", partial_type(row));
    stage.body = std::move(body);
    return stage;
  }

  void print_join(RowText& row, Text& body) {
    const int64_t segments = segments_of(row);
    const std::string type = partial_type(row);
    body.line("const {0}* const partial = reinterpret_cast<const {0}*>(scratch) + task * {1};", type, segments);
    body.line("{} state0 = load(partial, 0);", type);
    body.line("for (int i = 1; i < {}; ++i) state0 = {}::join(state0, load(partial, i));", segments,
              join_type(row.reduction_text(0)));
    row.know(0, "state0");
  }

  static int64_t segments_of(const RowText& row) { return (row.length() + kRowSegment - 1) / kRowSegment; }

  const Kernel& kernel_;
  std::span<const int64_t> alignments_;
  Text unused_;
};

}  // namespace

std::vector<StageText> print_row_reduction(const Kernel& kernel, std::span<const int64_t> alignments) {
  return RowPrinter(kernel, alignments).print();
}

}  // namespace stepc::cuda
