#include "codegen/cpu/nest_text.h"
#include "codegen/cpu/print_kernel.h"
#include "codegen/cpu/reduction_text.h"
#include "ir/kernel/loop_nest.h"

#include <algorithm>

namespace stepc::cpu {
namespace {

constexpr int64_t kChunk = 512;  // elements computed before they are combined; a multiple of the lanes, fits L1
constexpr int kRowLevel = 1;     // kept dims
constexpr int kOuterLevel = 2;   // reduced dims but for the last
constexpr int kInnerLevel = 3;   // the last reduced dim

std::vector<int> row_levels(const LoopNest& nest) {
  std::vector<int> levels;
  size_t last_reduced = 0;
  for (size_t d = 0; d < nest.dims.size(); ++d) {
    levels.push_back(nest.dims[d].reduced ? kOuterLevel : kRowLevel);
    if (nest.dims[d].reduced) last_reduced = d;
  }
  if (!nest.dims.empty() && nest.dims[last_reduced].reduced) levels[last_reduced] = kInnerLevel;
  return levels;
}

class RowPrinter {
 public:
  RowPrinter(Text& text, const Kernel& kernel)
      : text_(text),
        nest_(kernel, row_levels(std::get<LoopNest>(kernel.work)), kRowLevel),
        rows_(nest_.count(kRowLevel)),
        length_(nest_.count(kOuterLevel) * nest_.count(kInnerLevel)),
        two_stage_(kernel.schedule.two_stage) {
    for (const Reduction& reduction : nest_.nest().reductions) texts_.push_back(reduction_text(reduction));
  }

  void print() {
    if (rows_ == 0) return;
    if (two_stage_)
      print_two_stages();
    else
      print_rows();
  }

 private:
  const Reduction& reduction(size_t i) const { return nest_.nest().reductions[i]; }
  static std::string state(size_t i) { return fmt::format("s{}", i); }

  std::vector<ScalarId> all_roots() const {
    std::vector<ScalarId> roots;
    for (const Reduction& reduction : nest_.nest().reductions) roots.push_back(reduction.value);
    for (const Store& store : nest_.nest().stores) roots.push_back(store.value);
    return roots;
  }

  void open_rows(int64_t count, int64_t grain, const char* row) {
    text_.open("parallel_for(args, {}, {}, [=](int64_t begin, int64_t end)", count, grain);
    nest_.declare_buffers(text_);
    nest_.emit(text_, all_roots(), 0);
    text_.open("for (int64_t task = begin; task < end; ++task)");
    nest_.decode(text_, kRowLevel, row);
    nest_.emit(text_, all_roots(), kRowLevel);
  }

  void close_rows() {
    text_.close();
    nest_.forget(0);
    text_.close("});");
  }

  void print_rows() {
    open_rows(rows_, grain_of(length_), "task");
    const std::vector<int> depths = reduction_depths(nest_.nest());
    const int passes = *std::max_element(depths.begin(), depths.end()) + 1;
    for (int pass = 0; pass < passes; ++pass) {
      std::vector<size_t> of_pass;
      for (size_t i = 0; i < depths.size(); ++i)
        if (depths[i] == pass) of_pass.push_back(i);
      for (const size_t i : of_pass) text_.line("{} {};", texts_[i].row, state(i));
      text_.open("for (int64_t segment = 0; segment < {0}; segment += {1})", length_, kRowSegment);
      text_.line("const int64_t segment_end = segment + {0} < {1} ? segment + {0} : {1};", kRowSegment, length_);
      print_segment(of_pass);
      for (const size_t i : of_pass)
        if (!texts_[i].is_arg) text_.line("{}.end_segment();", state(i));
      text_.close();
      for (const size_t i : of_pass) know(i);
    }
    print_stores();
    close_rows();
  }

  void know(size_t i) {
    nest_.set_reduced(i, length_ == 0 ? texts_[i].identity : fmt::format("{}.result()", state(i)));
    nest_.emit(text_, all_roots(), kRowLevel);
  }

  // Combines the elements [segment, segment_end) of the reductions of one pass.
  void print_segment(const std::vector<size_t>& of_pass) {
    if (of_pass.size() == 1 && is_plain_run(of_pass[0])) {
      const std::string at = direct_index(of_pass[0], "segment");
      text_.line("{}.add({}, segment_end - segment);", state(of_pass[0]), at);
      return;
    }
    text_.open("for (int64_t chunk = segment; chunk < segment_end; chunk += {})", kChunk);
    text_.line("const int64_t n = chunk + {0} < segment_end ? {0} : segment_end - chunk;", kChunk);
    for (const size_t i : of_pass)
      if (!texts_[i].is_arg) text_.line("{} t{}[{}];", texts_[i].type, i, kChunk);
    print_chunk(of_pass);
    for (const size_t i : of_pass)
      if (!texts_[i].is_arg) text_.line("{}.add(t{}, n);", state(i), i);
    text_.close();
  }

