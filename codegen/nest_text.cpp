#include "codegen/nest_text.h"

#include "codegen/scalar_text.h"
#include "ir/kernel/loop_nest.h"
#include "ir/support/error.h"

#include <algorithm>

namespace stepc {
namespace {

std::string scaled_text(const std::string& name, int64_t factor) {
  return factor == 1 ? name : fmt::format("{} * {}", factor, name);
}

}  // namespace

NestText::NestText(const Kernel& kernel, const Dialect& dialect, std::vector<int> levels, int reduced_level)
    : kernel_(kernel),
      nest_(std::get<LoopNest>(kernel.work)),
      dialect_(dialect),
      dim_levels_(std::move(levels)),
      emitted_(nest_.dag.nodes().size(), false),
      reduced_(nest_.reductions.size()),
      columns_(nest_.columns.size()) {
  const std::vector<uint64_t> masks = dependencies(nest_);
  for (size_t i = 0; i < masks.size(); ++i) {
    int level = is_reduced(i) ? reduced_level : 0;
    for (size_t d = 0; d < dim_levels_.size(); ++d)
      if (masks[i] >> d & 1) level = std::max(level, dim_levels_[d]);
    for (const ScalarId operand : operands_of(nest_, {static_cast<int32_t>(i)}))
      level = std::max(level, node_levels_[static_cast<size_t>(operand.index)]);
    node_levels_.push_back(level);
  }
}

bool NestText::is_reduced(size_t node) const {
  const ScalarNode& scalar = nest_.dag.nodes()[node];
  return scalar.op == ScalarOp::operand &&
         std::holds_alternative<ReducedSource>(nest_.sources[static_cast<size_t>(scalar.operand)]);
}

int NestText::level(const IndexForm& form) const {
  int result = 0;
  for (size_t d = 0; d < dim_levels_.size(); ++d)
    if (form.strides[d] != 0) result = std::max(result, dim_levels_[d]);
  for (const DynamicTerm& term : form.dynamic) result = std::max(result, level(term.index));
  return result;
}

std::vector<size_t> NestText::dims_at(int level) const {
  std::vector<size_t> dims;
  for (size_t d = 0; d < dim_levels_.size(); ++d)
    if (dim_levels_[d] == level) dims.push_back(d);
  return dims;
}

int64_t NestText::count(int level) const {
  int64_t points = 1;
  for (const size_t d : dims_at(level)) points *= nest_.dims[d].extent;
  return points;
}

void NestText::decode(Text& text, int level, const std::string& index) const {
  const std::vector<size_t> dims = dims_at(level);
  int64_t inner = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    const int64_t extent = nest_.dims[dims[i]].extent;
    const std::string quotient = inner == 1 ? index : fmt::format("{} / {}", index, inner);
    if (i == 0)
      text.line("const {} {} = {};", dialect_.index_type(), dim_name(dims[i]), quotient);
    else
      text.line("const {} {} = {} % {};", dialect_.index_type(), dim_name(dims[i]), quotient, extent);
    inner *= extent;
  }
}

std::vector<bool> NestText::needed(const std::vector<ScalarId>& roots) const {
  std::vector<bool> result(nest_.dag.nodes().size(), false);
  std::vector<ScalarId> pending = roots;
  while (!pending.empty()) {
    const ScalarId id = pending.back();
    pending.pop_back();
    if (result[static_cast<size_t>(id.index)]) continue;
    result[static_cast<size_t>(id.index)] = true;
    for (const ScalarId operand : operands_of(nest_, id)) pending.push_back(operand);
  }
  return result;
}

std::vector<bool> NestText::waiting() const {
  std::vector<bool> result(nest_.dag.nodes().size(), false);
  for (size_t i = 0; i < result.size(); ++i) {
    const ScalarNode& node = nest_.dag.nodes()[i];
    if (node.op == ScalarOp::operand) {
      const Source& source = nest_.sources[static_cast<size_t>(node.operand)];
      if (const auto* reduced = std::get_if<ReducedSource>(&source))
        result[i] = reduced_[static_cast<size_t>(reduced->reduction)].empty();
      if (const auto* column = std::get_if<ColumnSource>(&source))
        result[i] = columns_[static_cast<size_t>(column->column)].empty();
    }
    for (const ScalarId operand : operands_of(nest_, {static_cast<int32_t>(i)}))
      result[i] = result[i] || result[static_cast<size_t>(operand.index)];
  }
  return result;
}

