#pragma once

#include "ir/graph.h"
#include "ir/ref_tensor.h"
#include "ir/scalar_dag.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace stepc {

class Builder;

// What kind of work an operation is; decides which kernel can carry it.
enum class OpKind : uint8_t {
  source,       // constant, iota, random: no tensor operand is read
  pointwise,    // one scalar expression per element of the broadcast operands
  view,         // reshape, transpose, slice, expand: aliases its operand where strides allow it
  movement,     // concat, pad, gather, scatter: moves elements
  reduction,    // along axes
  contraction,  // general dot, convolution
  composite,    // has a decomposition into the kinds above
  fused,        // a nested body
};

struct AttrSpec {
  std::string_view key;
  AttrKind kind{};
  bool required = true;       // else the default below is filled in when the node is made
  double default_number = 0;  // boolean, integer and real; texts default to "" and lists to []
  bool filled_in = true;      // else it is absent unless it is given
};

// Operand types and attributes as a shape rule sees them.
struct InferArgs {
  Op op{};
  std::span<const Type* const> inputs;  // null where an optional operand is omitted
  const Attrs& attrs;
  const Tensor* constant = nullptr;
  const Graph* body = nullptr;
  const Type& in(size_t i) const { return *inputs[i]; }
  bool has(size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
};

struct EvalArgs {
  const Node& node;
  std::span<const RefTensor* const> inputs;  // null where omitted
  std::span<RefTensor> outputs;              // typed and zero-filled
  bool round_floats = false;                 // f32 mode: intermediate results that the IR gives a dtype are rounded
  const RefTensor& in(size_t i) const { return *inputs[i]; }
  bool has(size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
};

struct Cost {
  int64_t flops = 0;
  int64_t read_bytes = 0;   // each distinct byte of the operands once
  int64_t write_bytes = 0;  // each distinct byte of the results once
};

// Builds the gradient of one node. Operand gradients have the operand's shape and dtype.
class VjpArgs {
 public:
  VjpArgs(Builder& builder, NodeId node, std::span<const ValueId> output_gradients, std::span<const bool> needed);

  Builder& b;  // inserts nodes of phase backward
  ValueId in(size_t i) const;
  ValueId out(size_t i) const;
  bool has(size_t i) const;  // optional operand present
  const Node& node() const;
  const Graph& graph() const;
  // The gradient of output i, or kNoValue when nothing flows into it.
  ValueId grad(size_t i = 0) const { return output_gradients_[i]; }
  // Whether operand i is on a path to something differentiated. Gradients of other operands need not be built.
  bool needs(size_t i) const { return i < needed_.size() && needed_[i]; }
  void set(size_t i, ValueId gradient);
  const std::vector<ValueId>& gradients() const { return gradients_; }  // one per operand, kNoValue where none
  // A builder right after the node, in the node's own phase: for values the backward wants saved (indices of a
  // maximum).
  Builder forward() const;

 private:
  NodeId node_;
  std::span<const ValueId> output_gradients_;
  std::span<const bool> needed_;
  std::vector<ValueId> gradients_;
};

// Everything about one operation. Rules that are null do not exist: without `vjp` the gradient stops (integer results)
// or is refused by name; `scalar` exists for pointwise operations, `decompose` for composites.
struct OpDef {
  std::string_view name;
  OpKind kind{};
  int min_inputs = 1;
  int max_inputs = 1;  // -1: any number
  int outputs = 1;
  std::array<AttrSpec, 12> attrs{};  // up to the first empty key

  // Output types. Throws UserError where operands or attributes do not fit.
  std::vector<Type> (*infer)(const InferArgs&) = nullptr;
  void (*vjp)(VjpArgs&) = nullptr;
  // FLOPs only: bytes are those of the distinct operands and the results unless `bytes` says otherwise.
  int64_t (*flops)(const Graph&, const Node&) = nullptr;
  Cost (*bytes)(const Graph&, const Node&) = nullptr;
  // Reference evaluation; pointwise operations leave it null, their scalar expression is evaluated.
  void (*eval)(const EvalArgs&) = nullptr;
  // One element of the result from one element of each operand; operand dtypes may differ (select, cast).
  ScalarId (*scalar)(ScalarDag&, const Node&, std::span<const ScalarId> operands, Dtype result) = nullptr;
  // The same values from primitives, one per output. kNoValue where an output is unused.
  std::vector<ValueId> (*decompose)(Builder&, const Graph&, NodeId) = nullptr;
};

#define OP(name) extern const OpDef op_##name;  // defined in ir/ops/<name>.cpp
#include "ir/ops.def"
#undef OP

const OpDef& op_def(Op op);

// Output types of a node. Prefixes errors with the operation's name.
std::vector<Type> infer_types(const InferArgs& args);
// Checks operand count and attribute kinds, fills in defaults, refuses unknown keys. Throws UserError.
void complete_attrs(Op op, size_t inputs, Attrs& attrs);
Cost node_cost(const Graph& graph, const Node& node);
// Runs the node's evaluation, or its scalar expression over broadcast operands, or its body.
void evaluate_node(const EvalArgs& args);

// --- shape rules shared by many operations
std::vector<Type> infer_same(const InferArgs& args);            // type of operand 0
std::vector<Type> infer_broadcast(const InferArgs& args);       // common dtype, broadcast shape
std::vector<Type> infer_broadcast_bool(const InferArgs& args);  // comparisons

}  // namespace stepc
