#include "models/onnx/import.h"

#include "ir/support/quote.h"
#include "models/onnx/dims.h"
#include "models/onnx/element_types.h"
#include "models/onnx/fold.h"
#include "models/onnx/graph_importer.h"
#include "models/onnx/load.h"
#include "models/onnx/operators.h"
#include "models/onnx/weights.h"

#include <fmt/ranges.h>

#include <set>

namespace stepc {
namespace onnx_import {
namespace {

std::string producer_of(const onnx::ModelProto& proto) {
  return one_line(proto.producer_name() + (proto.producer_version().empty() ? "" : " " + proto.producer_version()),
                  120);
}

Dtype dtype_in_graph(int32_t element_type, bool compute_f32, const std::string& name) {
  const std::optional<Dtype> dtype = dtype_of(element_type);
  if (!dtype) user_error("{}: element type {} is not supported", in_quotes(name), element_type_name(element_type));
  return compute_f32 ? widened(*dtype) : *dtype;
}

// A constant where the caller gives the input's value, else an input.
ValueId input_value(Builder& builder, const ImportOptions& options, const std::string& name, const Type& type) {
  const auto given = options.constant_inputs.find(name);
  if (given == options.constant_inputs.end()) return builder.graph().add_input(type, InputRole::data, name);
  if (given->second.type() != type)
    user_error("{} is given as {} where {} is expected", in_quotes(name), to_string(given->second.type()),
               to_string(type));
  return builder.constant(given->second);
}

void add_inputs(const ModelFile& file, const ImportOptions& options, GraphImporter& importer, ImportedModel& model) {
  const std::vector<DeclaredInput> inputs = declared_inputs(file.graph());
  model.dims = options.dims;
  const std::vector<Shape> shapes = bind_dims(inputs, options.input_shapes, model.dims);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Dtype dtype = dtype_in_graph(inputs[i].element_type, options.compute_f32, inputs[i].name);
    importer.define(inputs[i].name, input_value(importer.b, options, inputs[i].name, Type{dtype, shapes[i]}));
  }
}

// Symbols of outputs are not bound: exporters name them freely.
void require_declared_shape(const onnx::ValueInfoProto& output, const Shape& computed) {
  if (!output.type().tensor_type().has_shape()) return;
  const std::vector<DeclaredDim> declared = declared_dims(output);
  bool agrees = declared.size() == computed.rank();
  for (size_t i = 0; agrees && i < declared.size(); ++i)
    agrees = declared[i].size < 0 || declared[i].size == computed[i];
  if (agrees) return;
  std::vector<std::string> dims;
  for (const DeclaredDim& dim : declared)
    dims.push_back(dim.size >= 0 ? std::to_string(dim.size) : one_line(dim.symbol, 160));
  user_error("output {} is declared [{}] but computed as {}", in_quotes(output.name()), fmt::join(dims, ","),
             to_string(computed));
}

void add_outputs(const ModelFile& file, const ImportOptions& options, const GraphImporter& importer, Graph& graph) {
  std::set<std::string> names;
  for (const auto& output : file.graph().output()) {
    const std::string name = in_quotes(output.name());
    if (!names.insert(output.name()).second) user_error("two outputs are called {}", name);
    const ValueId value = importer.output(output.name());
    if (output.type().has_tensor_type()) {
      const Dtype declared =
          dtype_in_graph(output.type().tensor_type().elem_type(), options.compute_f32, output.name());
      if (declared != graph.dtype(value))
        user_error("output {} is declared {} but computed as {}", name, dtype_onnx_name(declared),
                   dtype_onnx_name(graph.dtype(value)));
      require_declared_shape(output, graph.shape(value));
    }
    graph.add_output(value, OutputRole::output, output.name());
  }
  if (graph.outputs().empty()) user_error("the model has no outputs");
}

ImportedModel import_model(const std::string& path, const ImportOptions& options) {
  const auto file = std::make_shared<ModelFile>(path);
  if (const auto unsupported = unsupported_operators(file->graph()); !unsupported.empty())
    user_error("{}", describe(unsupported));

  ImportedModel model;
  model.file = file;
  model.opset = file->opset("");
  model.producer = producer_of(file->proto());
  model.weights_present = file->weights_present();
  model.graph.name = one_line(file->graph().name(), 120);

  Builder builder(model.graph);
  GraphImporter importer(*file, file->reader(), builder, model.notes);
  importer.dropout = options.dropout;
  importer.compute_f32 = options.compute_f32;
  add_inputs(*file, options, importer, model);
  Weights weights(*file, options);
  const std::vector<ValueId> values = weights.add_to(builder);
  for (size_t i = 0; i < values.size(); ++i) importer.define(file->initializers()[i].name, values[i]);
  importer.lower_nodes(file->graph());
  add_outputs(*file, options, importer, model.graph);

  erase_unused(model.graph);
  weights.settle(model.graph);
  weights.add_notes(model.notes);
  model.initializers = weights.describe();
  return model;
}

ModelSurvey::Tensor describe_value(const onnx::ValueInfoProto& value) {
  const std::optional<Dtype> dtype = dtype_of(value.type().tensor_type().elem_type());
  ModelSurvey::Tensor tensor{
      one_line(value.name(), 160),
      dtype ? std::string(dtype_onnx_name(*dtype)) : element_type_name(value.type().tensor_type().elem_type()),
      {}};
  for (const DeclaredDim& dim : declared_dims(value))
    tensor.shape.push_back(dim.size >= 0 ? std::to_string(dim.size) : one_line(dim.symbol, 160));
  return tensor;
}

ModelSurvey survey_model(const std::string& path) {
  ModelFile file(path);
  ModelSurvey survey;
  survey.producer = producer_of(file.proto());
  survey.opsets = file.opsets();
  survey.weights_present = file.weights_present();
  std::set<std::string> inputs;
  for (const DeclaredInput& input : declared_inputs(file.graph())) {
    inputs.insert(input.name);
    for (const DeclaredDim& dim : input.dims)
      if (dim.size < 0 && std::find(survey.symbols.begin(), survey.symbols.end(), dim.symbol) == survey.symbols.end())
        survey.symbols.push_back(dim.symbol);
  }
  for (const auto& value : file.graph().input())
    if (inputs.count(value.name()) != 0) survey.inputs.push_back(describe_value(value));
  for (const auto& value : file.graph().output()) survey.outputs.push_back(describe_value(value));
  for (const StoredTensor& tensor : file.initializers()) {
    ModelSurvey::Tensor& entry = survey.initializers.emplace_back();
    entry.name = tensor.name;
    entry.dtype = dtype_onnx_name(tensor.type.dtype);
    for (const int64_t dim : tensor.type.shape) entry.shape.push_back(std::to_string(dim));
  }
  for (const auto& node : file.graph().node()) ++survey.operators[operator_name(node)];
  if (const auto unsupported = unsupported_operators(file.graph()); !unsupported.empty())
    survey.unsupported = describe(unsupported);
  return survey;
}

// Every error of an import says which file it is about.
template <typename Function>
auto with_path(const std::string& path, const Function& function) {
  try {
    return function();
  } catch (const UserError& error) {
    user_error("{}: {}", one_line(path, 300), error.what());
  } catch (const std::bad_alloc&) {
    user_error("{}: the model needs more memory than there is", one_line(path, 300));
  }
}

}  // namespace
}  // namespace onnx_import

ImportedModel import_onnx(const std::string& path, const ImportOptions& options) {
  return onnx_import::with_path(path, [&] { return onnx_import::import_model(path, options); });
}

ModelSurvey survey_onnx(const std::string& path) {
  return onnx_import::with_path(path, [&] { return onnx_import::survey_model(path); });
}

}  // namespace stepc
