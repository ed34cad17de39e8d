#include "models/onnx/lowering.h"

#include "models/onnx/element_types.h"

#include <onnx/onnx_pb.h>

namespace stepc::onnx_import {
namespace {

using onnx::AttributeProto;

// The attribute, checked to be of one kind; null when absent.
const AttributeProto* of_kind(const OnnxNode& node, std::string_view key, AttributeProto::AttributeType kind) {
  const AttributeProto* attribute = node.find(key);
  if (attribute != nullptr && attribute->type() != kind)
    user_error("attribute '{}' is {} where {} is expected", key, AttributeProto::AttributeType_Name(attribute->type()),
               AttributeProto::AttributeType_Name(kind));
  return attribute;
}

}  // namespace

std::string_view OnnxNode::op() const { return proto.op_type(); }

const AttributeProto* OnnxNode::find(std::string_view key) const {
  for (const AttributeProto& attribute : proto.attribute())
    if (attribute.name() == key) return &attribute;
  return nullptr;
}

int64_t OnnxNode::integer(std::string_view key, int64_t missing) const {
  const AttributeProto* attribute = of_kind(*this, key, AttributeProto::INT);
  return attribute == nullptr ? missing : attribute->i();
}

double OnnxNode::real(std::string_view key, double missing) const {
  const AttributeProto* attribute = of_kind(*this, key, AttributeProto::FLOAT);
  return attribute == nullptr ? missing : static_cast<double>(attribute->f());
}

std::string OnnxNode::text(std::string_view key, std::string_view missing) const {
  const AttributeProto* attribute = of_kind(*this, key, AttributeProto::STRING);
  return attribute == nullptr ? std::string(missing) : attribute->s();
}

std::optional<std::vector<int64_t>> OnnxNode::integers(std::string_view key) const {
  const AttributeProto* attribute = of_kind(*this, key, AttributeProto::INTS);
  if (attribute == nullptr) return std::nullopt;
  return std::vector<int64_t>(attribute->ints().begin(), attribute->ints().end());
}

std::optional<std::vector<float>> OnnxNode::reals(std::string_view key) const {
  const AttributeProto* attribute = of_kind(*this, key, AttributeProto::FLOATS);
  if (attribute == nullptr) return std::nullopt;
  return std::vector<float>(attribute->floats().begin(), attribute->floats().end());
}

ValueId Lowering::in(size_t i) const {
  if (i >= inputs_.size()) return kNoValue;
  if (inputs_[i].is_list) user_error("operand {} is a sequence where a tensor is expected", i);
  return inputs_[i].value;
}

const std::vector<ValueId>& Lowering::list(size_t i) const {
  if (i >= inputs_.size() || !inputs_[i].is_list) user_error("operand {} is not a sequence", i);
  return inputs_[i].list;
}

const Tensor* Lowering::constant_of(ValueId value) const {
  if (!value.valid()) return nullptr;
  const Node* producer = b.graph().producer(value);
  return producer != nullptr && producer->op == Op::constant ? producer->constant.get() : nullptr;
}

std::vector<int64_t> Lowering::known_integers(size_t i, std::string_view what) const {
  const Tensor* tensor = known(i);
  if (tensor == nullptr)
    user_error("{} (operand {}) must be known when the model is imported; here it depends on the model's inputs", what,
               i);
  if (is_float(tensor->type().dtype))
    user_error("{} (operand {}) is {} where integers are expected", what, i, to_string(tensor->type()));
  std::vector<int64_t> values(static_cast<size_t>(tensor->type().shape.numel()));
  for (size_t k = 0; k < values.size(); ++k) values[k] = element_i64(tensor->view(), static_cast<int64_t>(k));
  return values;
}

int64_t Lowering::known_integer(size_t i, std::string_view what) const {
  const std::vector<int64_t> values = known_integers(i, what);
  if (values.size() != 1) user_error("{} (operand {}) has {} elements where one is expected", what, i, values.size());
  return values[0];
}

double Lowering::known_number(size_t i, std::string_view what) const {
  const Tensor* tensor = known(i);
  if (tensor == nullptr)
    user_error("{} (operand {}) must be known when the model is imported; here it depends on the model's inputs", what,
               i);
  if (tensor->type().shape.numel() != 1)
    user_error("{} (operand {}) is {} where one number is expected", what, i, to_string(tensor->type()));
  return element(tensor->view(), 0);
}

void Lowering::set(size_t i, ValueId value) {
  CHECK(value.valid(), "output {} of a lowering rule", i);
  if (i < outputs_.size()) outputs_[i] = Lowered{value, {}, false};
}

void Lowering::set_list(size_t i, std::vector<ValueId> values) {
  if (i < outputs_.size()) outputs_[i] = Lowered{kNoValue, std::move(values), true};
}

Dtype Lowering::dtype(int32_t onnx_type) const {
  const std::optional<Dtype> exact = dtype_of(onnx_type);
  if (!exact) user_error("element type {} is not supported", element_type_name(onnx_type));
  return compute_f32 ? widened(*exact) : *exact;
}

}  // namespace stepc::onnx_import