  void print_chunk(const std::vector<size_t>& of_pass) {
    const std::vector<size_t> inner = nest_.dims_at(kInnerLevel);
    const bool nested = !nest_.dims_at(kOuterLevel).empty();
    if (nested) {
      const int64_t extent = nest_.nest().dims[inner[0]].extent;
      text_.open("for (int64_t j0 = 0; j0 < n;)");
      text_.line("const int64_t outer = (chunk + j0) / {};", extent);
      text_.line("const int64_t first = (chunk + j0) % {};", extent);
      text_.line("const int64_t run = {0} - first < n - j0 ? {0} - first : n - j0;", extent);
      nest_.decode(text_, kOuterLevel, "outer");
      nest_.emit(text_, values_of(of_pass), kOuterLevel);
    } else {
      text_.line("const int64_t j0 = 0, run = n, first = chunk;");
    }
    // An arg reduction carries its state from one element to the next.
    if (std::ranges::none_of(of_pass, [&](size_t k) { return texts_[k].is_arg; })) text_.raw("STEPC_INDEPENDENT");
    text_.open("for (int64_t j = 0; j < run; ++j)");
    if (!inner.empty()) text_.line("const int64_t {} = first + j;", NestText::dim_name(inner[0]));
    nest_.emit(text_, values_of(of_pass), kInnerLevel);
    for (const size_t i : of_pass) {
      const std::string value = nest_.name(reduction(i).value);
      if (texts_[i].is_arg)
        text_.line("{}.add({}, chunk + j0 + j);", state(i), value);
      else
        text_.line("t{}[j0 + j] = {};", i, value);
    }
    text_.close();
    nest_.forget(kInnerLevel);
    if (!nested) return;
    text_.line("j0 += run;");
    text_.close();
    nest_.forget(kOuterLevel);
  }

  std::vector<ScalarId> values_of(const std::vector<size_t>& reductions) const {
    std::vector<ScalarId> values;
    for (const size_t i : reductions) values.push_back(reduction(i).value);
    return values;
  }

  // A value that is just memory in order: combined where it lies.
  bool is_plain_run(size_t i) const {
    const ScalarNode& node = nest_.nest().dag.node(reduction(i).value);
    if (texts_[i].is_arg || node.op != ScalarOp::operand || !nest_.dims_at(kOuterLevel).empty()) return false;
    const auto* load = std::get_if<LoadSource>(&nest_.nest().sources[static_cast<size_t>(node.operand)]);
    const std::vector<size_t> inner = nest_.dims_at(kInnerLevel);
    return load != nullptr && load->guards.empty() && !inner.empty() && load->at.strides[inner[0]] == 1 &&
           (node.dtype == Dtype::f32 || node.dtype == Dtype::f64);
  }

  std::string direct_index(size_t i, const std::string& first) const {
    const ScalarNode& node = nest_.nest().dag.node(reduction(i).value);
    const auto& load = std::get<LoadSource>(nest_.nest().sources[static_cast<size_t>(node.operand)]);
    IndexForm row = load.at;
    row.strides[nest_.dims_at(kInnerLevel)[0]] = 0;
    return fmt::format("b{} + {} + {}", load.buffer, nest_.index_text(row), first);
  }

  bool varies(const Store& store) const {
    return nest_.level(store.value) > kRowLevel || nest_.level(store.at) > kRowLevel;
  }

  void print_stores() {
    std::vector<ScalarId> along;
    for (const Store& store : nest_.nest().stores) {
      if (varies(store)) {
        along.push_back(store.value);
        continue;
      }
      nest_.emit(text_, {store.value}, kRowLevel);
      nest_.store(text_, store);
    }
    if (along.empty()) return;
    for (const size_t d : nest_.dims_at(kOuterLevel))
      text_.open("for (int64_t {0} = 0; {0} < {1}; ++{0})", NestText::dim_name(d), nest_.nest().dims[d].extent);
    nest_.emit(text_, along, kOuterLevel);
    text_.raw("STEPC_INDEPENDENT");
    for (const size_t d : nest_.dims_at(kInnerLevel))
      text_.open("for (int64_t {0} = 0; {0} < {1}; ++{0})", NestText::dim_name(d), nest_.nest().dims[d].extent);
    nest_.emit(text_, along, kInnerLevel);
    for (const Store& store : nest_.nest().stores)
      if (varies(store)) nest_.store(text_, store);
    for (size_t i = 0; i < nest_.dims_at(kOuterLevel).size() + nest_.dims_at(kInnerLevel).size(); ++i) text_.close();
  }

  // Segments of all rows in parallel, their results in scratch, then the rows.
  void print_two_stages() {
    const int64_t segments = (length_ + kRowSegment - 1) / kRowSegment;
    const ReductionText& own = texts_[0];
    const std::string partial = own.is_arg ? own.row : own.type;
    text_.line("{0}* const partial = static_cast<{0}*>(args->scratch);", partial);
    open_rows(rows_ * segments, grain_of(kRowSegment), fmt::format("(task / {})", segments).c_str());
    text_.line("const int64_t segment = task % {} * {};", segments, kRowSegment);
    text_.line("const int64_t segment_end = segment + {0} < {1} ? segment + {0} : {1};", kRowSegment, length_);
    text_.line("{} {};", own.row, state(0));
    print_segment({0});
    if (!own.is_arg) text_.line("{}.end_segment();", state(0));
    text_.line("partial[task] = {}{};", state(0), own.is_arg ? "" : ".result()");
    close_rows();

    open_rows(rows_, grain_of(segments), "task");
    text_.line("{} {};", own.row, state(0));
    text_.line("for (int64_t i = 0; i < {0}; ++i) {1}.join(partial[task * {0} + i]);", segments, state(0));
    know(0);
    print_stores();
    close_rows();
  }

  Text& text_;
  NestText nest_;
  int64_t rows_;
  int64_t length_;
  bool two_stage_;
  std::vector<ReductionText> texts_;
};

}  // namespace

void print_row_reduction(Text& text, const Kernel& kernel) { RowPrinter(text, kernel).print(); }

}  // namespace stepc::cpu
