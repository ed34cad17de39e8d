#pragma once

#include "models/onnx/load.h"
#include "models/onnx/lowering.h"

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace stepc::onnx_import {

using Notes = std::vector<std::string>;  // one line each, for the user

// Walks the nodes of an ONNX graph and lowers each by its rule; values are found by name. `If` with a condition that is
// known by then is replaced by the branch that it takes.
class GraphImporter final : public Lowering {
 public:
  GraphImporter(const ModelFile& file, TensorReader& reader, Builder& builder, Notes& notes);

  // Gives a name of the main graph its value.
  void define(const std::string& name, ValueId value);
  void lower_nodes(const onnx::GraphProto& graph);
  // The value of a graph output. UserError for a sequence.
  ValueId output(const std::string& name) const;

  Tensor tensor(const OnnxNode& node, std::string_view key) const override;
  void note(std::string text) override;

 private:
  using Scope = std::unordered_map<std::string, Lowered>;

  const Lowered* find(const std::string& name) const;
  const Lowered& get(const std::string& name) const;
  void lower_node(const onnx::NodeProto& node, int position);
  void lower_by_rule(const OnnxNode& node);
  void lower_if(const OnnxNode& node);
  void bind_operands(const onnx::NodeProto& node);
  void bind_results(const onnx::NodeProto& node, NodeId last);
  void set_value_name(ValueId value, const std::string& name);

  const ModelFile& file_;
  TensorReader& reader_;
  Notes& notes_;
  std::vector<Scope> scopes_{1};      // the main graph and the branches that are being lowered
  std::set<std::string> read_names_;  // by any node or as an output of any graph
};

}  // namespace stepc::onnx_import
