#include "models/zoo/onnx_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace stepc::zoo {
namespace {

constexpr int64_t kIrVersion = 10;  // the first that knows opset 23

void set_attribute(onnx::AttributeProto& proto, const Attribute& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(*integer);
  } else if (const auto* real = std::get_if<float>(&value)) {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(*real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    proto.set_type(onnx::AttributeProto::STRING);
    proto.set_s(*text);
  } else {
    proto.set_type(onnx::AttributeProto::INTS);
    for (const int64_t i : std::get<std::vector<int64_t>>(value)) proto.add_ints(i);
  }
}

void set_type(onnx::ValueInfoProto& info, const std::string& name, int32_t type, const std::vector<Dim>& dims) {
  info.set_name(name);
  auto* tensor = info.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape();  // a scalar has a shape too
  for (const Dim& dim : dims) {
    auto* proto = tensor->mutable_shape()->add_dim();
    if (dim.size < 0)
      proto->set_dim_param("batch");
    else
      proto->set_dim_value(dim.size);
  }
}

}  // namespace

OnnxWriter::OnnxWriter(const std::string& name, int64_t opset) {
  model_.set_ir_version(kIrVersion);
  model_.set_producer_name("stepc zoo");
  auto* import = model_.add_opset_import();
  import->set_domain("");
  import->set_version(opset);
  graph().set_name(name);
}

std::string OnnxWriter::input(const std::string& name, onnx::TensorProto::DataType type, const std::vector<Dim>& dims) {
  set_type(*graph().add_input(), name, type, dims);
  return name;
}

void OnnxWriter::output(const std::string& value, const std::string& name, const std::vector<Dim>& dims) {
  auto* identity = graph().add_node();
  identity->set_op_type("Identity");
  identity->set_name("/" + name);
  identity->add_input(value);
  identity->add_output(name);
  set_type(*graph().add_output(), name, onnx::TensorProto::FLOAT, dims);
}

std::string OnnxWriter::parameter(const std::string& name, const std::vector<int64_t>& dims) {
  const auto& known = graph().initializer();
  if (std::any_of(known.begin(), known.end(), [&](const onnx::TensorProto& tensor) { return tensor.name() == name; }))
    return name;
  auto* tensor = graph().add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t dim : dims) tensor->add_dims(dim);
  return name;
}

std::string OnnxWriter::constant(onnx::TensorProto tensor) {
  auto* node = graph().add_node();
  const std::string name = fmt::format("constant_{}", next_++);
  node->set_op_type("Constant");
  node->set_name(name);
  node->add_output(name);
  auto* attribute = node->add_attribute();
  attribute->set_name("value");
  attribute->set_type(onnx::AttributeProto::TENSOR);
  *attribute->mutable_t() = std::move(tensor);
  return name;
}

std::string OnnxWriter::integers(const std::vector<int64_t>& values) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  for (const int64_t value : values) tensor.add_int64_data(value);
  return constant(std::move(tensor));
}

std::string OnnxWriter::integer(int64_t value) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_int64_data(value);
  return constant(std::move(tensor));
}

std::string OnnxWriter::reals(const std::vector<float>& values) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  for (const float value : values) tensor.add_float_data(value);
  return constant(std::move(tensor));
}

std::string OnnxWriter::real(float value) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_float_data(value);
  return constant(std::move(tensor));
}

std::vector<std::string> OnnxWriter::nodes(const std::string& scope, const std::string& op,
                                           const std::vector<std::string>& inputs, int outputs,
                                           const Attributes& attributes) {
  auto* node = graph().add_node();
  node->set_op_type(op);
  // "blocks.3.attn.q" is "/blocks.3/attn/q/MatMul": a number belongs to the name before it.
  std::string path;
  for (size_t i = 0; i < scope.size(); ++i) {
    const bool before_number = scope[i] == '.' && i + 1 < scope.size() && std::isdigit(scope[i + 1]) != 0;
    path += scope[i] == '.' && !before_number ? '/' : scope[i];
  }
  node->set_name(fmt::format("/{}/{}_{}", path, op, next_++));
  for (const std::string& input : inputs) node->add_input(input);
  std::vector<std::string> names;
  for (int i = 0; i < outputs; ++i) {
    names.push_back(fmt::format("{}_output_{}", node->name(), i));
    node->add_output(names.back());
  }
  for (const auto& [key, value] : attributes) {
    auto* attribute = node->add_attribute();
    attribute->set_name(key);
    set_attribute(*attribute, value);
  }
  return names;
}

std::string OnnxWriter::node(const std::string& scope, const std::string& op, const std::vector<std::string>& inputs,
                             const Attributes& attributes) {
  return nodes(scope, op, inputs, 1, attributes)[0];
}

}  // namespace stepc::zoo
