#include "codegen/cpu/row_text.h"

#include "codegen/cpu/dialect.h"
#include "codegen/cpu/print_kernel.h"
#include "ir/kernel/loop_nest.h"

#include <algorithm>

namespace stepc::cpu {
namespace {

constexpr int64_t kChunk = 512;  // elements computed before they are combined; a multiple of the lanes, fits L1

std::vector<int> row_levels(const LoopNest& nest) {
  std::vector<int> levels;
  size_t last_reduced = 0;
  for (size_t d = 0; d < nest.dims.size(); ++d) {
    levels.push_back(nest.dims[d].reduced ? RowText::kOuterLevel : RowText::kRowLevel);
    if (nest.dims[d].reduced) last_reduced = d;
  }
  if (!nest.dims.empty() && nest.dims[last_reduced].reduced) levels[last_reduced] = RowText::kInnerLevel;
  return levels;
}

}  // namespace

RowText::RowText(Text& text, const Kernel& kernel)
    : text_(text), nest_(kernel, dialect(), row_levels(std::get<LoopNest>(kernel.work)), kRowLevel) {
  const LoopNest& nest = nest_.nest();
  const std::vector<bool> waits = after_columns(nest);
  for (const Reduction& reduction : nest.reductions) {
    texts_.push_back(stepc::reduction_text(reduction));
    roots_.push_back(reduction.value);
  }
  for (const Reduction& column : nest.columns) roots_.push_back(column.value);
  for (const Store& store : nest.stores) {
    if (waits[static_cast<size_t>(store.value.index)]) continue;
    stores_.push_back(store);
    roots_.push_back(store.value);
  }
}

void RowText::begin_task() {
  declare_buffers(text_, nest_.kernel());
  nest_.emit(text_, roots_, 0);
}

void RowText::begin_row(const std::string& row) {
  nest_.decode(text_, kRowLevel, row);
  nest_.emit(text_, roots_, kRowLevel);
}

void RowText::print_passes() {
  const std::vector<int> depths = reduction_depths(nest_.nest());
  const int passes = depths.empty() ? 0 : *std::ranges::max_element(depths) + 1;
  for (int pass = 0; pass < passes; ++pass) {
    std::vector<size_t> of_pass;
    for (size_t i = 0; i < depths.size(); ++i)
      if (depths[i] == pass) of_pass.push_back(i);
    for (const size_t i : of_pass) text_.line("{} {};", texts_[i].row, state(i));
    text_.open("for (int64_t segment = 0; segment < {0}; segment += {1})", length(), kRowSegment);
    text_.line("const int64_t segment_end = segment + {0} < {1} ? segment + {0} : {1};", kRowSegment, length());
    print_segment(of_pass);
    for (const size_t i : of_pass)
      if (!texts_[i].is_arg) text_.line("{}.end_segment();", state(i));
    text_.close();
    for (const size_t i : of_pass) know(i);
  }
}

void RowText::know(size_t i) {
  nest_.set_reduced(i, length() == 0 ? texts_[i].identity : fmt::format("{}.result()", state(i)));
  nest_.emit(text_, roots_, kRowLevel);
}

void RowText::print_segment(const std::vector<size_t>& of_pass) {
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

void RowText::print_chunk(const std::vector<size_t>& of_pass) {
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

std::vector<ScalarId> RowText::values_of(const std::vector<size_t>& reductions) const {
  std::vector<ScalarId> values;
  for (const size_t i : reductions) values.push_back(reduction(i).value);
  return values;
}

// A value that is just memory in order: combined where it lies.
bool RowText::is_plain_run(size_t i) const {
  const ScalarNode& node = nest_.nest().dag.node(reduction(i).value);
  if (texts_[i].is_arg || node.op != ScalarOp::operand || !nest_.dims_at(kOuterLevel).empty()) return false;
  const auto* load = std::get_if<LoadSource>(&nest_.nest().sources[static_cast<size_t>(node.operand)]);
  const std::vector<size_t> inner = nest_.dims_at(kInnerLevel);
  return load != nullptr && load->guards.empty() && !inner.empty() && load->at.strides[inner[0]] == 1 &&
         (node.dtype == Dtype::f32 || node.dtype == Dtype::f64);
}

std::string RowText::direct_index(size_t i, const std::string& first) const {
  const ScalarNode& node = nest_.nest().dag.node(reduction(i).value);
  const auto& load = std::get<LoadSource>(nest_.nest().sources[static_cast<size_t>(node.operand)]);
  IndexForm row = load.at;
  row.strides[nest_.dims_at(kInnerLevel)[0]] = 0;
  return fmt::format("b{} + {} + {}", load.buffer, nest_.index_text(row), first);
}

bool RowText::varies(const Store& store) const {
  return nest_.level(store.value) > kRowLevel || nest_.level(store.at) > kRowLevel;
}

void RowText::print_stores(const std::vector<ScalarId>& roots, const std::function<void()>& at_element) {
  std::vector<ScalarId> along = roots;
  for (const Store& store : stores_) {
    if (varies(store)) {
      along.push_back(store.value);
      continue;
    }
    nest_.emit(text_, {store.value}, kRowLevel);
    nest_.store(text_, store);
  }
  if (along.empty()) return;
  const std::vector<size_t> outer = nest_.dims_at(kOuterLevel), inner = nest_.dims_at(kInnerLevel);
  for (const size_t d : outer)
    text_.open("for (int64_t {0} = 0; {0} < {1}; ++{0})", NestText::dim_name(d), nest_.nest().dims[d].extent);
  nest_.emit(text_, along, kOuterLevel);
  text_.raw("STEPC_INDEPENDENT");
  for (const size_t d : inner)
    text_.open("for (int64_t {0} = 0; {0} < {1}; ++{0})", NestText::dim_name(d), nest_.nest().dims[d].extent);
  nest_.emit(text_, along, kInnerLevel);
  for (const Store& store : stores_)
    if (varies(store)) nest_.store(text_, store);
  if (at_element) at_element();
  for (size_t i = 0; i < outer.size() + inner.size(); ++i) text_.close();
}

}  // namespace stepc::cpu
