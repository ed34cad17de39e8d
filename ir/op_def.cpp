#include "ir/op_def.h"

#include "ir/builder.h"
#include "ir/origin_name.h"
#include "ir/support/error.h"

#include <algorithm>

namespace stepc {
namespace {

AttrValue default_value(const AttrSpec& spec) {
  switch (spec.kind) {
    case AttrKind::boolean: return spec.default_number != 0;
    case AttrKind::integer: return static_cast<int64_t>(spec.default_number);
    case AttrKind::real: return spec.default_number;
    case AttrKind::text: return std::string();
    case AttrKind::dtype: return static_cast<Dtype>(spec.default_number);
    case AttrKind::integers: return std::vector<int64_t>();
  }
  CHECK(false, "attribute kind");
  return false;
}

std::span<const AttrSpec> specs(const OpDef& def) {
  const auto end =
      std::find_if(def.attrs.begin(), def.attrs.end(), [](const AttrSpec& spec) { return spec.key.empty(); });
  return {def.attrs.data(), static_cast<size_t>(end - def.attrs.begin())};
}

Shape broadcast_inputs(const InferArgs& args) {
  Shape shape = args.in(0).shape;
  for (size_t i = 1; i < args.inputs.size(); ++i) shape = broadcast_shapes(shape, args.in(i).shape);
  return shape;
}

Dtype common_dtype(const InferArgs& args) {
  const Dtype dtype = args.in(0).dtype;
  for (size_t i = 1; i < args.inputs.size(); ++i)
    if (args.in(i).dtype != dtype)
      user_error("operands have dtypes {} and {}", dtype_name(dtype), dtype_name(args.in(i).dtype));
  return dtype;
}

ScalarValue scalar_value(const RefTensor& tensor, int64_t index) {
  const auto i = static_cast<size_t>(index);
  return tensor.is_real() ? ScalarValue{tensor.real[i], 0} : ScalarValue{0, tensor.integer[i]};
}

// Walks the coordinates of `shape` in row-major order and keeps one element offset per operand up to date.
class BroadcastWalk {
 public:
  BroadcastWalk(const Shape& shape, std::span<const RefTensor* const> operands)
      : shape_(shape), coordinates_(shape.rank(), 0), offsets_(operands.size(), 0) {
    for (const RefTensor* operand : operands) strides_.push_back(broadcast_strides(operand->type.shape, shape));
  }

  const std::vector<int64_t>& offsets() const { return offsets_; }

  void advance() {
    for (size_t axis = shape_.rank(); axis-- > 0;) {
      const bool carry = ++coordinates_[axis] == shape_[axis];
      for (size_t k = 0; k < offsets_.size(); ++k)
        offsets_[k] += carry ? -strides_[k][axis] * (shape_[axis] - 1) : strides_[k][axis];
      if (!carry) return;
      coordinates_[axis] = 0;
    }
  }

