#include "models/onnx/functions.h"

#include "ir/support/checked.h"
#include "ir/support/error.h"
#include "ir/support/quote.h"
#include "models/onnx/provenance.h"

#include <onnx/common/proto_util.h>
#include <onnx/inliner/inliner.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace stepc::onnx_import {
namespace {

// Functions may call functions, so a small file can describe an exponentially large graph.
constexpr int64_t kInlinedNodeLimit = 1'000'000;

// The inliner appends numbers to names; this keeps the name that a node is to have.
constexpr std::string_view kNameKey = "stepc.name";

using Functions = std::map<onnx::FunctionImplId, onnx::FunctionProto>;

template <typename Nodes, typename Visit>
void visit_nodes(Nodes& nodes, const Visit& visit) {
  for (int i = 0; i < nodes.size(); ++i) {
    visit(nodes[i], i);
    for (auto& attribute : *nodes[i].mutable_attribute()) {
      if (attribute.has_g()) visit_nodes(*attribute.mutable_g()->mutable_node(), visit);
      for (auto& body : *attribute.mutable_graphs()) visit_nodes(*body.mutable_node(), visit);
    }
  }
}

// The number of nodes after inlining. Calls between functions form no cycle: the checker saw to that.
class InlinedSize {
 public:
  explicit InlinedSize(const Functions& functions) : functions_(functions) {}

  int64_t of(const NodeList& nodes) {
    int64_t total = 0;
    for_each_node(nodes, [&](const onnx::NodeProto& node, int) { total = checked_add(total, of(node)); });
    return total;
  }

 private:
  int64_t of(const onnx::NodeProto& node) {
    const auto function = functions_.find(onnx::GetCalleeId(node));
    if (function == functions_.end()) return 1;
    if (const auto known = sizes_.find(function->first); known != sizes_.end()) return known->second;
    return sizes_[function->first] = of(function->second.node());
  }

  const Functions& functions_;
  std::map<onnx::FunctionImplId, int64_t> sizes_;
};

void set_metadata(onnx::NodeProto& node, std::string_view key, const std::string& value) {
  auto& entry = *node.add_metadata_props();
  entry.set_key(std::string(key));
  entry.set_value(value);
}

// Where a node ends up.
struct Place {
  std::string name;   // after those of its calls, outermost first, joined by slashes
  std::string scope;  // joined by dots
};

std::string joined(const std::string& a, std::string_view b, char separator) {
  if (a.empty() || b.empty()) return a + std::string(b);
  return a + separator + std::string(b);
}

std::string_view without_root(std::string_view name) {
  return name.substr(std::min(name.find_first_not_of('/'), name.size()));
}

// Gives each call a function of its own, an overload, whose nodes know their place. The inliner itself would forget it:
// all calls share one function, and its nodes are called alike.
class CallSites {
 public:
  CallSites(onnx::ModelProto& model, const Functions& functions) : model_(model), functions_(functions) {}

  void separate(NodeList& nodes, const Place* within) {
    visit_nodes(nodes, [&](onnx::NodeProto& node, int position) {
      const auto function = functions_.find(onnx::GetCalleeId(node));
      const Place place = place_of(node, position, within, function != functions_.end());
      if (function != functions_.end()) {
        onnx::FunctionProto copy = function->second;
        copy.set_overload(copy.overload() + "#" + std::to_string(++calls_));
        node.set_overload(copy.overload());
        separate(*copy.mutable_node(), &place);
        model_.add_functions()->Swap(&copy);
      } else if (within != nullptr) {
        set_metadata(node, kNameKey, place.name);
        set_metadata(node, kScopeKey, place.scope);
      }
    });
  }

 private:
  // A call that names no module is a module of its own.
  static Place place_of(const onnx::NodeProto& node, int position, const Place* within, bool is_call) {
    Place place{node_name(node, position), scope_of(node)};
    if (is_call && place.scope.empty()) place.scope = without_root(place.name);
    if (within == nullptr) return place;
    return {joined(within->name, without_root(place.name), '/'), joined(within->scope, place.scope, '.')};
  }

  onnx::ModelProto& model_;
  const Functions& functions_;
  int64_t calls_ = 0;
};

void take_names(NodeList& nodes) {
  visit_nodes(nodes, [](onnx::NodeProto& node, int) {
    if (std::string name = metadata(node, kNameKey); !name.empty()) node.set_name(std::move(name));
  });
}

}  // namespace

void inline_functions(onnx::ModelProto& model) {
  if (model.functions_size() == 0) return;
  Functions functions;
  for (auto& function : *model.mutable_functions())
    functions.emplace(onnx::GetFunctionImplId(function), std::move(function));
  model.clear_functions();
  NodeList& nodes = *model.mutable_graph()->mutable_node();
  if (const int64_t count = InlinedSize(functions).of(nodes); count > kInlinedNodeLimit)
    user_error("the model's functions expand to {} nodes (at most {})", count, kInlinedNodeLimit);
  CallSites(model, functions).separate(nodes, nullptr);
  try {
    onnx::inliner::InlineLocalFunctions(model, true);
  } catch (const std::exception& error) {
    user_error("functions cannot be inlined: {}", one_line(error.what()));
  }
  take_names(*model.mutable_graph()->mutable_node());
}

}  // namespace stepc::onnx_import
