#pragma once

#include "ir/builder.h"
#include "ir/support/error.h"
#include "ir/tensor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace onnx {
class AttributeProto;
class NodeProto;
}  // namespace onnx

namespace stepc::onnx_import {

// One node of the file as a lowering rule sees it. Getters throw UserError where an attribute has another kind.
struct OnnxNode {
  const onnx::NodeProto& proto;
  int64_t opset = 0;  // the declared version of the node's domain: rules choose the semantics by it
  std::string label;  // "MatMul 'blocks.0/wv'", for messages

  std::string_view op() const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  int64_t integer(std::string_view key, int64_t missing) const;
  bool flag(std::string_view key, bool missing) const { return integer(key, missing ? 1 : 0) != 0; }
  double real(std::string_view key, double missing) const;
  std::string text(std::string_view key, std::string_view missing) const;
  std::optional<std::vector<int64_t>> integers(std::string_view key) const;
  std::optional<std::vector<float>> reals(std::string_view key) const;
  const onnx::AttributeProto* find(std::string_view key) const;  // null when absent
};

// What the values of the file stand for in the graph being built: one value, or the list that a sequence holds.
struct Lowered {
  ValueId value;
  std::vector<ValueId> list;
  bool is_list = false;
};

// The context of one rule call. Shapes are static, so shape arithmetic gives constants at once: after each rule the
// importer evaluates what became known, and the next rule finds it with `known`.
//
// A rule builds with `b` (origin and phase are set) and gives the node's outputs with `set`. It may throw UserError
// without naming the node, and so may the builder: the importer puts the node's label in front.
class Lowering {
 public:
  explicit Lowering(Builder& builder) : b(builder) {}
  virtual ~Lowering() = default;

  Builder& b;
  bool dropout = false;     // --dropout on: Dropout nodes are random masks, else identities
  bool compute_f32 = true;  // float16 and bfloat16 of the file are float32 in the graph

  // --- operands. Trailing omitted operands do not count; an omitted one in between ("" in the file) does.
  size_t inputs() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && (inputs_[i].is_list || inputs_[i].value.valid()); }
  bool is_list(size_t i) const { return i < inputs_.size() && inputs_[i].is_list; }
  ValueId in(size_t i) const;                        // kNoValue when omitted; UserError for a sequence
  const std::vector<ValueId>& list(size_t i) const;  // the elements of a sequence
  const Type& type(size_t i) const { return b.type(in(i)); }
  const Shape& shape(size_t i) const { return b.shape(in(i)); }

  // The payload of an operand that is known while importing, else null.
  const Tensor* known(size_t i) const { return constant_of(in(i)); }
  const Tensor* constant_of(ValueId value) const;
  // Integers (or one integer) that the operation needs now. `what` names them in the error: "the shape of Reshape".
  std::vector<int64_t> known_integers(size_t i, std::string_view what) const;
  int64_t known_integer(size_t i, std::string_view what) const;
  double known_number(size_t i, std::string_view what) const;

  // --- results. Outputs that nobody reads need not be set.
  size_t outputs() const { return outputs_.size(); }
  bool wants(size_t i) const { return i < wanted_.size() && wanted_[i]; }  // named in the file and read there
  void set(size_t i, ValueId value);
  void set_list(size_t i, std::vector<ValueId> values);

  // --- types and tensors of the file
  // The IR's dtype of an ONNX element type, widened under compute_f32. UserError for types that the IR lacks.
  Dtype dtype(int32_t onnx_type) const;
  // A tensor attribute (external data included), widened likewise. UserError when absent.
  virtual Tensor tensor(const OnnxNode& node, std::string_view key) const = 0;
  // Something the user should know; equal notes are kept once.
  virtual void note(std::string text) = 0;

 protected:
  std::vector<Lowered> inputs_;
  std::vector<Lowered> outputs_;
  std::vector<bool> wanted_;
};

// Lowers one ONNX node. `node.opset` is within what the schema of the operation allows and attributes are those of that
// version: the checker ran before.
using LowerRule = void (*)(Lowering&, const OnnxNode&);

}  // namespace stepc::onnx_import
