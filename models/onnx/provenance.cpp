#include "models/onnx/provenance.h"

#include <algorithm>

namespace stepc::onnx_import {

std::vector<std::string> python_strings(std::string_view text) {
  std::vector<std::string> strings;
  for (size_t i = 0; i < text.size(); ++i) {
    const char quote = text[i];
    if (quote != '\'' && quote != '"') continue;
    std::string& item = strings.emplace_back();
    for (++i; i < text.size() && text[i] != quote; ++i) {
      if (text[i] == '\\' && i + 1 < text.size()) ++i;
      item.push_back(text[i]);
    }
  }
  return strings;
}

std::string scope_in_name(std::string_view node_name) {
  const size_t last = node_name.rfind('/');
  if (last == std::string_view::npos) return {};
  std::string_view path = node_name.substr(0, last);
  while (!path.empty() && path.front() == '/') path.remove_prefix(1);
  std::string scope(path);
  std::replace(scope.begin(), scope.end(), '/', '.');
  return scope;
}

std::string scope_of(const onnx::NodeProto& node) {
  // From the root module inwards; the last entry is the operation itself.
  const std::vector<std::string> scopes = python_strings(metadata(node, "pkg.torch.onnx.name_scopes"));
  if (scopes.size() < 2) {
    const std::string inlined = metadata(node, kScopeKey);
    return inlined.empty() ? scope_in_name(node.name()) : inlined;
  }
  const std::string& module = scopes[scopes.size() - 2];
  return module.find("_empty_nn_module_stack") == std::string::npos ? module : std::string();
}

}  // namespace stepc::onnx_import
