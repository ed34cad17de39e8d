#include "ir/kernel/trace.h"

#include "ir/op_def.h"
#include "ir/support/error.h"
#include "ir/uniform_constant.h"

#include <algorithm>

namespace stepc {
namespace {

void append(std::vector<int64_t>& key, const IndexForm& form) {
  key.push_back(form.offset);
  key.insert(key.end(), form.strides.begin(), form.strides.end());
  key.push_back(static_cast<int64_t>(form.dynamic.size()));
  for (const DynamicTerm& term : form.dynamic) {
    key.push_back(term.index.index);
    key.push_back(term.stride);
  }
}

std::vector<int64_t> key_of(ValueId id, const Coordinates& at, const std::vector<Guard>& guards) {
  std::vector<int64_t> key{id.index, static_cast<int64_t>(guards.size())};
  for (const IndexForm& form : at) append(key, form);
  for (const Guard& guard : guards) {
    append(key, guard.at);
    key.insert(key.end(), {guard.low, guard.high, guard.step});
  }
  return key;
}

// The coordinates at which an operand is read that is broadcast to the shape of `at`.
Coordinates broadcast(const Shape& operand, const Coordinates& at, size_t dims) {
  Coordinates result;
  const size_t skip = at.size() - operand.rank();
  for (size_t i = 0; i < operand.rank(); ++i) result.push_back(operand[i] == 1 ? constant_form(dims, 0) : at[skip + i]);
  return result;
}

ReduceOp reduce_op(Op op) {
  switch (op) {
    case Op::reduce_sum: return ReduceOp::sum;
    case Op::reduce_prod: return ReduceOp::prod;
    case Op::reduce_max: return ReduceOp::max;
    case Op::reduce_min: return ReduceOp::min;
    case Op::arg_max: return ReduceOp::arg_max;
    case Op::arg_min: return ReduceOp::arg_min;
    default: CHECK(false, "{}", op_name(op)); return {};
  }
}

}  // namespace

bool KernelScope::contains(NodeId producer) const {
  return is_body() ? producer.valid() : std::ranges::binary_search(nodes, producer);
}

ScalarId Tracer::source(Source source, Dtype dtype) {
  const auto known = std::find(nest_.sources.begin(), nest_.sources.end(), source);
  const auto index = static_cast<int32_t>(known - nest_.sources.begin());
  if (known == nest_.sources.end()) nest_.sources.push_back(std::move(source));
  return nest_.dag.operand(index, dtype);
}

int32_t Tracer::buffer(ValueId outer_value, bool written) {
  for (size_t i = 0; i < buffers_.size(); ++i)
    if (buffers_[i].value == outer_value && buffers_[i].written == written) return static_cast<int32_t>(i);
  buffers_.push_back({outer_value, scope_.outer->dtype(outer_value), written});
  return static_cast<int32_t>(buffers_.size() - 1);
}

ScalarId Tracer::value(ValueId id, const Coordinates& at, const Guards& guards) {
  std::vector<int64_t> key = key_of(id, at, guards);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  const ScalarId result = compute(id, at, guards);
  known_.emplace(std::move(key), result);
  return result;
}

ScalarId Tracer::compute(ValueId id, const Coordinates& at, const Guards& guards) {
  const Graph& graph = *scope_.graph;
  const Value& value = graph.value(id);
  if (!scope_.contains(value.producer))
    return load(scope_.is_body() ? scope_.body_operands[static_cast<size_t>(value.output)] : id, at, guards);
  const Node& node = graph.node(value.producer);
  const OpDef& def = op_def(node.op);
  if (def.scalar != nullptr) return pointwise(node, id, at, guards);
  switch (node.op) {
    case Op::reshape:
    case Op::transpose:
    case Op::slice:
    case Op::expand: return view(node, at, guards);
    case Op::iota: return nest_.dag.cast(coordinate(at[static_cast<size_t>(node.attrs.integer("axis"))]), dtype(id));
    case Op::constant: {
      const std::optional<double> number = uniform_constant(graph, id);
      if (!number) cannot("a constant tensor inside a fused body");
      return nest_.dag.literal(*number, dtype(id));
    }
    case Op::concat: return concat(node, at, guards);
    case Op::pad: return pad(node, id, at, guards);
    case Op::gather: return gather(node, at, guards);
    case Op::gather_elements: return gather_elements(node, at, guards);
    case Op::gather_nd: return gather_nd(node, at, guards);
    case Op::random: return random(node, shape(id), at, guards);
    case Op::contraction: return contraction(node, at);
    case Op::conv:
    case Op::conv_backward_input:
    case Op::conv_backward_weight: return convolution(node, at);
    case Op::arg_max:
    case Op::arg_min:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::reduce_prod:
    case Op::reduce_sum: return reduction(node, at);
    default: cannot(fmt::format("{} is no element-wise computation", def.name));
  }
}

ScalarId Tracer::load(ValueId outer_value, const Coordinates& at, const Guards& guards) {
  const Graph& outer = *scope_.outer;
  const Dtype dtype = outer.dtype(outer_value);
  if (const std::optional<double> number = uniform_constant(outer, outer_value))
    return nest_.dag.literal(*number, dtype);
  LoadSource load{buffer(outer_value, false), linear(dims(), at, layouts_(outer_value).strides), guards};
  return source(std::move(load), dtype);
}

ScalarId Tracer::coordinate(const IndexForm& at) { return source(CoordinateSource{at}, Dtype::i64); }

ScalarId Tracer::pointwise(const Node& node, ValueId result, const Coordinates& at, const Guards& guards) {
  std::vector<ScalarId> operands;
  for (const ValueId input : node.inputs) operands.push_back(value(input, broadcast(shape(input), at, dims()), guards));
  return op_def(node.op).scalar(nest_.dag, node, operands, dtype(result));
}

ScalarId Tracer::view(const Node& node, const Coordinates& at, const Guards& guards) {
  const ValueId operand = node.inputs[0];
  Coordinates from;
  switch (node.op) {
    case Op::expand: from = broadcast(shape(operand), at, dims()); break;
    case Op::transpose: {
      from.resize(at.size());
      const std::vector<int64_t>& perm = node.attrs.integers("perm");
      for (size_t i = 0; i < at.size(); ++i) from[static_cast<size_t>(perm[i])] = at[i];
      break;
    }
    case Op::slice:
      for (size_t i = 0; i < at.size(); ++i)
        from.push_back(shifted(scaled(at[i], node.attrs.integers("steps")[i]), node.attrs.integers("starts")[i]));
      break;
    default: from = reshaped(shape(operand), shape(node.outputs[0]), at);
  }
  return value(operand, from, guards);
}

Coordinates Tracer::reshaped(const Shape& from, const Shape& to, const Coordinates& at) const {
  if (from == to) return at;
  if (to.numel() == 0) cannot("a reshape of nothing");
  std::optional<DimSplit> split;
  std::optional<Coordinates> result = through_reshape(from, to, at, nest_.dims, split);
  if (!result && split) throw SplitRequest{*split};
  if (!result) cannot("a reshape that would need a division per element");
  return *result;
}

bool Tracer::walks_only(const IndexForm& form, bool reduced) const {
  for (size_t d = 0; d < dims(); ++d)
    if (form.strides[d] != 0 && nest_.dims[d].extent > 1 && nest_.dims[d].reduced != reduced) return false;
  return form.dynamic.empty();
}

ScalarId Tracer::concat(const Node& node, const Coordinates& at, const Guards& guards) {
  const auto axis = static_cast<size_t>(node.attrs.integer("axis"));
  struct Part {
    Guard inside;
    ScalarId value;
  };
  std::vector<Part> parts;
  int64_t start = 0;
  for (const ValueId input : node.inputs) {
    const int64_t size = shape(input)[axis];
    if (size == 0) continue;
    const Guard inside{at[axis], start, start + size, 1};
    Guards narrower = guards;
    narrower.push_back(inside);
    Coordinates from = at;
    from[axis] = shifted(from[axis], -start);
    parts.push_back({inside, value(input, from, narrower)});
    start += size;
  }
  ScalarId result = parts.back().value;
  for (size_t i = parts.size() - 1; i-- > 0;)
    result = nest_.dag.select(source(InsideSource{{parts[i].inside}}, Dtype::boolean), parts[i].value, result);
  return result;
}

ScalarId Tracer::pad(const Node& node, ValueId result, const Coordinates& at, const Guards& guards) {
  const ValueId operand = node.inputs[0];
  const ScalarId fill = nest_.dag.literal(node.attrs.real("value"), dtype(result));
  Guards inside;
  Coordinates from = at;
  for (size_t i = 0; i < at.size(); ++i) {
    const int64_t size = shape(operand)[i];
    const int64_t low = node.attrs.integers("low")[i];
    const int64_t step = node.attrs.integers("interior")[i] + 1;
    if (size == 0) return fill;
    if (shape(result)[i] == size) continue;
    inside.push_back({at[i], low, low + (size - 1) * step + 1, step});
    from[i] = shifted(from[i], -low);
    if (step > 1) from[i] = divided_coordinate(from[i], step);
  }
  Guards narrower = guards;
  narrower.insert(narrower.end(), inside.begin(), inside.end());
  const ScalarId element = value(operand, from, narrower);
  return inside.empty() ? element
                        : nest_.dag.select(source(InsideSource{std::move(inside)}, Dtype::boolean), element, fill);
}

ScalarId Tracer::random(const Node& node, const Shape& shape, const Coordinates& at, const Guards& guards) {
  const ScalarId offset = value(node.inputs[0], {}, guards);
  return source(RandomSource{node.attrs.integer("key"), offset, linear(dims(), at, row_major_strides(shape))},
                Dtype::f32);
}

IndexForm Tracer::divided_coordinate(const IndexForm& at, int64_t divisor) {
  const ScalarId quotient = nest_.dag.div(coordinate(at), nest_.dag.literal(static_cast<double>(divisor), Dtype::i64));
  IndexForm form = constant_form(dims(), 0);
  form.dynamic.push_back({quotient, 1});
  return form;
}

IndexForm Tracer::index(ValueId indices, const Coordinates& at, const Guards& guards, int64_t extent) {
  if (extent == 0) user_error("gather: indices into an axis of size 0");
  const ScalarId raw = nest_.dag.cast(value(indices, at, guards), Dtype::i64);
  IndexForm form = constant_form(dims(), 0);
  form.dynamic.push_back({source(IndexSource{raw, extent, true, guards}, Dtype::i64), 1});
  return form;
}

// out[.., i.., ..] = data[.., indices[i..], ..]
ScalarId Tracer::gather(const Node& node, const Coordinates& at, const Guards& guards) {
  const auto axis = static_cast<std::ptrdiff_t>(node.attrs.integer("axis"));
  const auto index_rank = static_cast<std::ptrdiff_t>(shape(node.inputs[1]).rank());
  const Coordinates where(at.begin() + axis, at.begin() + axis + index_rank);
  Coordinates from(at.begin(), at.begin() + axis);
  from.push_back(index(node.inputs[1], where, guards, shape(node.inputs[0])[static_cast<size_t>(axis)]));
  from.insert(from.end(), at.begin() + axis + index_rank, at.end());
  return value(node.inputs[0], from, guards);
}

// out[i][j][k] = data[i][indices[i][j][k]][k] for axis 1
ScalarId Tracer::gather_elements(const Node& node, const Coordinates& at, const Guards& guards) {
  const auto axis = static_cast<size_t>(node.attrs.integer("axis"));
  Coordinates from = at;
  from[axis] = index(node.inputs[1], at, guards, shape(node.inputs[0])[axis]);
  return value(node.inputs[0], from, guards);
}

// out[b.., i.., w..] = data[b.., indices[b.., i.., 0], indices[b.., i.., 1], .., w..]
ScalarId Tracer::gather_nd(const Node& node, const Coordinates& at, const Guards& guards) {
  const auto batch = static_cast<size_t>(node.attrs.integer("batch_dims"));
  const Shape& data = shape(node.inputs[0]);
  const Shape& indices = shape(node.inputs[1]);
  const int64_t components = indices[indices.rank() - 1];
  Coordinates where(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(indices.rank() - 1));
  Coordinates from(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(batch));
  for (int64_t c = 0; c < components; ++c) {
    Coordinates component = where;
    component.push_back(constant_form(dims(), c));
    from.push_back(index(node.inputs[1], component, guards, data[batch + static_cast<size_t>(c)]));
  }
  from.insert(from.end(), at.begin() + static_cast<std::ptrdiff_t>(indices.rank() - 1), at.end());
  return value(node.inputs[0], from, guards);
}

ScalarId Tracer::reduce(Reduction reduction) {
  const auto known = std::find(nest_.reductions.begin(), nest_.reductions.end(), reduction);
  const auto index = static_cast<int32_t>(known - nest_.reductions.begin());
  const bool is_arg = reduction.op == ReduceOp::arg_max || reduction.op == ReduceOp::arg_min;
  const Dtype dtype = is_arg ? Dtype::i64 : reduction.accumulate;
  if (known == nest_.reductions.end()) nest_.reductions.push_back(reduction);
  return source(ReducedSource{index}, dtype);
}

ScalarId Tracer::combine_rows(Reduction reduction) {
  const auto known = std::find(nest_.columns.begin(), nest_.columns.end(), reduction);
  const auto index = static_cast<int32_t>(known - nest_.columns.begin());
  const Dtype dtype = reduction.accumulate;
  if (known == nest_.columns.end()) nest_.columns.push_back(reduction);
  return source(ColumnSource{index}, dtype);
}

// Over the reduced dims, or, as a column, over those that are kept.
ScalarId Tracer::reduction(const Node& node, const Coordinates& at) {
  const ValueId operand = node.inputs[0];
  const Shape& from = shape(operand);
  const bool is_arg = node.op == Op::arg_max || node.op == Op::arg_min;
  const std::vector<int64_t> axes =
      is_arg ? std::vector<int64_t>{node.attrs.integer("axis")} : node.attrs.integers("axes");
  const auto reduced = [&](size_t axis) { return std::ranges::count(axes, static_cast<int64_t>(axis)) > 0; };

  Coordinates kept(from.rank(), constant_form(dims(), 0));  // of the operand, 0 on the reduced axes
  int64_t count = 1;
  for (size_t axis = 0, i = 0; axis < from.rank(); ++axis) {
    if (!reduced(axis))
      kept[axis] = at[i++];
    else
      count *= from[axis], i += node.attrs.flag("keepdims") ? 1 : 0;
  }
  if (count == 1) return is_arg ? nest_.dag.literal(0, Dtype::i64) : value(operand, kept, {});

  if (from.numel() != axes_.shape.numel()) cannot("reductions over different spaces");
  const bool empty = from.numel() == 0;
  if (empty && from != axes_.shape) cannot("reductions over different spaces");
  const Coordinates everywhere = empty ? axes_.forms : reshaped(from, axes_.shape, axes_.forms);
  bool along = true, across = !is_arg && !empty;
  for (size_t axis = 0; axis < from.rank(); ++axis) {
    if (from[axis] == 1) continue;
    along = along && walks_only(everywhere[axis], reduced(axis));
    across = across && walks_only(everywhere[axis], !reduced(axis));
    if (!along && !across) cannot("reductions over different axes");
    if (!reduced(axis) && !(kept[axis] == everywhere[axis])) cannot("a reduction that is read at other rows");
  }
  const Dtype accumulate = accumulator_of(dtype(operand));
  const ScalarId element = empty ? nest_.dag.literal(0, dtype(operand)) : value(operand, everywhere, {});
  if (is_arg) return reduce({reduce_op(node.op), element, accumulate, node.attrs.flag("select_last_index")});
  const Reduction combined{reduce_op(node.op), nest_.dag.cast(element, accumulate), accumulate};
  return nest_.dag.cast(along ? reduce(combined) : combine_rows(combined), dtype(operand));
}

}  // namespace stepc
