#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <string_view>
#include <vector>

namespace stepc::onnx_import {

// Metadata of a node, graph or value; "" when the key is absent.
template <typename Message>
std::string metadata(const Message& message, std::string_view key) {
  for (const auto& entry : message.metadata_props())
    if (entry.key() == key) return entry.value();
  return {};
}

// The strings of a list that Python printed: "['', 'blocks.0']".
std::vector<std::string> python_strings(std::string_view text);

// Metadata of a node that was inlined: the scope of its calls (functions.h).
constexpr std::string_view kScopeKey = "stepc.scope";

// The module that a node belongs to ("blocks.0.attn"), as its exporter recorded it: name scopes in the metadata
// (torch.export), or a path in the node's name ("/blocks.0/attn/MatMul"; TorchScript and others) or in those of the
// calls that it comes from. "" when unknown.
std::string scope_of(const onnx::NodeProto& node);

// The scope in a node's name alone.
std::string scope_in_name(std::string_view node_name);

}  // namespace stepc::onnx_import
