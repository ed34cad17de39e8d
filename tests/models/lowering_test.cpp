// What the node cases (tests/onnx_node) do not show: random masks, and refusals of values that a rule cannot take.

#include "ir/interpreter.h"
#include "tests/models/model_text.h"

#include <gmock/gmock.h>

#include <cmath>

namespace stepc {
namespace {

using testing::HasSubstr;

std::string one_node(const std::string& inputs, const std::string& outputs, const std::string& node, int opset) {
  return "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]> g (" + inputs + ") => (" + outputs +
         ") { " + node + " }";
}

constexpr const char* kTwoDropouts = R"(
  <ir_version: 8, opset_import: ["" : 11]>
  g (float[40, 50] x) => (float[40, 50] y, float[40, 50] z) {
    y, my = Dropout <ratio = 0.25> (x)
    z, mz = Dropout <ratio = 0.25> (x)
  }
)";

std::map<std::string, RefTensor> dropout_operands(const ImportedModel& model, int64_t offset) {
  std::map<std::string, RefTensor> operands;
  for (const GraphInput& input : model.graph.inputs()) {
    RefTensor value(model.graph.type(input.value));
    for (int64_t i = 0; i < value.numel(); ++i) value.set(i, input.role == InputRole::state ? double(offset) : 3.0);
    operands.emplace(input.name, value);
  }
  return operands;
}

TEST(Lowering, DropoutIsAnIdentityUnlessAskedFor) {
  const ImportedModel model = import_text(kTwoDropouts);
  EXPECT_EQ(model.graph.node_count(), 0U);
  EXPECT_TRUE(model.graph.states().empty());
}

TEST(Lowering, DropoutScalesWhatItKeepsAndDrawsAnewEachStep) {
  ImportOptions options;
  options.dropout = true;
  const ImportedModel model = import_text(kTwoDropouts, options);
  ASSERT_EQ(model.graph.states().size(), 1U);
  const Interpretation first = interpret(model.graph, dropout_operands(model, 0), RefPrecision::f32);
  const std::vector<double>& y = first.outputs.at("y").real;
  int64_t dropped = 0;
  for (const double value : y) {
    dropped += value == 0 ? 1 : 0;
    EXPECT_TRUE(value == 0 || std::abs(value - 4) < 1e-6) << value;  // 3 / (1 - 0.25)
  }
  EXPECT_NEAR(static_cast<double>(dropped), 500, 80);  // 2000 draws: 4 standard deviations
  EXPECT_NE(y, first.outputs.at("z").real);            // nodes have keys of their own
  EXPECT_EQ(first.states.at("random_offset").integer, std::vector<int64_t>{1});
  const auto again = [&](int64_t offset) {
    return interpret(model.graph, dropout_operands(model, offset), RefPrecision::f32).outputs.at("y").real;
  };
  EXPECT_EQ(y, again(0));
  EXPECT_NE(y, again(1));
}

TEST(Lowering, UnsupportedAttributeValuesAreRefusedByNode) {
  const auto refusal = [](const std::string& node, int opset) {
    return import_error(one_node("float[2, 3] x", "float[n, m] y", node, opset));
  };
  EXPECT_THAT(refusal("y = Gelu <approximate = \"sin\"> (x)", 20), HasSubstr("Gelu"));
  EXPECT_THAT(refusal("y = Gelu <approximate = \"sin\"> (x)", 20), HasSubstr("approximate = sin is not supported"));
  EXPECT_THAT(refusal("y = Pad <mode = \"mirror\", pads = [0, 0, 0, 1]> (x)", 7), HasSubstr("mode = mirror"));
  EXPECT_THAT(refusal("y = Mod (x, x)", 13), HasSubstr("fmod = 0"));
  EXPECT_THAT(refusal("y = LayerNormalization <stash_type = 10> (x, x)", 17), HasSubstr("stash_type = 10"));
}

TEST(Lowering, AnEpsilonThatIsNoNumberIsRefusedByNode) {
  onnx::ModelProto model =
      parse_model(one_node("float[2, 3] x", "float[2, 3] y", "y = LayerNormalization <epsilon = 1.0> (x, x)", 17));
  for (const float epsilon : {NAN, -INFINITY}) {
    model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->set_f(epsilon);
    EXPECT_THAT(import_error(model), HasSubstr("LayerNormalization"));
    EXPECT_THAT(import_error(model), HasSubstr("attribute 'epsilon' is "));
  }
}

TEST(Lowering, ImpossibleSizesAreRefused) {
  const auto refusal = [](const std::string& node, int opset) {
    return import_error(one_node("float[2, 3] x", "float[n, m] y", node, opset));
  };
  EXPECT_THAT(refusal("y = Pad <pads = [0, -9223372036854775807, 0, 1]> (x)", 7), HasSubstr("pads remove more"));
  EXPECT_THAT(refusal("y = Pad <mode = \"edge\", pads = [0, 0, 0, 9223372036854775807]> (x)", 7),
              HasSubstr("is not supported"));
  EXPECT_THAT(refusal("y = Split <axis = 1, split = [2]> (x)", 11), HasSubstr("do not split axis 1 of [2,3]"));
  EXPECT_THAT(refusal("y = Transpose <perm = [0, 0]> (x)", 13), HasSubstr("does not permute"));
  EXPECT_THAT(refusal("y = ReduceSum <axes = [0, -2]> (x)", 11), HasSubstr("given twice"));
}

TEST(Lowering, ShapesThatDependOnDataAreRefused) {
  const std::string text = one_node("float[2, 3] x", "int64[2, n] y", "y = NonZero (x)", 13);
  EXPECT_THAT(import_error(text), HasSubstr("NonZero"));
  EXPECT_THAT(import_error(text), HasSubstr("must be known"));
}

}  // namespace
}  // namespace stepc
