#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stepc::zoo {

using Attribute = std::variant<int64_t, float, std::string, std::vector<int64_t>>;
using Attributes = std::vector<std::pair<std::string, Attribute>>;

// A dimension: a size, or the symbol "batch".
struct Dim {
  int64_t size = -1;  // -1: batch
};
constexpr Dim kBatch{};

// Builds an ONNX model node by node. Nodes are named by their scope, "/blocks.3/attn/q/MatMul", as exporters do; that
// is where scopes in reports come from. Parameters are declared without payload.
class OnnxWriter {
 public:
  OnnxWriter(const std::string& name, int64_t opset);

  std::string input(const std::string& name, onnx::TensorProto::DataType type, const std::vector<Dim>& dims);
  void output(const std::string& value, const std::string& name, const std::vector<Dim>& dims);
  // A float32 initializer; the same name twice is the same parameter (tied).
  std::string parameter(const std::string& name, const std::vector<int64_t>& dims);
  std::string integers(const std::vector<int64_t>& values);  // a constant [n]
  std::string integer(int64_t value);                        // a constant scalar
  std::string reals(const std::vector<float>& values);       // a constant [n]
  std::string real(float value);                             // a constant scalar

  // Adds a node and returns its first output, or all of them.
  std::string node(const std::string& scope, const std::string& op, const std::vector<std::string>& inputs,
                   const Attributes& attributes = {});
  std::vector<std::string> nodes(const std::string& scope, const std::string& op,
                                 const std::vector<std::string>& inputs, int outputs,
                                 const Attributes& attributes = {});

  onnx::ModelProto& model() { return model_; }
  const onnx::ModelProto& model() const { return model_; }

 private:
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  std::string constant(onnx::TensorProto tensor);

  onnx::ModelProto model_;
  int64_t next_ = 0;
};

}  // namespace stepc::zoo
