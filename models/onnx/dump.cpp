#include "models/onnx/dump.h"

#include "ir/value_names.h"
#include "models/onnx/element_types.h"
#include "models/onnx/write.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stepc {
namespace {

constexpr std::string_view kDomain = "stepc";
constexpr int64_t kIrVersion = 10;  // the first whose nodes have metadata
constexpr int64_t kOpset = 20;
constexpr size_t kMostPayloadBytes = size_t{64} << 10;

// The ONNX operator of the same meaning, operands and attributes; empty where there is none.
std::string_view standard_operator(Op op) {
  switch (op) {
    case Op::abs: return "Abs";
    case Op::add: return "Add";
    case Op::cast: return "Cast";
    case Op::ceil: return "Ceil";
    case Op::concat: return "Concat";
    case Op::cos: return "Cos";
    case Op::div: return "Div";
    case Op::equal: return "Equal";
    case Op::erf: return "Erf";
    case Op::exp: return "Exp";
    case Op::floor: return "Floor";
    case Op::is_inf: return "IsInf";
    case Op::is_nan: return "IsNaN";
    case Op::less: return "Less";
    case Op::less_equal: return "LessOrEqual";
    case Op::log: return "Log";
    case Op::logical_and: return "And";
    case Op::logical_not: return "Not";
    case Op::logical_or: return "Or";
    case Op::logical_xor: return "Xor";
    case Op::maximum: return "Max";
    case Op::minimum: return "Min";
    case Op::mul: return "Mul";
    case Op::neg: return "Neg";
    case Op::pow: return "Pow";
    case Op::reciprocal: return "Reciprocal";
    case Op::relu: return "Relu";
    case Op::round: return "Round";
    case Op::select: return "Where";
    case Op::sigmoid: return "Sigmoid";
    case Op::sign: return "Sign";
    case Op::sin: return "Sin";
    case Op::softplus: return "Softplus";
    case Op::sqrt: return "Sqrt";
    case Op::sub: return "Sub";
    case Op::tanh: return "Tanh";
    case Op::transpose: return "Transpose";
    default: return {};
  }
}

void set_attribute(onnx::AttributeProto& proto, const std::string& key, const AttrValue& value, bool standard) {
  proto.set_name(key);
  if (const auto* text = std::get_if<std::string>(&value)) {
    proto.set_type(onnx::AttributeProto::STRING);
    proto.set_s(*text);
  } else if (const auto* real = std::get_if<double>(&value)) {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(static_cast<float>(*real));
  } else if (const auto* integers = std::get_if<std::vector<int64_t>>(&value)) {
    proto.set_type(onnx::AttributeProto::INTS);
    for (const int64_t i : *integers) proto.add_ints(i);
  } else if (const auto* dtype = std::get_if<Dtype>(&value); dtype != nullptr && !standard) {
    proto.set_type(onnx::AttributeProto::STRING);
    proto.set_s(std::string(dtype_onnx_name(*dtype)));
  } else {
    proto.set_type(onnx::AttributeProto::INT);
    if (dtype != nullptr)
      proto.set_i(onnx_import::element_type(*dtype));
    else
      proto.set_i(attr_kind(value) == AttrKind::boolean ? std::get<bool>(value) : std::get<int64_t>(value));
  }
}

void set_type(onnx::ValueInfoProto& info, const std::string& name, const Type& type) {
  info.set_name(name);
  auto* tensor = info.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(onnx_import::element_type(type.dtype));
  tensor->mutable_shape();  // a scalar has a shape too
  for (const int64_t dim : type.shape) tensor->mutable_shape()->add_dim()->set_dim_value(dim);
}

void add_metadata(onnx::NodeProto& proto, const std::string& key, const std::string& value) {
  if (value.empty()) return;
  auto* entry = proto.add_metadata_props();
  entry->set_key(key);
  entry->set_value(value);
}

class GraphDump {
 public:
  // Values of a body are named after the node it belongs to: ONNX's names are unique through subgraphs.
  GraphDump(const Graph& graph, std::string prefix) : graph_(graph), names_(graph), prefix_(std::move(prefix)) {}

