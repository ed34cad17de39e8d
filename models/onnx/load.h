#pragma once

#include "models/onnx/tensors.h"

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stepc::onnx_import {

// The folder that external data of a model lies in.
std::string folder_of(const std::string& path);

// The message as it is in the file, to be changed and written again: tensors in attributes are brought into it, those
// of initializers stay where they are. Throws UserError where the file is no model.
onnx::ModelProto read_message(const std::string& path, TensorReader& reader);

// An initializer of the main graph.
struct StoredTensor {
  std::string name;
  Type type;                       // as in the file
  std::optional<TensorView> data;  // absent in a model without weights
  const onnx::TensorProto* proto = nullptr;
};

// A model as it came from its file, checked: names, order and arity are right (onnx::checker), payloads fit their
// types, functions are inlined, the default domain is spelled "". Tensor views point into this object, which does not
// move.
class ModelFile {
 public:
  // Throws UserError for everything that is not a valid model.
  explicit ModelFile(const std::string& path);
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;

  // The graph's initializers are stand-ins without payload there: see `initializers`.
  const onnx::ModelProto& proto() const { return proto_; }
  const onnx::GraphProto& graph() const { return proto_.graph(); }
  const std::vector<StoredTensor>& initializers() const { return initializers_; }  // in file order
  bool weights_present() const { return weights_present_; }
  // The declared version of a domain, 0 when it is not imported.
  int64_t opset(const std::string& domain) const;
  const std::map<std::string, int64_t>& opsets() const { return opsets_; }
  TensorReader& reader() { return reader_; }

 private:
  void read_opsets();
  void take_initializers();
  void expand_functions();

  onnx::ModelProto proto_;
  std::vector<onnx::TensorProto> payloads_;
  TensorReader reader_;
  std::vector<StoredTensor> initializers_;
  std::map<std::string, int64_t> opsets_;
  bool weights_present_ = true;
};

}  // namespace stepc::onnx_import
