#include "models/onnx/operators.h"

#include "ir/support/error.h"
#include "ir/support/quote.h"
#include "models/onnx/rules.h"

#include <fmt/ranges.h>
#include <onnx/defs/schema.h>
#include <onnx/inliner/inliner.h>

#include <algorithm>
#include <set>

namespace stepc::onnx_import {
namespace {

constexpr size_t kNamedNodes = 3;

struct Occurrences {
  int64_t count = 0;
  std::vector<std::string> nodes;

  void add(const std::string& node) {
    if (nodes.size() < kNamedNodes) nodes.push_back(node);
    ++count;
  }
};

std::string describe_nodes(int64_t count, const std::vector<std::string>& nodes) {
  std::vector<std::string> shown;
  for (const std::string& node : nodes) shown.push_back(in_quotes(node));
  return fmt::format("{} {}: {}{}", count, count == 1 ? "node" : "nodes", fmt::join(shown, ", "),
                     static_cast<size_t>(count) > nodes.size() ? ", ..." : "");
}

int64_t declared(const Opsets& opsets, const std::string& domain) {
  const auto found = opsets.find(domain);
  return found == opsets.end() ? 0 : found->second;
}

const onnx::OpSchema* schema_of(const onnx::NodeProto& node, int64_t version) {
  return onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(version), node.domain());
}

// The first version of the domain after `version` that has the operator; 0 when none has.
int64_t first_version_after(const onnx::NodeProto& node, int64_t version) {
  const onnx::OpSchema* newest = onnx::OpSchemaRegistry::Schema(node.op_type(), node.domain());
  if (newest == nullptr) return 0;
  for (int64_t v = version + 1; v <= newest->SinceVersion(); ++v)
    if (schema_of(node, v) != nullptr) return v;
  return 0;
}

// What the declared opset has against a node: "" when nothing.
std::string complaint(const onnx::NodeProto& node, int64_t version) {
  const onnx::OpSchema* schema = schema_of(node, version);
  if (schema != nullptr) return schema->Deprecated() ? fmt::format("removed in opset {}", schema->SinceVersion()) : "";
  const int64_t needed = first_version_after(node, version);
  return needed == 0 ? "" : fmt::format("needs opset {}", needed);
}

std::string_view why_unsupported(const onnx::NodeProto& node) {
  const std::string& op = node.op_type();
  if (node.domain().empty() && (op == "Loop" || op == "Scan"))
    return "loops have no static graph, export with the loop unrolled";
  if (onnx::OpSchemaRegistry::Schema(op, node.domain()) == nullptr)
    return "what the ONNX standard does not define comes from a runtime's optimizer, export without it";
  return {};
}

// `If` is resolved by the importer itself.
bool supported(const onnx::NodeProto& node) {
  return (node.domain().empty() && node.op_type() == "If") || find_rule(node.domain(), node.op_type()) != nullptr;
}

}  // namespace

std::string operator_name(const onnx::NodeProto& node) {
  return one_line(node.domain().empty() ? node.op_type() : node.domain() + "." + node.op_type(), 120);
}

std::string node_name(const onnx::NodeProto& node, int position) {
  return node.name().empty() ? fmt::format("{}_{}", node.op_type(), position) : node.name();
}

void for_each_node(const NodeList& nodes, const std::function<void(const onnx::NodeProto&, int)>& visit) {
  for (int i = 0; i < nodes.size(); ++i) {
    visit(nodes[i], i);
    for (const auto& attribute : nodes[i].attribute()) {
      if (attribute.has_g()) for_each_node(attribute.g().node(), visit);
      for (const auto& body : attribute.graphs()) for_each_node(body.node(), visit);
    }
  }
}

void require_declared_operators(const NodeList& nodes, const Opsets& opsets,
                                const std::vector<std::string>& functions) {
  std::map<std::string, std::pair<std::string, Occurrences>> wrong;  // by operator: the complaint and who has it
  for_each_node(nodes, [&](const onnx::NodeProto& node, int position) {
    const int64_t version = declared(opsets, node.domain());
    const std::string function = node.domain() + "." + node.op_type();
    if (version == 0 || std::find(functions.begin(), functions.end(), function) != functions.end()) return;
    const std::string problem = complaint(node, version);
    if (problem.empty()) return;
    auto& [text, where] = wrong[operator_name(node)];
    text = fmt::format("{} (declared {})", problem, version);
    where.add(node_name(node, position));
  });
  if (wrong.empty()) return;
  std::vector<std::string> lines;
  for (const auto& [name, entry] : wrong)
    lines.push_back(
        fmt::format("{} {}, {}", name, entry.first, describe_nodes(entry.second.count, entry.second.nodes)));
  user_error("the model uses operators that its declared opset does not have: {}; export again with that opset",
             fmt::join(lines, "; "));
}

bool has_unknown_standard_operators(const onnx::GraphProto& graph) {
  return std::any_of(graph.node().begin(), graph.node().end(), [](const onnx::NodeProto& node) {
    const bool standard = node.domain().empty() || node.domain().starts_with("ai.onnx.");
    return standard && onnx::OpSchemaRegistry::Schema(node.op_type(), node.domain()) == nullptr;
  });
}

std::vector<UnsupportedOperator> unsupported_operators(const onnx::GraphProto& graph) {
  std::map<std::string, UnsupportedOperator> found;
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    if (supported(node)) continue;
    UnsupportedOperator& entry = found[operator_name(node)];
    entry.name = operator_name(node);
    entry.reason = why_unsupported(node);
    if (entry.nodes.size() < kNamedNodes) entry.nodes.push_back(node_name(node, i));
    ++entry.count;
  }
  std::vector<UnsupportedOperator> result;
  for (auto& [name, entry] : found) result.push_back(std::move(entry));
  return result;
}

std::string describe(const std::vector<UnsupportedOperator>& operators) {
  std::vector<std::string> lines;
  std::set<std::string> reasons;
  for (const UnsupportedOperator& entry : operators) {
    lines.push_back(fmt::format("{} ({})", entry.name, describe_nodes(entry.count, entry.nodes)));
    if (!entry.reason.empty()) reasons.insert(entry.reason);
  }
  return fmt::format("unsupported {}: {}{}{}", operators.size() == 1 ? "operator" : "operators", fmt::join(lines, ", "),
                     reasons.empty() ? "" : "; ", fmt::join(reasons, "; "));
}

void expand_schema_functions(onnx::ModelProto& model, const Opsets& opsets) {
  // A body may use such operators itself; the standard's functions nest a few levels deep.
  for (int level = 0; level < 4; ++level) {
    std::map<std::string, onnx::inliner::FunctionId> wanted;
    for (const auto& node : model.graph().node()) {
      if (supported(node)) continue;
      const onnx::OpSchema* schema = schema_of(node, declared(opsets, node.domain()));
      if (schema != nullptr && schema->HasFunction()) wanted[operator_name(node)] = {node.domain(), node.op_type()};
    }
    if (wanted.empty()) return;
    onnx::inliner::FunctionIdVector ids;
    for (const auto& [name, id] : wanted) ids.push_back(id);
    onnx::inliner::InlineSelectedFunctions(model, *onnx::inliner::FunctionIdSet::Create(std::move(ids)), nullptr);
  }
}

}  // namespace stepc::onnx_import
