#include "codegen/cuda/row_text.h"

#include "codegen/scalar_text.h"
#include "ir/kernel/loop_nest.h"

#include <algorithm>

namespace stepc::cuda {
namespace {

constexpr int kElements = 4;             // that a thread takes in turn; as device/reduce.cuh
constexpr int64_t kHeldElements = 64;    // that a thread keeps in registers
constexpr int64_t kUnrolledRounds = 16;  // more are left to a loop

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

size_t last_reduced(const LoopNest& nest) {
  size_t last = 0;
  for (size_t d = 0; d < nest.dims.size(); ++d)
    if (nest.dims[d].reduced) last = d;
  return last;
}

}  // namespace

std::string join_type(const ReductionText& text) {
  return text.is_arg ? "JoinedArg" : fmt::format("Joined<{}>", text.operator_);
}

int row_threads(int64_t length) { return length <= 512 ? 32 : 256; }

RowText::RowText(Text& text, const Kernel& kernel, std::span<const int64_t> alignments)
    : text_(text),
      nest_(kernel, dialect_, row_levels(std::get<LoopNest>(kernel.work)), kRowLevel),
      access_(vector_access(kernel, last_reduced(nest_.nest()), alignments, kElements)) {
  if (access_.width != kElements) access_.width = 1;
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
  choose_held();
}

int64_t RowText::rounds() const {
  const int64_t elements = std::min(length(), kRowSegment), round = static_cast<int64_t>(kElements) * threads();
  return (elements + round - 1) / round;
}

std::vector<size_t> RowText::loads_of(const std::vector<ScalarId>& roots) const {
  const std::vector<bool> needed = nest_.needed(roots);
  std::vector<size_t> result;
  for (size_t i = 0; i < needed.size(); ++i) {
    const ScalarNode& node = nest_.nest().dag.nodes()[i];
    const auto source = static_cast<size_t>(node.operand);
    if (needed[i] && node.op == ScalarOp::operand && access_.width > 1 && access_.loads[source])
      result.push_back(source);
  }
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

// What several passes over a row of one segment read, as far as the registers go.
void RowText::choose_held() {
  const LoopNest& nest = nest_.nest();
  held_.assign(nest.sources.size(), false);
  loaded_.assign(nest.sources.size(), false);
  if (length() > kRowSegment || rounds() > kUnrolledRounds) return;
  const std::vector<int> depths = reduction_depths(nest);
  std::vector<int> passes(nest.sources.size(), 0);
  const int last = depths.empty() ? 0 : *std::ranges::max_element(depths) + 1;
  for (int pass = 0; pass <= last; ++pass) {
    std::vector<ScalarId> roots;
    for (size_t i = 0; i < depths.size(); ++i)
      if (depths[i] == pass) roots.push_back(nest.reductions[i].value);
    if (pass == last)
      for (size_t i = nest.reductions.size(); i < roots_.size(); ++i) roots.push_back(roots_[i]);
    for (const size_t source : loads_of(roots)) ++passes[source];
  }
  int64_t left = kHeldElements;
  for (size_t s = 0; s < passes.size(); ++s) {
    if (passes[s] < 2 || left < rounds() * kElements) continue;
    held_[s] = true;
    left -= rounds() * kElements;
  }
}

void RowText::begin() { nest_.emit(text_, roots_, 0); }

void RowText::begin_row(const std::string& row) {
  nest_.decode(text_, kRowLevel, row);
  nest_.emit(text_, roots_, kRowLevel);
  for (size_t s = 0; s < held_.size(); ++s) {
    if (!held_[s]) continue;
    const auto& load = std::get<LoadSource>(nest_.nest().sources[s]);
    text_.line("Vector<{}, {}> h{}[{}];", storage_type(nest_.buffer_dtype(load.buffer)), kElements, s, rounds());
  }
}

void RowText::print_passes() {
  const std::vector<int> depths = reduction_depths(nest_.nest());
  const int passes = depths.empty() ? 0 : *std::ranges::max_element(depths) + 1;
  const bool one_segment = length() <= kRowSegment;
  for (int pass = 0; pass < passes; ++pass) {
    std::vector<size_t> of_pass;
    for (size_t i = 0; i < depths.size(); ++i)
      if (depths[i] == pass) of_pass.push_back(i);
    const auto type = [&](size_t i) { return texts_[i].is_arg ? texts_[i].row : texts_[i].type; };
    if (one_segment) {
      text_.line("const Index segment{0} = 0, segment{0}_end = {1};", pass, length());
    } else {
      for (const size_t i : of_pass) text_.line("{} total{};", type(i), i);
      text_.open("for (Index segment{0} = 0; segment{0} < {1}; segment{0} += {2})", pass, length(), kRowSegment);
      text_.line("const Index segment{0}_end = segment{0} + {1} < {2} ? segment{0} + {1} : {2};", pass, kRowSegment,
                 length());
    }
    print_segment(of_pass, fmt::format("segment{}", pass));
    if (!one_segment) {
      for (const size_t i : of_pass)
        text_.line("total{0} = segment{1} == 0 ? state{0} : {2}::join(total{0}, state{0});", i, pass,
                   join_type(texts_[i]));
      text_.close();
    }
    for (const size_t i : of_pass) know(i, fmt::format("{}{}", one_segment ? "state" : "total", i));
  }
}

void RowText::know(size_t i, const std::string& result) {
  nest_.set_reduced(i, length() == 0 ? texts_[i].identity : result + (texts_[i].is_arg ? ".result()" : ""));
  nest_.emit(text_, roots_, kRowLevel);
}

void RowText::print_segment(const std::vector<size_t>& of_pass, const std::string& segment) {
  for (const size_t i : of_pass) {
    if (texts_[i].is_arg)
      text_.line("{} state{};", texts_[i].row, i);
    else
      text_.line("{} state{} = {}::identity();", texts_[i].type, i, texts_[i].operator_);
  }
  const std::vector<ScalarId> roots = values_of(of_pass);
  open_elements(roots, segment, segment + "_end", {});
  nest_.emit(text_, roots, kInnerLevel);
  for (const size_t i : of_pass) {
    const std::string value = nest_.name(reduction(i).value);
    if (texts_[i].is_arg)
      text_.line("state{}.add({}, r);", i, value);
    else
      text_.line("state{0} = {1}::combine(state{0}, {2}({3}));", i, texts_[i].operator_, texts_[i].type, value);
  }
  close_elements({});
  for (const size_t i : of_pass)
    text_.line("state{0} = row_total<{1}, {2}>(state{0});", i, threads(), join_type(texts_[i]));
}

std::vector<ScalarId> RowText::values_of(const std::vector<size_t>& reductions) const {
  std::vector<ScalarId> values;
  for (const size_t i : reductions) values.push_back(reduction(i).value);
  return values;
}

std::string RowText::at_first(const IndexForm& at) const {
  IndexForm base = at;
  base.strides[last_reduced(nest_.nest())] = 0;
  return fmt::format("{} + first", nest_.index_text(base));
}

// Reads what the roots need of a thread's next elements, unless registers have it.
void RowText::name_loads(const std::vector<ScalarId>& roots) {
  for (const size_t s : loads_of(roots)) {
    const auto& load = std::get<LoadSource>(nest_.nest().sources[s]);
    const std::string elements = fmt::format("load_vector<{}>(b{}, {})", kElements, load.buffer, at_first(load.at));
    if (!held_[s])
      text_.line("const auto x{} = {};", s, elements);
    else if (!loaded_[s])
      text_.line("h{}[round] = {};", s, elements);
    dialect_.name_element(s, held_[s] ? fmt::format("h{}[round][k]", s) : fmt::format("x{}[k]", s));
  }
  for (size_t s = 0; s < held_.size(); ++s)
    if (held_[s] && std::ranges::count(loads_of(roots), s) != 0) loaded_[s] = true;
}

// The elements of [begin, end) that are the thread's, as `r`, in its order.
void RowText::open_elements(const std::vector<ScalarId>& roots, const std::string& begin, const std::string& end,
                            const std::vector<Store>& vectors) {
  const LoopNest& nest = nest_.nest();
  const std::vector<size_t> inner = nest_.dims_at(kInnerLevel);
  const int64_t extent = inner.empty() ? 1 : nest.dims[inner[0]].extent;
  text_.raw(rounds() <= kUnrolledRounds ? "#pragma unroll" : "#pragma unroll 4");
  text_.open("for (int round = 0; round < {}; ++round)", rounds());
  text_.line("const Index group = {} + (round * {} + thread) * {};", begin, threads(), kElements);
  text_.line("if (group >= {}) break;", end);
  if (is_vector()) {
    nest_.decode(text_, kOuterLevel, fmt::format("(group / {})", extent));
    text_.line("const Index first = group % {};", extent);
    nest_.emit(text_, roots, kOuterLevel);
    name_loads(roots);
  }
  for (const Store& store : vectors)
    text_.line("Vector<{}, {}> y{};", storage_type(nest_.buffer_dtype(store.buffer)), kElements, store.buffer);
  text_.raw("#pragma unroll");
  text_.open("for (int k = 0; k < {}; ++k)", kElements);
  text_.raw("const Index r = group + k;");
  if (!is_vector()) {
    text_.line("if (r >= {}) break;", end);
    nest_.decode(text_, kOuterLevel, fmt::format("(r / {})", extent));
  }
  if (!inner.empty())
    text_.line("const Index {} = {};", NestText::dim_name(inner[0]),
               is_vector() ? "first + k" : fmt::format("r % {}", extent));
}

void RowText::close_elements(const std::vector<Store>& vectors) {
  text_.close();
  for (const Store& store : vectors)
    text_.line("store_vector<{}>(b{}, {}, y{});", kElements, store.buffer, at_first(store.at), store.buffer);
  text_.close();
  nest_.forget(kOuterLevel);
}

bool RowText::varies(const Store& store) const {
  return nest_.level(store.value) > kRowLevel || nest_.level(store.at) > kRowLevel;
}

bool RowText::is_vector(const Store& store) const {
  const std::vector<Store>& all = nest_.nest().stores;
  for (size_t s = 0; s < all.size(); ++s)
    if (all[s].buffer == store.buffer) return is_vector() && access_.stores[s];
  return false;
}

void RowText::print_stores(const std::vector<ScalarId>& roots, const std::function<void()>& at_element) {
  std::vector<ScalarId> along = roots;
  std::vector<Store> vectors;
  for (const Store& store : stores_) {
    if (varies(store)) {
      along.push_back(store.value);
      if (is_vector(store)) vectors.push_back(store);
      continue;
    }
    nest_.emit(text_, {store.value}, kRowLevel);
    text_.open("if (thread == 0)");
    nest_.store(text_, store);
    text_.close();
  }
  if (along.empty()) return;
  const bool one_segment = length() <= kRowSegment;
  if (one_segment)
    text_.line("const Index begin = 0, end = {};", length());
  else
    text_.open("for (Index begin = 0; begin < {}; begin += {})", length(), kRowSegment);
  if (!one_segment) text_.line("const Index end = begin + {0} < {1} ? begin + {0} : {1};", kRowSegment, length());
  for (const Store& store : vectors) dialect_.name_result(store.buffer, fmt::format("y{}[k]", store.buffer));
  open_elements(along, "begin", "end", vectors);
  nest_.emit(text_, along, kInnerLevel);
  for (const Store& store : stores_)
    if (varies(store)) nest_.store(text_, store);
  if (at_element) at_element();
  close_elements(vectors);
  if (!one_segment) text_.close();
}

}  // namespace stepc::cuda