 private:
  const Shape& shape_;
  Dims coordinates_;
  std::vector<int64_t> offsets_;
  std::vector<Dims> strides_;
};

void evaluate_pointwise(const EvalArgs& args) {
  RefTensor& out = args.outputs[0];
  ScalarDag dag;
  std::vector<ScalarId> operands;
  for (size_t i = 0; i < args.inputs.size(); ++i)
    operands.push_back(dag.operand(static_cast<int32_t>(i), args.in(i).type.dtype));
  const ScalarId root = op_def(args.node.op).scalar(dag, args.node, operands, out.type.dtype);

  BroadcastWalk walk(out.type.shape, args.inputs);
  std::vector<ScalarValue> values(args.inputs.size());
  for (int64_t element = 0; element < out.numel(); ++element, walk.advance()) {
    for (size_t k = 0; k < values.size(); ++k) values[k] = scalar_value(args.in(k), walk.offsets()[k]);
    const ScalarValue result = evaluate(dag, root, values, args.round_floats);
    if (out.is_real())
      out.real[static_cast<size_t>(element)] = result.real;
    else
      out.integer[static_cast<size_t>(element)] = result.integer;
  }
}

}  // namespace

void complete_attrs(Op op, size_t inputs, Attrs& attrs) {
  const OpDef& def = op_def(op);
  const bool variadic = def.max_inputs < 0;
  if (inputs < static_cast<size_t>(def.min_inputs) || (!variadic && inputs > static_cast<size_t>(def.max_inputs)))
    user_error("{}: {} operands, expected {}{}", def.name, inputs, def.min_inputs,
               variadic                           ? " or more"
               : def.max_inputs == def.min_inputs ? std::string()
                                                  : fmt::format(" to {}", def.max_inputs));
  size_t known = 0;
  for (const AttrSpec& spec : specs(def)) {
    const AttrValue* value = attrs.find(spec.key);
    if (value == nullptr) {
      if (spec.required) user_error("{}: attribute '{}' is missing", def.name, spec.key);
      if (!spec.filled_in) continue;
      attrs.set(spec.key, default_value(spec));
    } else if (attr_kind(*value) != spec.kind) {
      user_error("{}: attribute '{}' has the wrong kind", def.name, spec.key);
    }
    ++known;
  }
  if (attrs.size() == known) return;
  for (const auto& [key, value] : attrs)
    if (std::none_of(def.attrs.begin(), def.attrs.end(),
                     [&wanted = key](const AttrSpec& spec) { return spec.key == wanted; }))
      user_error("{}: unknown attribute '{}'", def.name, key);
}

std::vector<Type> infer_types(const InferArgs& args) {
  const OpDef& def = op_def(args.op);
  for (size_t i = 0; i < static_cast<size_t>(def.min_inputs); ++i)
    if (!args.has(i)) user_error("{}: operand {} is required", def.name, i);
  try {
    return def.infer(args);
  } catch (const UserError& error) {
    user_error("{}: {}", def.name, error.what());
  }
}

namespace {

Cost cost_of(const Graph& graph, const Node& node) {
  const OpDef& def = op_def(node.op);
  Cost cost;
  if (def.bytes != nullptr) {
    cost = def.bytes(graph, node);
  } else if (def.kind != OpKind::view) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool repeated = std::find(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(i),
                                      node.inputs[i]) != node.inputs.begin() + static_cast<std::ptrdiff_t>(i);
      if (node.inputs[i].valid() && !repeated) cost.read_bytes += graph.type(node.inputs[i]).bytes();
    }
    for (const ValueId output : node.outputs) cost.write_bytes += graph.type(output).bytes();
  }
  if (def.flops != nullptr) cost.flops = def.flops(graph, node);
  return cost;
}

}  // namespace

Cost node_cost(const Graph& graph, const Node& node) {
  try {
    return cost_of(graph, node);
  } catch (const UserError& error) {  // what is counted does not fit 64 bits
    user_error("{}: {}", node_name(graph, node), error.what());
  }
}

void evaluate_node(const EvalArgs& args) {
  const OpDef& def = op_def(args.node.op);
  if (def.eval != nullptr) {
    def.eval(args);
  } else {
    CHECK(def.scalar != nullptr, "{} has no evaluation", def.name);
    evaluate_pointwise(args);
  }
  if (args.round_floats)
    for (RefTensor& output : args.outputs) output.round_to_dtype();
}

std::vector<Type> infer_same(const InferArgs& args) { return {args.in(0)}; }

std::vector<Type> infer_broadcast(const InferArgs& args) { return {Type{common_dtype(args), broadcast_inputs(args)}}; }

std::vector<Type> infer_broadcast_bool(const InferArgs& args) {
  common_dtype(args);
  return {Type{Dtype::boolean, broadcast_inputs(args)}};
}

VjpArgs::VjpArgs(Builder& builder, NodeId node, std::span<const ValueId> output_gradients, std::span<const bool> needed)
    : b(builder),
      node_(node),
      output_gradients_(output_gradients),
      needed_(needed),
      gradients_(builder.graph().node(node).inputs.size()) {}

const Graph& VjpArgs::graph() const { return b.graph(); }
const Node& VjpArgs::node() const { return graph().node(node_); }
ValueId VjpArgs::in(size_t i) const { return node().inputs[i]; }
ValueId VjpArgs::out(size_t i) const { return node().outputs[i]; }
bool VjpArgs::has(size_t i) const { return i < node().inputs.size() && node().inputs[i].valid(); }

void VjpArgs::set(size_t i, ValueId gradient) {
  CHECK(graph().type(gradient) == graph().type(in(i)), "gradient of operand {} of {}: {} for {}", i, op_name(node().op),
        to_string(graph().type(gradient)), to_string(graph().type(in(i))));
  gradients_[i] = gradient;
}

Builder VjpArgs::forward() const { return Builder(b.graph(), node().origin, graph().next(node_)); }

}  // namespace stepc