void NestText::emit(Text& text, const std::vector<ScalarId>& roots, int level) {
  const std::vector<bool> need = needed(roots);
  const std::vector<bool> wait = waiting();
  for (size_t i = 0; i < need.size(); ++i) {
    if (!need[i] || emitted_[i] || node_levels_[i] > level || wait[i]) continue;
    const ScalarId id{static_cast<int32_t>(i)};
    text.line("const {} {} = {};", value_type(nest_.dag.dtype(id)), name(id), node_text(id));
    emitted_[i] = true;
  }
}

void NestText::forget(int level) {
  for (size_t i = 0; i < emitted_.size(); ++i)
    if (node_levels_[i] >= level) emitted_[i] = false;
}

void NestText::set_reduced(size_t reduction, std::string expression) { reduced_[reduction] = std::move(expression); }

void NestText::set_column(size_t column, std::string expression) { columns_[column] = std::move(expression); }

std::string NestText::index_text(const IndexForm& form) const {
  std::string text;
  const auto add = [&](const std::string& term) { text += text.empty() ? term : " + " + term; };
  for (size_t d = 0; d < nest_.dims.size(); ++d)
    if (form.strides[d] != 0) add(scaled_text(dim_name(d), form.strides[d]));
  for (const DynamicTerm& term : form.dynamic)
    if (term.stride != 0) add(scaled_text(name(term.index), term.stride));
  if (form.offset != 0 || text.empty()) add(fmt::format("{}", form.offset));
  return text;
}

std::string NestText::guards_text(const std::vector<Guard>& guards) const {
  std::string text;
  for (const Guard& guard : guards) {
    const std::string at = index_text(guard.at);
    std::string one = fmt::format("({} >= {}) & ({} < {})", at, guard.low, at, guard.high);
    if (guard.step != 1) one += fmt::format(" & (({} - {}) % {} == 0)", at, guard.low, guard.step);
    text += text.empty() ? one : " & " + one;
  }
  return text;
}

std::string NestText::source_text(const ScalarNode& node) const {
  const auto number = static_cast<size_t>(node.operand);
  const Source& source = nest_.sources[number];
  const std::string type(value_type(node.dtype));
  if (const auto* load = std::get_if<LoadSource>(&source)) {
    const std::string element =
        loaded(dialect_.element(number, load->buffer, index_text(load->at)), buffer_dtype(load->buffer));
    return load->guards.empty() ? element : fmt::format("({}) ? {} : {}(0)", guards_text(load->guards), element, type);
  }
  if (const auto* coordinate = std::get_if<CoordinateSource>(&source)) return index_text(coordinate->at);
  if (const auto* index = std::get_if<IndexSource>(&source)) {
    const std::string checked = dialect_.checked_index(name(index->raw), index->extent);
    return index->guards.empty() ? checked : fmt::format("({}) ? {} : 0", guards_text(index->guards), checked);
  }
  if (const auto* inside = std::get_if<InsideSource>(&source)) return guards_text(inside->guards);
  if (const auto* random = std::get_if<RandomSource>(&source))
    return fmt::format("philox_uniform({}, {}, {})", fmt::format("INT64_C({})", random->key), name(random->offset),
                       index_text(random->at));
  if (const auto* column = std::get_if<ColumnSource>(&source)) return columns_[static_cast<size_t>(column->column)];
  return reduced_[static_cast<size_t>(std::get<ReducedSource>(source).reduction)];
}

std::string NestText::node_text(ScalarId id) const {
  const ScalarNode& node = nest_.dag.node(id);
  if (node.op == ScalarOp::literal) return literal_text(node.literal, node.dtype);
  if (node.op == ScalarOp::operand) return source_text(node);
  std::vector<std::string> args;
  for (int i = 0; i < scalar_arity(node.op); ++i) args.push_back(name(node.args[static_cast<size_t>(i)]));
  return operation_text(node, args, nest_.dag.dtype(node.args[0]));
}

void NestText::store(Text& text, const Store& store) const {
  text.raw(
      dialect_.assignment(store.buffer, index_text(store.at), stored(name(store.value), buffer_dtype(store.buffer))));
}

}  // namespace stepc
