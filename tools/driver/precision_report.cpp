#include "tools/driver/precision_report.h"

#include "ir/einsum.h"
#include "ir/op_def.h"
#include "tools/driver/text_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <array>
#include <map>
#include <tuple>

namespace stepc {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 5> kClassNames{"weights", "gradients", "optimizer", "activations", "temporaries"};
constexpr std::array<char, 5> kClassLetters{'W', 'G', 'O', 'A', 'T'};

bool takes_products(const Node& node) {
  if (op_def(node.op).kind == OpKind::contraction) return true;
  switch (node.op) {
    case Op::attention:
    case Op::attention_backward:
    case Op::linear_cross_entropy:
    case Op::linear_cross_entropy_backward: return true;
    default: return false;
  }
}

std::string operands_of(const Graph& graph, const Node& node) {
  if (node.op == Op::contraction && allows_tf32(node.attrs)) return "tf32";
  return std::string(dtype_onnx_name(graph.dtype(node.inputs[0])));
}

Dtype sums_of(const Graph& graph, const Node& node) {
  const Dtype operands = graph.dtype(node.inputs[0]);
  if (node.op != Op::contraction) return statistics_dtype(operands);
  return operands == Dtype::f64 ? Dtype::f64 : node.attrs.dtype("accumulate");
}

// Of the nodes and of those in bodies.
void count_products(const Graph& graph,
                    std::map<std::tuple<std::string, std::string, Dtype>, std::pair<int64_t, int64_t>>& counts) {
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
    const Node& node = graph.node(id);
    if (node.body) count_products(*node.body, counts);
    if (!takes_products(node) || !is_float(graph.dtype(node.inputs[0]))) continue;
    auto& [nodes, flops] = counts[{std::string(op_name(node.op)), operands_of(graph, node), sums_of(graph, node)}];
    ++nodes;
    flops += node_cost(graph, node).flops;
  }
}

}  // namespace

PrecisionReport precision_report(const Step& step) {
  PrecisionReport report;
  std::map<std::pair<MemoryClass, Dtype>, std::pair<int64_t, int64_t>> stored;
  for (const PlannedBlock& block : step.plan->blocks) {
    auto& [tensors, bytes] = stored[{block.memory_class, step.graph.dtype(block.owner)}];
    ++tensors;
    bytes += block.bytes;
  }
  for (const auto& [key, count] : stored) report.stored.push_back({key.first, key.second, count.first, count.second});
  std::map<std::tuple<std::string, std::string, Dtype>, std::pair<int64_t, int64_t>> products;
  count_products(step.graph, products);
  for (const auto& [key, count] : products)
    report.computed.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), count.first, count.second});
  return report;
}

Json precision_json(const PrecisionReport& report, Precision precision) {
  Json stored = Json::array(), computed = Json::array();
  for (const PrecisionReport::Stored& row : report.stored)
    stored.push_back({{"class", kClassNames[static_cast<size_t>(row.memory_class)]},
                      {"dtype", dtype_onnx_name(row.dtype)},
                      {"tensors", row.tensors},
                      {"bytes", row.bytes}});
  for (const PrecisionReport::Computed& row : report.computed)
    computed.push_back({{"op", row.what},
                        {"operands", row.operands},
                        {"sums", dtype_onnx_name(row.sums)},
                        {"nodes", row.nodes},
                        {"flops", row.flops}});
  return {{"name", precision_name(precision)}, {"stored", std::move(stored)}, {"computed", std::move(computed)}};
}

std::string precision_text(const PrecisionReport& report, Precision precision) {
  std::map<MemoryClass, std::vector<std::string>> stored;
  for (const PrecisionReport::Stored& row : report.stored)
    stored[row.memory_class].push_back(fmt::format("{} {}", dtype_onnx_name(row.dtype), format_bytes(row.bytes)));
  std::vector<std::string> classes, products;
  for (const auto& [memory_class, parts] : stored)
    classes.push_back(fmt::format("{} {}", kClassLetters[static_cast<size_t>(memory_class)], fmt::join(parts, " + ")));
  std::map<std::pair<std::string, Dtype>, int64_t> flops;
  for (const PrecisionReport::Computed& row : report.computed) flops[{row.operands, row.sums}] += row.flops;
  for (const auto& [types, count] : flops)
    products.push_back(fmt::format("{} FLOPs of {} summed in {}", format_count(static_cast<double>(count)), types.first,
                                   dtype_onnx_name(types.second)));
  return fmt::format("precision {}: products {}\nstored in all: {}\n", precision_name(precision),
                     fmt::join(products, ", "), fmt::join(classes, "; "));
}

}  // namespace stepc
