// Every sample with one thing wrong at a time: whatever a model file may claim, the answer is a type or a UserError.
#include "ir/op_def.h"
#include "ir/support/error.h"
#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stepc::test {
namespace {

constexpr Dtype kAllDtypes[] = {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16,   Dtype::i64,
                                Dtype::i32, Dtype::i8,  Dtype::u8,  Dtype::boolean};

constexpr int64_t kHuge = int64_t{1} << 62;

// What a node may be: operand types and attributes, without values.
struct Candidate {
  std::vector<std::optional<Type>> operands;
  Attrs attrs;
};

std::string to_string(const Candidate& c) {
  std::string text;
  for (const std::optional<Type>& operand : c.operands) text += (operand ? stepc::to_string(*operand) : "_") + " ";
  for (const auto& [key, value] : c.attrs) text += key + "#" + std::to_string(value.index()) + " ";
  return text;
}

// Infers types; small results are evaluated too, on zeros.
void try_node(Op op, const Candidate& candidate) {
  try {
    Graph graph;
    std::vector<ValueId> operands;
    for (size_t i = 0; i < candidate.operands.size(); ++i) {
      const std::optional<Type>& type = candidate.operands[i];
      operands.push_back(type ? graph.add_input(*type, InputRole::data, std::to_string(i)) : kNoValue);
    }
    Builder b(graph);
    const NodeId node = b.make_node(op, operands, candidate.attrs);
    node_cost(graph, graph.node(node));
    std::vector<RefTensor> outputs;
    for (const ValueId output : graph.node(node).outputs) {
      if (graph.shape(output).numel() > 4096) return;
      outputs.emplace_back(graph.type(output));
    }
    std::vector<RefTensor> values;
    for (const std::optional<Type>& type : candidate.operands) values.emplace_back(type.value_or(Type{}));
    std::vector<const RefTensor*> inputs;
    for (size_t i = 0; i < values.size(); ++i) inputs.push_back(candidate.operands[i] ? &values[i] : nullptr);
    evaluate_node(EvalArgs{graph.node(node), inputs, outputs, false});
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << op_name(op) << " " << to_string(candidate) << ": " << error.what();
  }
}

std::vector<AttrValue> wrong_values(const AttrValue& value) {
  std::vector<AttrValue> wrong{false, true, int64_t{0}, int64_t{1},        int64_t{-1},    kHuge,      -kHuge,
                               0.5,   NAN,  -INFINITY,  std::string("no"), Dtype::boolean, Dtype::i64, Dims{}};
  if (const auto* list = std::get_if<Dims>(&value)) {
    Dims longer = *list;
    longer.push_back(1);
    wrong.emplace_back(longer);
    for (size_t i = 0; i < list->size(); ++i)
      for (const int64_t entry : {int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{2}, int64_t{7}, kHuge, -kHuge}) {
        Dims changed = *list;
        changed[i] = entry;
        wrong.emplace_back(changed);
      }
  }
  return wrong;
}

std::vector<Shape> wrong_shapes(const Shape& shape) {
  std::vector<Shape> wrong{Shape(), Shape({0}), Shape({1}), Shape({7}), Shape({1, 1, 1, 1, 1})};
  Dims longer = shape.dims();
  longer.insert(longer.begin(), 2);
  wrong.emplace_back(longer);
  for (size_t i = 0; i < shape.rank(); ++i) {
    for (const int64_t dim : {0, 1, 7}) {
      Dims changed = shape.dims();
      changed[i] = dim;
      wrong.emplace_back(changed);
    }
    Dims shorter = shape.dims();
    shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
    wrong.emplace_back(shorter);
  }
  return wrong;
}

TEST(BadNodes, AreUserErrors) {
  for (const Sample& sample : all_samples()) {
    if (sample.make) continue;
    SCOPED_TRACE(sample.label);
    Candidate good{{}, sample.attrs};
    for (const auto& operand : sample.operands)
      good.operands.push_back(operand ? std::optional(operand->type) : std::nullopt);
    for (size_t i = 0; i < good.operands.size(); ++i) {
      Candidate bad = good;
      bad.operands[i].reset();
      try_node(sample.op, bad);
      bad.operands.resize(i);
      try_node(sample.op, bad);
      const Type type = good.operands[i].value_or(Type{});
      for (const Dtype dtype : kAllDtypes) {
        bad = good;
        bad.operands[i] = Type{dtype, type.shape};
        try_node(sample.op, bad);
        for (auto& operand : bad.operands) operand = Type{dtype, operand.value_or(Type{}).shape};
        try_node(sample.op, bad);
      }
      for (const Shape& shape : wrong_shapes(type.shape)) {
        bad = good;
        bad.operands[i] = Type{type.dtype, shape};
        try_node(sample.op, bad);
      }
    }
    for (const auto& [key, value] : good.attrs)
      for (const AttrValue& wrong : wrong_values(value)) {
        Candidate bad = good;
        bad.attrs.set(key, wrong);
        try_node(sample.op, bad);
      }
  }
}

}  // namespace
}  // namespace stepc::test
