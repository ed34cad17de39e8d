#include "models/onnx/parameter_names.h"

#include "models/onnx/provenance.h"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

namespace stepc::onnx_import {
namespace {

struct SignatureEntry {
  ParameterKind kind = ParameterKind::unknown;
  std::string target;  // the parameter's name in the module
};
using Signature = std::map<std::string, SignatureEntry>;  // by the name in the exported program

ParameterKind kind_of(std::string_view text) {
  if (text == "PARAMETER") return ParameterKind::parameter;
  return text == "BUFFER" || text == "CONSTANT_TENSOR" ? ParameterKind::buffer : ParameterKind::unknown;
}

// Lines such as "p_emb_weight: PARAMETER target='emb.weight'".
Signature parse_signature(const onnx::GraphProto& graph) {
  Signature signature;
  std::istringstream lines(metadata(graph, "pkg.torch.export.ExportedProgram.graph_signature"));
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(": ");
    const size_t target = line.find(" target='");
    if (colon == std::string::npos || target == std::string::npos || target < colon) continue;
    const ParameterKind kind = kind_of(std::string_view(line).substr(colon + 2, target - colon - 2));
    const std::vector<std::string> names = python_strings(std::string_view(line).substr(target));
    if (kind != ParameterKind::unknown && !names.empty()) signature[line.substr(0, colon)] = {kind, names.front()};
  }
  return signature;
}

// The signature's entries among the arguments (`%name`) of the calls that the readers stem from, in order.
std::vector<SignatureEntry> call_arguments(const std::vector<Reader>& readers, const Signature& signature) {
  std::vector<SignatureEntry> found;
  std::set<std::string> seen;
  for (const Reader& reader : readers) {
    const std::string call = metadata(*reader.node, "pkg.torch.onnx.fx_node");
    for (size_t at = call.find('%'); at != std::string::npos; at = call.find('%', at + 1)) {
      const size_t end =
          call.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", at + 1);
      const std::string name = call.substr(at + 1, end == std::string::npos ? end : end - at - 1);
      const auto entry = signature.find(name);
      if (entry != signature.end() && seen.insert(name).second) found.push_back(entry->second);
    }
  }
  return found;
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return text.starts_with(p); });
}

class Identifier {
 public:
  Identifier(const onnx::GraphProto& graph, const Readers& readers)
      : readers_(readers), signature_(parse_signature(graph)) {
    for (const auto& value : graph.value_info()) infos_[value.name()] = &value;
    for (const auto& tensor : graph.initializer()) names_.insert(tensor.name());
    for (const auto& [name, entry] : signature_) kinds_[entry.target] = entry.kind;
  }

  ParameterIdentity identify(const std::string& initializer) const {
    ParameterIdentity identity{initializer, ParameterKind::unknown, false, {}};
    if (const auto info = infos_.find(initializer); info != infos_.end()) {
      const std::string kind = metadata(*info->second, "pkg.torch.export.graph_signature.InputSpec.kind");
      identity.kind = kind_of(kind);
      if (identity.kind != ParameterKind::unknown) return identity;
    }
    const auto found = readers_.find(initializer);
    if (found == readers_.end()) return identity;
    if (!signature_.empty())
      from_export(initializer, found->second, identity);
    else if (initializer.starts_with("onnx::"))
      from_node_names(found->second, identity);
    identity.recovered = identity.name != initializer;
    return identity;
  }

 private:
  std::vector<std::string> folded_from(const std::string& initializer) const {
    const auto info = infos_.find(initializer);
    if (info == infos_.end()) return {};
    return python_strings(metadata(*info->second, "pkg.onnxscript.optimizer.folded_from"));
  }

  void from_export(const std::string& initializer, const std::vector<Reader>& readers,
                   ParameterIdentity& identity) const {
    const std::vector<std::string> sources = folded_from(initializer);
    const std::optional<SignatureEntry> argument = matching_argument(sources, call_arguments(readers, signature_));
    if (argument) {
      identity.name = argument->target;
      identity.kind = argument->kind;
      return;
    }
    std::vector<std::string> parameters;
    bool buffers = false;
    for (const std::string& source : sources) {
      const auto kind = kinds_.find(source);
      if (kind == kinds_.end()) continue;
      if (kind->second == ParameterKind::parameter) parameters.push_back(source);
      buffers = buffers || kind->second == ParameterKind::buffer;
    }
    // A cast changes no value: fp16 and bf16 models keep their norm weights in another dtype.
    const bool only_cast = starts_with_any(initializer, {"convert_element_type", "_to_copy"}) && sources.size() == 1;
    if (!parameters.empty()) identity.kind = ParameterKind::parameter;
    if (parameters.size() == 1 && only_cast)
      identity.name = parameters.front();
    else if (!parameters.empty())
      identity.derived_from = parameters.front();
    else if (!sources.empty())
      identity.kind = buffers ? ParameterKind::buffer : ParameterKind::constant;
  }

  // The argument of the call that the tensor stands for. A linear layer names weight and bias: the optimizer's note on
  // what the tensor was folded from decides, else that the other one is still in the file under its own name.
  std::optional<SignatureEntry> matching_argument(const std::vector<std::string>& sources,
                                                  std::vector<SignatureEntry> arguments) const {
    if (sources.size() > 1) return std::nullopt;
    std::erase_if(arguments, [&](const SignatureEntry& entry) {
      return sources.empty() ? names_.count(entry.target) != 0 : entry.target != sources.front();
    });
    if (arguments.size() != 1) return std::nullopt;
    return arguments.front();
  }

  static void from_node_names(const std::vector<Reader>& readers, ParameterIdentity& identity) {
    for (const Reader& reader : readers) {
      const std::string& op = reader.node->op_type();
      const std::string& node = reader.node->name();
      const bool weight = reader.operand == 1 && (op == "MatMul" || op == "Gemm" || op == "Conv");
      const size_t last = node.rfind('/');
      if (!weight || last == std::string::npos || !std::string_view(node).substr(last + 1).starts_with(op)) continue;
      const std::string scope = scope_of(*reader.node);
      if (scope.empty()) continue;
      identity.name = scope + ".weight";
      return;
    }
  }

  const Readers& readers_;
  Signature signature_;
  std::map<std::string, const onnx::ValueInfoProto*> infos_;
  std::set<std::string> names_;
  std::map<std::string, ParameterKind> kinds_;  // by name in the module
};

}  // namespace

Readers readers_of_initializers(const onnx::GraphProto& graph) {
  std::map<std::string, std::string> source;  // value → the initializer that it is
  for (const auto& tensor : graph.initializer()) source[tensor.name()] = tensor.name();
  Readers readers;
  for (const auto& node : graph.node()) {
    for (int i = 0; i < node.input_size(); ++i) {
      const auto found = source.find(node.input(i));
      if (found == source.end()) continue;
      const std::string initializer = found->second;
      if (node.op_type() == "Identity" && node.domain().empty() && node.output_size() == 1)
        source[node.output(0)] = initializer;
      else
        readers[initializer].push_back({&node, i});
    }
  }
  return readers;
}

std::vector<ParameterIdentity> identify_parameters(const onnx::GraphProto& graph, const Readers& readers) {
  const Identifier identifier(graph, readers);
  std::vector<ParameterIdentity> identities;
  for (const auto& tensor : graph.initializer()) identities.push_back(identifier.identify(tensor.name()));
  return identities;
}

}  // namespace stepc::onnx_import
