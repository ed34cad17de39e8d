#include "codegen/cuda/print_kernel.h"
#include "codegen/cuda/row_text.h"
#include "ir/kernel/loop_nest.h"

#include <algorithm>

namespace stepc::cuda {
namespace {

constexpr int kPointLevel = 1;  // all reduced dims, in the loop over columns
constexpr int kNever = 2;       // kept dims there: nothing varies along them
constexpr int32_t kPointThreads = 128;
constexpr int kElements = 4;        // that a thread takes in turn (RowText)
constexpr int64_t kRegisters = 64;  // for partial results

std::vector<int> point_levels(const LoopNest& nest) {
  std::vector<int> levels;
  for (const LoopDim& dim : nest.dims) levels.push_back(dim.reduced ? kPointLevel : kNever);
  return levels;
}

// First a team of threads per segment of rows: what is done per row, and one partial result per column of the nest and
// point of a row, which stays with the thread that has the point in every row: in a register where a row is short, else
// in scratch. Then a thread per point: partial results of the segments from left to right.
class InnerOuterPrinter {
 public:
  InnerOuterPrinter(const Kernel& kernel, std::span<const int64_t> alignments)
      : kernel_(kernel),
        row_(rows_, kernel, alignments),
        points_(kernel, dialect_, point_levels(std::get<LoopNest>(kernel.work))),
        waits_(after_columns(nest())),
        length_(row_.length()),
        segments_((row_.rows() + kColumnSegment - 1) / kColumnSegment) {
    for (const Reduction& column : nest().columns) texts_.push_back(stepc::reduction_text(column));
    in_registers_ =
        length_ <= kRowSegment && row_.rounds() * kElements * static_cast<int64_t>(texts_.size()) <= kRegisters;
  }

  std::vector<StageText> print() {
    std::vector<StageText> stages;
    if (row_.rows() * length_ == 0) return stages;
    stages.push_back(print_rows());
    stages.push_back(print_points());
    return stages;
  }

 private:
  const LoopNest& nest() const { return std::get<LoopNest>(kernel_.work); }

  // part<c>[segment][point]
  void declare_partials(Text& body) const {
    for (size_t c = 0; c < texts_.size(); ++c)
      body.line("{0}* const part{1} = reinterpret_cast<{0}*>(scratch + {2});", texts_[c].type, c,
                column_scratch(nest(), c));
  }

  StageText print_rows() {
    StageText stage;
    stage.threads = row_.threads();
    stage.grid = segments_;
    Text& body = rows_;
    body.raw(index_alias(nest(), row_.rows() * length_));
    declare_partials(body);
    body.raw("const int thread = threadIdx.x;");
    body.line("const int64_t mine = block_index * int64_t({});", length_);
    row_.begin();
    if (in_registers_)
      for (size_t c = 0; c < texts_.size(); ++c) {
        body.line("{} column{}[{}];", texts_[c].type, c, row_.rounds() * kElements);
        body.raw("#pragma unroll");
        body.line("for ({0}& element : column{1}) element = {2}::identity();", texts_[c].type, c, texts_[c].operator_);
      }
    body.line("const Index first_row = block_index * {};", kColumnSegment);
    body.line("const Index last_row = first_row + {0} < {1} ? first_row + {0} : {1};", kColumnSegment, row_.rows());
    body.open("for (Index row = first_row; row < last_row; ++row)");
    row_.begin_row("row");
    row_.print_passes();
    std::vector<ScalarId> values;
    for (const Reduction& column : nest().columns) values.push_back(column.value);
    row_.print_stores(values, [&] { add_element(body); });
    body.close();
    if (in_registers_) print_registers(body);
    stage.body = std::move(rows_);
    return stage;
  }

  void add_element(Text& body) {
    for (size_t c = 0; c < texts_.size(); ++c) {
      const std::string value = fmt::format("{}({})", texts_[c].type, row_.nest().name(nest().columns[c].value));
      if (in_registers_)
        body.line("column{0}[round * {1} + k] = {2}::combine(column{0}[round * {1} + k], {3});", c, kElements,
                  texts_[c].operator_, value);
      else
        body.line(
            "store(part{0}, mine + r, {1}::combine(row == first_row ? {1}::identity() : load(part{0}, mine + r), "
            "{2}));",
            c, texts_[c].operator_, value);
    }
  }

  void print_registers(Text& body) const {
    body.raw("#pragma unroll");
    body.open("for (int i = 0; i < {}; ++i)", row_.rounds() * kElements);
    body.line("const Index r = (i / {0} * {1} + thread) * {0} + i % {0};", kElements, row_.threads());
    body.line("if (r >= {}) break;", length_);
    for (size_t c = 0; c < texts_.size(); ++c) body.line("store(part{0}, mine + r, column{0}[i]);", c);
    body.close();
  }

  StageText print_points() {
    StageText stage;
    stage.threads = kPointThreads;
    stage.grid = (length_ + kPointThreads - 1) / kPointThreads;
    Text& body = stage.body;
    body.raw(index_alias(nest(), row_.rows() * length_));
    declare_partials(body);
    body.line("const Index point = block_index * Index({}) + threadIdx.x;", kPointThreads);
    body.line("if (point >= {}) return;", length_);
    for (size_t c = 0; c < texts_.size(); ++c) {
      body.line("{} total{} = load(part{}, point);", texts_[c].type, c, c);
      body.open("for (int64_t segment = 1; segment < {}; ++segment)", segments_);
      body.line("total{0} = {1}::combine(total{0}, load(part{0}, segment * {2} + point));", c, texts_[c].operator_,
                length_);
      body.close();
      points_.set_column(c, fmt::format("total{}", c));
    }
    std::vector<ScalarId> results;
    for (const Store& store : nest().stores)
      if (waits_[static_cast<size_t>(store.value.index)]) results.push_back(store.value);
    points_.decode(body, kPointLevel, "point");
    points_.emit(body, results, kPointLevel);
    for (const Store& store : nest().stores)
      if (waits_[static_cast<size_t>(store.value.index)]) points_.store(body, store);
    return stage;
  }

  const Kernel& kernel_;
  Text rows_;
  CudaDialect dialect_;
  RowText row_;
  NestText points_;
  std::vector<bool> waits_;
  int64_t length_, segments_;
  std::vector<ReductionText> texts_;
  bool in_registers_ = false;
};

}  // namespace

std::vector<StageText> print_inner_outer(const Kernel& kernel, std::span<const int64_t> alignments) {
  return InnerOuterPrinter(kernel, alignments).print();
}

}  // namespace stepc::cuda
