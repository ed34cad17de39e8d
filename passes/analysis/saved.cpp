#include "passes/analysis/saved.h"

#include "ir/op_def.h"
#include "passes/analysis/saved_listing.h"

#include <fmt/format.h>

#include <algorithm>

namespace stepc {
namespace {

bool is_backward(Phase phase) { return phase == Phase::backward || phase == Phase::recompute; }

// A, B, .., Z, AA, AB, ..
std::string letters(size_t index) {
  std::string text;
  for (size_t n = index + 1; n > 0; n = (n - 1) / 26) text.insert(text.begin(), static_cast<char>('A' + (n - 1) % 26));
  return text;
}

// The value, or what it is a view of; the first that has a name.
ValueId nearest_named(const Graph& graph, ValueId value) {
  const Node* node = graph.producer(value);
  while (graph.value(value).name.empty() && node != nullptr && op_def(node->op).kind == OpKind::view) {
    value = node->inputs[0];
    node = graph.producer(value);
  }
  return value;
}

// The node that computes a result: inside a fused node, one of its body.
const Node& maker_of(const Graph& graph, ValueId value) {
  const Node& node = *graph.producer(value);
  if (node.op != Op::fused) return node;
  const Graph& body = *node.body;
  const ValueId result = body.outputs()[static_cast<size_t>(graph.value(value).output)].value;
  const Node* maker = body.producer(result);
  while (maker != nullptr && op_def(maker->op).kind == OpKind::view) maker = body.producer(maker->inputs[0]);
  return maker == nullptr ? node : *maker;
}

}  // namespace

std::string saved_name(const Graph& graph, ValueId value) {
  const ValueId named = nearest_named(graph, value);
  const Value& v = graph.value(named);
  if (!v.name.empty() || !v.producer.valid()) return v.name;
  const Node& node = graph.node(v.producer);
  const std::string operand =
      node.inputs.empty() ? std::string() : graph.value(nearest_named(graph, node.inputs[0])).name;
  const std::string_view op = op_name(maker_of(graph, named).op);
  return operand.empty() ? std::string(op) : fmt::format("{}({})", op, operand);
}

int64_t SavedListing::new_bytes() const {
  int64_t sum = 0;
  for (const SavedTensor& tensor : saved) sum += tensor.new_bytes;
  return sum;
}

bool may_be_saved(const Graph& graph, const Layouts& layouts, ValueId value) {
  const Node* producer = graph.producer(value);
  if (producer == nullptr) {
    const InputRole role = graph.input_of(value)->role;
    return role != InputRole::state && role != InputRole::accumulator;
  }
  if (producer->origin.phase != Phase::forward && producer->origin.phase != Phase::loss) return false;
  const ValueId block = layouts.of(value).block;
  const Node* owner = graph.producer(block);
  return owner == nullptr || owner->op != Op::constant || graph.shape(block).numel() != 1;
}

std::string SavedListingBuilder::add(ValueId value, std::string op, const Origin* origin) {
  const ValueId block = layouts_.of(value).block;
  auto [position, first] = blocks_.try_emplace(block, letters(blocks_.size()));
  const Node* owner = graph_.producer(block);
  const GraphInput* input = graph_.input_of(block);

  SavedTensor tensor;
  tensor.value = value;
  tensor.op = std::move(op);
  tensor.name = saved_name(graph_, value);
  if (origin != nullptr) {
    tensor.onnx = origin->onnx;
    tensor.scope = origin->scope;
  }
  tensor.type = graph_.type(value);
  tensor.block = position->second;
  tensor.reference = !first || input != nullptr || owner->op == Op::constant;
  tensor.new_bytes = tensor.reference ? 0 : graph_.type(block).bytes();
  if (input != nullptr) tensor.input = input->name;
  listing_.saved.push_back(std::move(tensor));
  return position->second;
}

SavedListing saved_tensors(const Graph& graph, const Layouts& layouts) {
  // In the order of first reads.
  std::vector<bool> read(static_cast<size_t>(graph.value_limit()));
  std::vector<ValueId> reads;
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
    const Node& node = graph.node(id);
    if (!is_backward(node.origin.phase)) continue;
    for (const ValueId input : node.inputs) {
      if (!input.valid() || read[static_cast<size_t>(input.index)] || !may_be_saved(graph, layouts, input)) continue;
      read[static_cast<size_t>(input.index)] = true;
      reads.push_back(input);
    }
  }

  SavedListingBuilder builder(graph, layouts);
  std::vector<std::string> block_of(read.size());
  for (const GraphInput& input : graph.inputs())
    if (const auto i = static_cast<size_t>(input.value.index); read[i])
      block_of[i] = builder.add(input.value, "input", nullptr);
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id))
    for (const ValueId output : graph.node(id).outputs)
      if (const auto i = static_cast<size_t>(output.index); read[i]) {
        const Node& maker = maker_of(graph, output);
        block_of[i] = builder.add(output, std::string(op_name(maker.op)), &maker.origin);
      }
  SavedListing listing = std::move(builder).finish();
  for (const ValueId value : reads) listing.loads.push_back(block_of[static_cast<size_t>(value.index)]);
  return listing;
}

}  // namespace stepc
