#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <vector>

namespace stepc::onnx_import {

// One operand position of a node that reads an initializer, directly or through Identity nodes.
struct Reader {
  const onnx::NodeProto* node = nullptr;
  int operand = 0;
};
using Readers = std::map<std::string, std::vector<Reader>>;  // by initializer, in node order

Readers readers_of_initializers(const onnx::GraphProto& graph);

enum class ParameterKind : uint8_t { unknown, parameter, buffer, constant };

// What an initializer was in the model before the exporter saw it.
struct ParameterIdentity {
  std::string name;  // "blocks.0.attn.wq.weight"; the initializer's own name where nothing better is known
  ParameterKind kind = ParameterKind::unknown;
  bool recovered = false;  // `name` is not the initializer's
  std::string
      derived_from;  // the parameter that the exporter computed this tensor from (1 + w, w[:n], ...), else empty
};

// Exporters transpose the weights of linear layers and lose their names. Two kinds of trace are left:
// - torch.export writes the call of each node with its parameters (`%p_blocks_0_wq_weight`) and the graph's signature,
//   which maps those to names;
// - TorchScript names nodes after their module (`/blocks.0/wq/MatMul`), whose weight it then is.
// A name that would be given to different tensors is given to none: `drop_ambiguous_names` needs the payloads for that.
std::vector<ParameterIdentity> identify_parameters(const onnx::GraphProto& graph, const Readers& readers);

}  // namespace stepc::onnx_import
