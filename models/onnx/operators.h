#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stepc::onnx_import {

using Opsets = std::map<std::string, int64_t>;  // declared version by domain

// "LayerNormalization", "com.microsoft.FusedMatMul"
std::string operator_name(const onnx::NodeProto& node);
// The node's name, or "MatMul_17" when it has none: its type and its position.
std::string node_name(const onnx::NodeProto& node, int position);

using NodeList = google::protobuf::RepeatedPtrField<onnx::NodeProto>;  // of a graph or a function

// Every node of the list and of the graphs in its attributes, with its position in its own list.
void for_each_node(const NodeList& nodes, const std::function<void(const onnx::NodeProto&, int)>& visit);

// Refuses operators that the declared opset does not have, all of them in one message with the opset that they need:
// exporters are known to declare an older opset than they write. `functions` are the model's own, as "domain.name".
void require_declared_operators(const NodeList& nodes, const Opsets& opsets, const std::vector<std::string>& functions);

// Whether a node uses an operator of the standard's domains that no version of the standard has. The checker stops at
// the first such node; `unsupported_operators` lists them all.
bool has_unknown_standard_operators(const onnx::GraphProto& graph);

// One operator that cannot be imported.
struct UnsupportedOperator {
  std::string name;
  int64_t count = 0;
  std::vector<std::string> nodes;  // the first few
  std::string reason;
};
// Nodes of this graph (bodies of `If` are looked at when their branch is chosen) without a rule, by operator name.
std::vector<UnsupportedOperator> unsupported_operators(const onnx::GraphProto& graph);
// "unsupported operators: Loop (2 nodes: 'a', 'b'), ...; loops have no static graph, ..."
std::string describe(const std::vector<UnsupportedOperator>& operators);

// Operators without a rule of ours that ONNX itself defines as a function of others are replaced by that function.
void expand_schema_functions(onnx::ModelProto& model, const Opsets& opsets);

}  // namespace stepc::onnx_import