  void write(onnx::GraphProto& proto) {
    proto.set_name(graph_.name.empty() ? "graph" : graph_.name);
    for (const GraphInput& input : graph_.inputs()) {
      auto* info = proto.add_input();
      set_type(*info, name_of(input.value), graph_.type(input.value));
      info->set_doc_string(
          fmt::format("{}{} {}", input.trainable ? "trainable " : "", input_role_name(input.role), input.name));
    }
    for (NodeId id = graph_.first(); id.valid(); id = graph_.next(id))
      add_node(*proto.add_node(), graph_.node(id), proto);
    for (const GraphOutput& output : graph_.outputs())
      add_output(proto, output.value, output.name, output_role_name(output.role));
    for (const StatePair& state : graph_.states())
      add_output(proto, state.output, "new " + graph_.input_of(state.input)->name, "state");
  }

 private:
  std::string name_of(ValueId value) const { return value.valid() ? prefix_ + names_.of(value) : std::string(); }

  void add_node(onnx::NodeProto& proto, const Node& node, onnx::GraphProto& parent) {
    const std::string_view standard = standard_operator(node.op);
    proto.set_op_type(standard.empty() ? std::string(op_name(node.op)) : std::string(standard));
    if (standard.empty()) proto.set_domain(std::string(kDomain));
    proto.set_name(name_of(node.outputs[0]));
    for (const ValueId input : node.inputs) proto.add_input(name_of(input));
    for (const ValueId output : node.outputs) {
      proto.add_output(name_of(output));
      set_type(*parent.add_value_info(), name_of(output), graph_.type(output));
    }
    for (const auto& [key, value] : node.attrs) set_attribute(*proto.add_attribute(), key, value, !standard.empty());
    if (node.constant) set_payload(proto, *node.constant);
    if (node.body) {
      auto* body = proto.add_attribute();
      body->set_name("body");
      body->set_type(onnx::AttributeProto::GRAPH);
      GraphDump(*node.body, name_of(node.outputs[0]) + "/").write(*body->mutable_g());
    }
    add_metadata(proto, "phase", std::string(phase_name(node.origin.phase)));
    add_metadata(proto, "scope", node.origin.scope);
    add_metadata(proto, "onnx", fmt::format("{}", fmt::join(node.origin.onnx, " ")));
  }

  static void set_payload(onnx::NodeProto& proto, const Tensor& tensor) {
    if (tensor.bytes().size() > kMostPayloadBytes) return;
    proto.set_op_type("Constant");
    proto.clear_domain();
    auto* value = proto.add_attribute();
    value->set_name("value");
    value->set_type(onnx::AttributeProto::TENSOR);
    value->mutable_t()->set_data_type(onnx_import::element_type(tensor.type().dtype));
    for (const int64_t dim : tensor.type().shape) value->mutable_t()->add_dims(dim);
    value->mutable_t()->set_raw_data(tensor.bytes().data(), tensor.bytes().size());
  }

  // A graph's output has a name of its own, whatever its value is called.
  void add_output(onnx::GraphProto& proto, ValueId value, const std::string& name, std::string_view role) {
    const std::string own = prefix_ + name;
    auto* identity = proto.add_node();
    identity->set_op_type("Identity");
    identity->set_name(own);
    identity->add_input(name_of(value));
    identity->add_output(own);
    auto* info = proto.add_output();
    set_type(*info, own, graph_.type(value));
    info->set_doc_string(std::string(role));
  }

  const Graph& graph_;
  const ValueNames names_;
  const std::string prefix_;
};

}  // namespace

void dump_onnx(const Graph& graph, const std::string& path) {
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("stepc");
  for (const auto& [domain, version] :
       {std::pair{std::string(), kOpset}, std::pair{std::string(kDomain), int64_t{1}}}) {
    auto* import = model.add_opset_import();
    import->set_domain(domain);
    import->set_version(version);
  }
  GraphDump(graph, "").write(*model.mutable_graph());
  onnx_import::write_model(model, path);
}

}  // namespace stepc
