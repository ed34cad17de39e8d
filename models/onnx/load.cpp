#include "models/onnx/load.h"

#include "ir/support/checked.h"
#include "ir/support/error.h"
#include "ir/support/quote.h"
#include "models/onnx/functions.h"
#include "models/onnx/mapped_file.h"
#include "models/onnx/operators.h"

#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>
#include <onnx/checker.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>

namespace stepc::onnx_import {
namespace {

constexpr int64_t kOldestOpset = 7;   // before it, broadcasting was an attribute
constexpr int64_t kNewestOpset = 28;  // what the ONNX library of this build knows
// Protobuf refuses larger messages, and so much may be copied out of external files into attributes.
constexpr int64_t kMessageLimit = std::numeric_limits<int32_t>::max();

// Names reach text, JSON and other files, so they must be UTF-8. Documentation is not read.
void require_utf8(const google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const auto* field : fields) {
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
        require_utf8(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                          : reflection.GetMessage(message, field));
      } else if (field->type() == google::protobuf::FieldDescriptor::TYPE_STRING && field->name() != "doc_string") {
        const std::string text = field->is_repeated() ? reflection.GetRepeatedString(message, field, i)
                                                      : reflection.GetString(message, field);
        if (!is_utf8(text)) user_error("{} {} is not UTF-8", field->name(), in_quotes(text));
      } else {
        break;
      }
    }
  }
}

onnx::ModelProto parse(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.empty()) user_error("the file is empty");
  if (static_cast<int64_t>(bytes.size()) > kMessageLimit)
    user_error("the file has {} bytes, more than an ONNX model can (2 GiB): export with external data", bytes.size());
  onnx::ModelProto proto;
  const google::protobuf::LogSilencer silencer;  // our message says it in one line
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    user_error("not an ONNX model, or a truncated or damaged one: it does not parse");
  if (!proto.has_graph()) user_error("not an ONNX model: it has no graph");
  require_utf8(proto);
  return proto;
}

// "" and "ai.onnx" are the same domain.
void normalize_domain(std::string& domain) {
  if (domain == "ai.onnx") domain.clear();
}

template <typename Nodes>
void normalize_domains(Nodes& nodes) {
  for (auto& node : nodes) {
    if (!node.domain().empty()) normalize_domain(*node.mutable_domain());
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) normalize_domains(*attribute.mutable_g()->mutable_node());
      for (auto& body : *attribute.mutable_graphs()) normalize_domains(*body.mutable_node());
    }
  }
}

using VisitTensor = std::function<void(onnx::TensorProto&)>;

template <typename Nodes>
void visit_attribute_tensors(Nodes& nodes, const VisitTensor& visit) {
  const auto visit_body = [&](onnx::GraphProto& body) {
    for (auto& initializer : *body.mutable_initializer()) visit(initializer);
    visit_attribute_tensors(*body.mutable_node(), visit);
  };
  for (auto& node : nodes) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) visit(*attribute.mutable_t());
      for (auto& tensor : *attribute.mutable_tensors()) visit(tensor);
      if (attribute.has_g()) visit_body(*attribute.mutable_g());
      for (auto& body : *attribute.mutable_graphs()) visit_body(body);
    }
  }
}

// Tensors in attributes are small as a rule; external ones are brought into the message, so that nobody after this
// needs to know.
void embed_attribute_tensors(onnx::ModelProto& model, ExternalData& external) {
  int64_t copied = 0;
  const VisitTensor embed = [&](onnx::TensorProto& tensor) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
    const int64_t bytes = type_of(tensor).bytes();
    const std::span<const std::byte> payload = external.read(tensor, bytes);
    copied = checked_add(copied, bytes);
    if (copied > kMessageLimit) user_error("the tensors in node attributes exceed {} bytes", kMessageLimit);
    tensor.clear_external_data();
    tensor.clear_data_location();
    if (bytes > 0) tensor.set_raw_data(payload.data(), payload.size());
  };
  visit_attribute_tensors(*model.mutable_graph()->mutable_node(), embed);
  for (auto& function : *model.mutable_functions()) visit_attribute_tensors(*function.mutable_node(), embed);
}

bool says_no_weights(const onnx::ModelProto& model) {
  return std::any_of(model.metadata_props().begin(), model.metadata_props().end(),
                     [](const auto& entry) { return entry.key() == "stepc.weights" && entry.value() == "none"; });
}

