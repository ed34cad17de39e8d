#include "models/onnx/graph_importer.h"

#include "ir/support/quote.h"
#include "models/onnx/element_types.h"
#include "models/onnx/fold.h"
#include "models/onnx/operators.h"
#include "models/onnx/provenance.h"
#include "models/onnx/rules.h"

#include <algorithm>

namespace stepc::onnx_import {
namespace {

void collect_reads(const onnx::GraphProto& graph, std::set<std::string>& names) {
  for (const auto& output : graph.output()) names.insert(output.name());
  for (const auto& node : graph.node()) {
    names.insert(node.input().begin(), node.input().end());
    for (const auto& attribute : node.attribute())
      if (attribute.has_g()) collect_reads(attribute.g(), names);
  }
}

}  // namespace

GraphImporter::GraphImporter(const ModelFile& file, TensorReader& reader, Builder& builder, Notes& notes)
    : Lowering(builder), file_(file), reader_(reader), notes_(notes) {
  collect_reads(file.graph(), read_names_);
}

void GraphImporter::define(const std::string& name, ValueId value) {
  set_value_name(value, name);
  scopes_.front()[name] = Lowered{value, {}, false};
}

const Lowered* GraphImporter::find(const std::string& name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
    if (const auto found = scope->find(name); found != scope->end()) return &found->second;
  return nullptr;
}

// The checker saw to it that names are defined before they are read; what is missing is an output that its rule left
// out.
const Lowered& GraphImporter::get(const std::string& name) const {
  const Lowered* found = find(name);
  if (found == nullptr)
    user_error("value {} is not available: that output of its node is not supported", in_quotes(name));
  return *found;
}

ValueId GraphImporter::output(const std::string& name) const {
  const Lowered& value = get(name);
  if (value.is_list) user_error("output {} is a sequence; outputs must be tensors", in_quotes(name));
  return value.value;
}

void GraphImporter::lower_nodes(const onnx::GraphProto& graph) {
  for (int i = 0; i < graph.node_size(); ++i) lower_node(graph.node(i), i);
}

void GraphImporter::lower_node(const onnx::NodeProto& node, int position) {
  const std::string name = node_name(node, position);
  const OnnxNode view{node, file_.opset(node.domain()), fmt::format("{} {}", operator_name(node), in_quotes(name))};
  b.set_origin(Origin{Phase::forward, {name}, scope_of(node)});
  try {
    bind_operands(node);
  } catch (const UserError& error) {
    user_error("{}: {}", view.label, error.what());
  }
  if (node.op_type() == "If" && node.domain().empty())
    lower_if(view);
  else
    lower_by_rule(view);
}

void GraphImporter::bind_operands(const onnx::NodeProto& node) {
  inputs_.clear();
  for (const std::string& input : node.input()) inputs_.push_back(input.empty() ? Lowered{} : get(input));
  while (!inputs_.empty() && !inputs_.back().is_list && !inputs_.back().value.valid()) inputs_.pop_back();
  outputs_.assign(static_cast<size_t>(node.output_size()), Lowered{});
  wanted_.clear();
  for (const std::string& output : node.output()) wanted_.push_back(!output.empty() && read_names_.count(output) != 0);
}

void GraphImporter::lower_by_rule(const OnnxNode& node) {
  const LowerRule rule = find_rule(node.proto.domain(), node.proto.op_type());
  CHECK(rule != nullptr, "no rule for {}", node.label);
  const NodeId last = b.graph().last();
  try {
    rule(*this, node);
  } catch (const UserError& error) {
    user_error("{}: {}", node.label, error.what());
  }
  bind_results(node.proto, last);
}

void GraphImporter::bind_results(const onnx::NodeProto& node, NodeId last) {
  const std::map<ValueId, ValueId> folded = fold_after(b.graph(), last);
  const auto current = [&](ValueId value) {
    const auto found = folded.find(value);
    return found == folded.end() ? value : found->second;
  };
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const std::string& name = node.output(static_cast<int>(i));
    Lowered& result = outputs_[i];
    if (name.empty() || (!result.is_list && !result.value.valid())) continue;
    for (ValueId& element : result.list) element = current(element);
    if (!result.is_list) {
      result.value = current(result.value);
      set_value_name(result.value, name);
    }
    scopes_.back()[name] = std::move(result);
  }
}

void GraphImporter::set_value_name(ValueId value, const std::string& name) {
  if (b.graph().value(value).name.empty()) b.graph().set_name(value, name);
}

void GraphImporter::lower_if(const OnnxNode& node) {
  const Tensor* condition = known(0);
  if (condition == nullptr)
    user_error(
        "{}: the condition depends on the model's inputs; only branches that are known before the run can be "
        "compiled",
        node.label);
  if (condition->type().dtype != Dtype::boolean || condition->type().shape.numel() != 1)
    user_error("{}: the condition is {} where one boolean is expected", node.label, to_string(condition->type()));
  const std::string_view key = element_i64(condition->view(), 0) != 0 ? "then_branch" : "else_branch";
  const onnx::AttributeProto* attribute = node.find(key);
  if (attribute == nullptr || !attribute->has_g()) user_error("{}: it has no {}", node.label, key);
  const onnx::GraphProto& branch = attribute->g();
  if (branch.output_size() != node.proto.output_size())
    user_error("{}: its {} has {} outputs where the node has {}", node.label, key, branch.output_size(),
               node.proto.output_size());
  if (const auto unsupported = unsupported_operators(branch); !unsupported.empty())
    user_error("{}: {}", node.label, describe(unsupported));

  scopes_.emplace_back();
  for (const auto& initializer : branch.initializer()) {
    const TensorView view = reader_.read(initializer);
    const Dtype dtype = compute_f32 ? widened(view.type.dtype) : view.type.dtype;
    scopes_.back()[initializer.name()] = Lowered{b.constant(convert(view, dtype)), {}, false};
  }
  lower_nodes(branch);
  std::vector<Lowered> results;
  for (const auto& output : branch.output()) results.push_back(get(output.name()));
  scopes_.pop_back();
  for (int i = 0; i < node.proto.output_size(); ++i)
    if (!node.proto.output(i).empty()) scopes_.back()[node.proto.output(i)] = results[static_cast<size_t>(i)];
}

Tensor GraphImporter::tensor(const OnnxNode& node, std::string_view key) const {
  const onnx::AttributeProto* attribute = node.find(key);
  if (attribute == nullptr || !attribute->has_t()) user_error("attribute '{}' must be a tensor", key);
  const TensorView view = reader_.read(attribute->t());
  return convert(view, compute_f32 ? widened(view.type.dtype) : view.type.dtype);
}

void GraphImporter::note(std::string text) {
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(std::move(text));
}

}  // namespace stepc::onnx_import
