// What a model becomes: inputs, weights, constants, outputs; encodings of tensors; functions and branches.

#include "ir/support/error.h"
#include "tests/models/model_text.h"

#include <algorithm>

namespace stepc {
namespace {

std::vector<std::string> op_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodeId id : graph.order()) names.emplace_back(op_name(graph.node(id).op));
  return names;
}

bool has_note(const ImportedModel& model, const std::string& part) {
  return std::any_of(model.notes.begin(), model.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

TEST(Import, KeepsNamesRolesAndOrigin) {
  onnx::ModelProto proto = parse_model(R"(
    <ir_version: 8, opset_import: ["" : 17], producer_name: "me", producer_version: "1">
    g (float[2, 3] x, float[2, 4] unused) => (float[2, 4] y)
    <float[3, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}>
    { a = MatMul(x, w) y = Relu(a) }
  )");
  proto.mutable_graph()->mutable_node(0)->set_name("/blocks.0/wq/MatMul");
  const ImportedModel model = import_proto(proto);
  EXPECT_EQ(model.producer, "me 1");
  ASSERT_EQ(model.graph.inputs().size(), 3U);
  EXPECT_EQ(model.graph.inputs()[0].role, InputRole::data);
  EXPECT_EQ(model.graph.inputs()[1].name, "unused");
  const GraphInput& weight = model.graph.inputs()[2];
  EXPECT_EQ(weight.role, InputRole::weight);
  EXPECT_EQ(weight.initializer, "w");
  EXPECT_TRUE(weight.trainable);
  EXPECT_EQ(model.graph.outputs()[0].name, "y");
  const Node& matmul = model.graph.node(model.graph.first());
  EXPECT_EQ(matmul.origin.onnx, std::vector<std::string>{"/blocks.0/wq/MatMul"});
  EXPECT_EQ(matmul.origin.scope, "blocks.0.wq");
  const Node& relu = model.graph.node(model.graph.last());
  EXPECT_EQ(relu.origin.onnx, std::vector<std::string>{"Relu_1"});
  EXPECT_EQ(model.graph.value(relu.outputs[0]).name, "y");
}

TEST(Import, InitializersListedAsInputsAreNotAskedFor) {
  const ImportedModel model = import_text(R"(
    <ir_version: 3, opset_import: ["" : 8]>
    g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
  )");
  EXPECT_EQ(model.graph.find_input("x")->role, InputRole::data);
  EXPECT_EQ(model.graph.find_input("w")->role, InputRole::weight);
}

// The same two numbers, 1.5 and -2, in every encoding that the format has.
TEST(Import, ReadsEveryEncoding) {
  const auto value_of = [](const onnx::TensorProto& tensor, int64_t index, bool compute_f32) {
    onnx::ModelProto proto = parse_model(R"(
      <ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y) { c = Cast <to = 1> (w) y = Add(x, c) }
    )");
    *proto.mutable_graph()->add_initializer() = tensor;
    const ImportedModel model = import_proto(proto, {.compute_f32 = compute_f32});
    return element(*model.initializers.at(0).data, index);
  };
  onnx::TensorProto tensor;
  tensor.set_name("w");
  tensor.add_dims(2);
  const auto both = [&](double first, double second) {
    for (const bool compute_f32 : {true, false}) {
      EXPECT_EQ(value_of(tensor, 0, compute_f32), first) << tensor.DebugString();
      EXPECT_EQ(value_of(tensor, 1, compute_f32), second) << tensor.DebugString();
    }
  };
  const auto half = [&](onnx::TensorProto::DataType type, int32_t first, int32_t second) {
    tensor.clear_raw_data();
    tensor.set_data_type(type);
    tensor.add_int32_data(first);
    tensor.add_int32_data(second);
    both(1.5, -2);
    tensor.clear_int32_data();
    const uint16_t words[] = {static_cast<uint16_t>(first), static_cast<uint16_t>(second)};
    tensor.set_raw_data(words, sizeof words);
    both(1.5, -2);
    tensor.clear_raw_data();
  };
  half(onnx::TensorProto::FLOAT16, 0x3e00, 0xc000);
  half(onnx::TensorProto::BFLOAT16, 0x3fc0, 0xc000);
  tensor.set_data_type(onnx::TensorProto::DOUBLE);
  tensor.add_double_data(1.5);
  tensor.add_double_data(-2);
  both(1.5, -2);
  tensor.clear_double_data();
  for (const auto type : {onnx::TensorProto::INT8, onnx::TensorProto::INT32}) {
    tensor.set_data_type(type);
    tensor.add_int32_data(3);
    tensor.add_int32_data(-2);
    both(3, -2);
    tensor.clear_int32_data();
  }
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_int64_data(3);
  tensor.add_int64_data(-2);
  both(3, -2);
}

TEST(Import, HalfPrecisionIsComputedInF32) {
  const char* text = R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float16[2] x) => (float16[2] y) <float16[2] w = {1, 2}> { y = Add(x, w) }
  )";
  const ImportedModel model = import_text(text);
  EXPECT_EQ(model.graph.dtype(model.graph.outputs()[0].value), Dtype::f32);
  EXPECT_EQ(model.initializers.at(0).type.dtype, Dtype::f32);
  EXPECT_EQ(model.initializers.at(0).data->type.dtype, Dtype::f16);
  EXPECT_TRUE(has_note(model, "computed in float32"));
  const ImportedModel kept = import_text(text, {.compute_f32 = false});
  EXPECT_EQ(kept.graph.dtype(kept.graph.outputs()[0].value), Dtype::f16);
}