std::vector<std::string> function_names(const onnx::ModelProto& model) {
  std::vector<std::string> names;
  for (const auto& function : model.functions()) names.push_back(function.domain() + "." + function.name());
  return names;
}

void check(const onnx::ModelProto& model) {
  try {
    onnx::checker::check_model(model);
  } catch (const std::exception& error) {
    std::string text = error.what();
    if (const size_t context = text.find("==> Context:"); context != std::string::npos) text.resize(context);
    user_error("not a valid ONNX model: {}", one_line(text));
  }
}

}  // namespace

std::string folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

onnx::ModelProto read_message(const std::string& path, TensorReader& reader) {
  onnx::ModelProto model = parse(path);
  embed_attribute_tensors(model, reader.external());
  return model;
}

ModelFile::ModelFile(const std::string& path) : proto_(parse(path)), reader_(folder_of(path)) {
  normalize_domains(*proto_.mutable_graph()->mutable_node());
  for (auto& function : *proto_.mutable_functions()) normalize_domains(*function.mutable_node());
  read_opsets();
  if (proto_.graph().sparse_initializer_size() > 0) user_error("sparse initializers are not supported");
  require_declared_operators(proto_.graph().node(), opsets_, function_names(proto_));
  embed_attribute_tensors(proto_, reader_.external());
  take_initializers();
  if (has_unknown_standard_operators(proto_.graph())) return;
  check(proto_);
  expand_functions();
}

int64_t ModelFile::opset(const std::string& domain) const {
  const auto found = opsets_.find(domain);
  return found == opsets_.end() ? 0 : found->second;
}

void ModelFile::read_opsets() {
  for (auto& import : *proto_.mutable_opset_import()) {
    normalize_domain(*import.mutable_domain());
    if (!opsets_.emplace(import.domain(), import.version()).second)
      user_error("opset_import has domain {} twice", in_quotes(import.domain()));
  }
  for (auto& function : *proto_.mutable_functions())
    for (auto& import : *function.mutable_opset_import()) normalize_domain(*import.mutable_domain());
  const int64_t version = opset("");
  if (opsets_.empty()) user_error("the model declares no opset");
  // A model of other domains alone needs none of the ONNX domain; where it is needed, the checker misses it.
  if (version != 0 && (version < kOldestOpset || version > kNewestOpset))
    user_error("opset {} is not supported (supported: {} to {})", version, kOldestOpset, kNewestOpset);
}

// Moves the payloads out of the message, so that checking and inlining neither copy nor read them.
void ModelFile::take_initializers() {
  auto& stored = *proto_.mutable_graph()->mutable_initializer();
  payloads_.reserve(static_cast<size_t>(stored.size()));
  std::set<std::string> names;
  bool absent = false;
  for (auto& tensor : stored) {
    if (tensor.name().empty()) user_error("an initializer has no name");
    if (!names.insert(tensor.name()).second) user_error("two initializers are called {}", in_quotes(tensor.name()));
    onnx::TensorProto& payload = payloads_.emplace_back();
    payload.Swap(&tensor);
    tensor.set_name(payload.name());
    tensor.set_data_type(payload.data_type());
    tensor.add_dims(0);
    StoredTensor entry{payload.name(), type_of(payload), std::nullopt, &payload};
    if (payload.data_location() == onnx::TensorProto::EXTERNAL && external_location(payload) == kNoWeightsLocation)
      absent = true;
    else
      entry.data = reader_.read(payload);
    initializers_.push_back(std::move(entry));
  }
  if (absent != says_no_weights(proto_))
    user_error(
        "the location '{}' and the metadata stepc.weights=none mean a model without weights only together: the "
        "{} is missing",
        kNoWeightsLocation, absent ? "metadata" : "location");
  weights_present_ = !absent;
}

void ModelFile::expand_functions() {
  inline_functions(proto_);
  try {
    expand_schema_functions(proto_, opsets_);
  } catch (const std::exception& error) {
    user_error("functions cannot be inlined: {}", one_line(error.what()));
  }
  require_declared_operators(proto_.graph().node(), opsets_, function_names(proto_));
}

}  // namespace stepc::onnx_import
