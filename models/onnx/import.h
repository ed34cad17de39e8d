#pragma once

#include "ir/graph.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stepc {

struct ImportOptions {
  std::map<std::string, int64_t> dims{};            // sizes of symbolic dimensions
  std::map<std::string, Dims> input_shapes{};       // shapes of the data by input name: they bind dimensions too
  std::map<std::string, Tensor> constant_inputs{};  // inputs that are constants of the graph, with their values
  std::vector<std::string> trainable{};  // globs over initializer names: exactly these train, when any are given
  std::vector<std::string> frozen{};     // globs over initializer names: these do not
  bool dropout = false;                  // Dropout nodes are random masks, else identities
  bool compute_f32 = true;               // float16 and bfloat16 of the file become float32 in the graph
};

// An initializer of the file, in file order.
struct Initializer {
  std::string initializer;  // its name in the file
  std::string name;         // the name that its exporter lost, or the same; unique unless tied
  Type type;                // in the graph; the shape is that of the file
  bool trainable = false;
  std::string reason;              // why it is trained, or is not
  std::string tied_to;             // initializer whose weight it shares, else empty
  bool transposed = false;         // with tied_to: it holds the transpose
  std::optional<TensorView> data;  // in the file's dtype; absent in a model without weights
};

// A model as a forward graph: inputs with role `data` under their names, weights with their recovered names (several
// tied initializers make one weight), outputs under their names. Small constants are part of the graph; the payloads of
// weights stay in the mapped file, which this object owns.
struct ImportedModel {
  Graph graph;
  std::vector<Initializer> initializers;
  std::map<std::string, int64_t> dims;  // what the symbolic dimensions are
  int64_t opset = 0;
  std::string producer;
  std::vector<std::string> notes;    // what the user should know, one line each
  bool weights_present = true;       // false: shapes only
  std::shared_ptr<const void> file;  // keeps Initializer::data alive
};

// Throws UserError, one line, for everything that is not a valid, supported model of bound shape.
ImportedModel import_onnx(const std::string& path, const ImportOptions& options = {});

// What `inspect` shows of a model without binding its dimensions.
struct ModelSurvey {
  struct Tensor {
    std::string name;
    std::string dtype;               // ONNX name: "float32"
    std::vector<std::string> shape;  // sizes and symbols
  };
  std::string producer;
  std::map<std::string, int64_t> opsets;  // by domain, "" is ai.onnx
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<Tensor> initializers;
  std::map<std::string, int64_t> operators;  // how often each occurs
  std::vector<std::string> symbols;          // symbolic dimensions of the inputs, to be bound
  std::string unsupported;                   // all unsupported operators in one line; empty when there are none
  bool weights_present = true;
};

ModelSurvey survey_onnx(const std::string& path);

}  // namespace stepc