TEST(Import, InlinesNestedFunctions) {
  const ImportedModel model = import_text(R"(
    <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2] x) => (float[2] y) { y = local.twice(x) }
    <domain: "local", opset_import: ["" : 17, "local" : 1]> twice (v) => (r) { t = local.act(v) r = local.act(t) }
    <domain: "local", opset_import: ["" : 17]> act (v) => (r) { t = Tanh(v) r = Relu(t) }
  )");
  EXPECT_EQ(op_names(model.graph), (std::vector<std::string>{"tanh", "relu", "tanh", "relu"}));
}

TEST(Import, InlinedNodesAreNamedAfterTheirCalls) {
  onnx::ModelProto proto = parse_model(R"(
    <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2] x) => (float[2] y) { a = local.block(x) b = local.block(a) y = Neg(b) }
    <domain: "local", opset_import: ["" : 17, "local" : 1]> block (v) => (r) { t = local.act(v) r = Relu(t) }
    <domain: "local", opset_import: ["" : 17]> act (v) => (r) { r = Tanh(v) }
  )");
  proto.mutable_graph()->mutable_node(0)->set_name("/blocks.0/Block");
  proto.mutable_graph()->mutable_node(1)->set_name("/blocks.1/Block");
  proto.mutable_functions(0)->mutable_node(1)->set_name("/out/Relu");
  const ImportedModel model = import_proto(proto);
  std::vector<std::string> places;
  for (const NodeId id : model.graph.order())
    places.push_back(model.graph.node(id).origin.onnx[0] + " in " + model.graph.node(id).origin.scope);
  EXPECT_EQ(places, (std::vector<std::string>{"/blocks.0/Block/act_0/Tanh_0 in blocks.0.act_0",
                                              "/blocks.0/Block/out/Relu in blocks.0.out",
                                              "/blocks.1/Block/act_0/Tanh_0 in blocks.1.act_0",
                                              "/blocks.1/Block/out/Relu in blocks.1.out", "Neg_4 in "}));
}

TEST(Import, TakesTheBranchOfAConstantCondition) {
  const auto text = [](const std::string& condition) {
    return R"(
      <ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x, bool flag) => (float[2] y) {
        on = Constant <value = bool {1}> ()
        off = Not(on)
        y = If ()" +
           condition + R"() <
          then_branch = a () => (float[2] t) { t = Tanh(x) },
          else_branch = b () => (float[2] t) { u = Relu(x) t = Neg(u) }
        >
      })";
  };
  EXPECT_EQ(op_names(import_text(text("on")).graph), std::vector<std::string>{"tanh"});
  EXPECT_EQ(op_names(import_text(text("off")).graph), (std::vector<std::string>{"relu", "neg"}));
  EXPECT_EQ(
      import_error(text("flag")),
      "If 'If_2': the condition depends on the model's inputs; only branches that are known before the run can be "
      "compiled");
}

TEST(Import, OmittedNamesAreNeverValues) {
  // "" names an unused output of one node and an omitted operand of the next: they have nothing to do with each other.
  onnx::ModelProto proto = parse_model(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[4, 6] x) => (float[4, 3] y) {
      a, b = Split <axis = 1> (x)
      top = Constant <value_float = 6.0> ()
      y = Clip(a, b, top)
    }
  )");
  proto.mutable_graph()->mutable_node(0)->set_output(1, "");
  proto.mutable_graph()->mutable_node(2)->set_input(1, "");
  const ImportedModel model = import_proto(proto);
  EXPECT_EQ(op_names(model.graph), (std::vector<std::string>{"slice", "constant", "minimum"}));
}

TEST(Import, RankZeroAndEmptyTensors) {
  const ImportedModel model = import_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float x, float[0, 3] e) => (float y, float[0, 3] z) { y = Neg(x) z = Relu(e) }
  )");
  EXPECT_EQ(model.graph.shape(model.graph.outputs()[0].value), Shape());
  EXPECT_EQ(model.graph.shape(model.graph.outputs()[1].value), Shape({0, 3}));
}

TEST(Import, OutputsMayBeInputsOrConstants) {
  const ImportedModel model = import_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y, float[2] c) { y = Identity(x) c = Constant <value = float[2] {1, 2}> () }
  )");
  EXPECT_EQ(model.graph.outputs()[0].value, model.graph.find_input("x")->value);
  EXPECT_EQ(op_names(model.graph), std::vector<std::string>{"constant"});
}

TEST(Import, DeclaredOutputTypesMustBeTrue) {
  EXPECT_EQ(import_error(R"(
              <ir_version: 8, opset_import: ["" : 17]>
              g (float[2] x) => (int64[2] y) { y = Neg(x) }
            )"),
            "output 'y' is declared int64 but computed as float32");
}

TEST(Survey, ListsWithoutBinding) {
  const TemporaryFolder folder;
  const ModelSurvey survey = survey_onnx(folder.write("model.onnx", parse_model(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float[batch, 4] x) => (float[batch, 4] y) <float[4] w = {1, 2, 3, 4}>
    { a = Add(x, w) b = com.microsoft.QuickGelu(a) c = com.microsoft.Foo(b) y = Add(c, c) }
  )")
                                                                        .SerializeAsString()));
  EXPECT_EQ(survey.symbols, std::vector<std::string>{"batch"});
  EXPECT_EQ(survey.inputs.at(0).shape, (std::vector<std::string>{"batch", "4"}));
  EXPECT_EQ(survey.initializers.at(0).dtype, "float32");
  EXPECT_EQ(survey.operators.at("Add"), 2);
  EXPECT_NE(survey.unsupported.find("com.microsoft.Foo (1 node: 'Foo_2'"), std::string::npos);
  EXPECT_NE(survey.unsupported.find("com.microsoft.QuickGelu"), std::string::npos);
}

}  // namespace
}  // namespace stepc
