#pragma once

#include "ir/graph.h"

#include <string>

namespace stepc {

// Writes any stage of a graph as an ONNX file to look at. Operations that ONNX has are its own, all others belong to a
// domain `stepc` with their attributes; fused nodes have their body as a subgraph. Each node's metadata has its phase,
// scope and ONNX names. Weights are inputs without payload, constants over 64 KiB have none either.
void dump_onnx(const Graph& graph, const std::string& path);

}  // namespace stepc
