// Symbolic dimensions: bound by options and by data, and what is said when they are not.

#include "tests/models/model_text.h"

namespace stepc {
namespace {

constexpr const char* kTwoInputs = R"(
  <ir_version: 8, opset_import: ["" : 17]>
  g (float[batch, seq, 4] x, float[batch, 1, 4] y) => (float[batch, seq, 4] z) { z = Add(x, y) }
)";

TEST(Dims, AreBoundByName) {
  const ImportedModel model = import_text(kTwoInputs, {.dims = {{"batch", 2}, {"seq", 3}}});
  EXPECT_EQ(model.graph.shape(model.graph.find_input("x")->value), Shape({2, 3, 4}));
  EXPECT_EQ(model.graph.shape(model.graph.outputs()[0].value), Shape({2, 3, 4}));
  EXPECT_EQ(model.dims, (std::map<std::string, int64_t>{{"batch", 2}, {"seq", 3}}));
}

TEST(Dims, AreBoundByData) {
  const ImportedModel model = import_text(kTwoInputs, {.input_shapes = {{"x", {2, 3, 4}}}});
  EXPECT_EQ(model.graph.shape(model.graph.find_input("y")->value), Shape({2, 1, 4}));
}

TEST(Dims, UnboundOnesAreListedAtOnce) {
  EXPECT_EQ(import_error(kTwoInputs),
            "symbolic dimensions without a size: batch, seq; bind each with --dim, as in --dim batch=N");
}

TEST(Dims, EqualSymbolsHaveEqualSizes) {
  EXPECT_EQ(import_error(kTwoInputs, {.input_shapes = {{"x", {2, 3, 4}}, {"y", {5, 1, 4}}}}),
            "dimension 'batch' is 2 elsewhere, but the data of input 'y' has 5 on axis 0");
  EXPECT_EQ(import_error(kTwoInputs, {.dims = {{"seq", 7}}, .input_shapes = {{"x", {2, 3, 4}}}}),
            "dimension 'seq' is 7 elsewhere, but the data of input 'x' has 3 on axis 1");
}

TEST(Dims, DataMustFitWhatTheModelDeclares) {
  EXPECT_EQ(import_error(kTwoInputs, {.input_shapes = {{"x", {2, 3, 5}}}}),
            "input 'x' has size 4 on axis 2 where the data has 5");
  EXPECT_EQ(import_error(kTwoInputs, {.input_shapes = {{"x", {2, 3}}}}),
            "input 'x' has 3 dimensions where the data has 2: [2,3]");
}

TEST(Dims, UnknownAndNegativeOnesAreRefused) {
  EXPECT_EQ(import_error(kTwoInputs, {.dims = {{"length", 7}}}),
            "no input has a dimension 'length' (symbolic dimensions: batch, seq)");
  EXPECT_EQ(import_error(kTwoInputs, {.dims = {{"batch", -1}}}), "dimension 'batch' cannot be -1");
}

TEST(Dims, HugeOnesAreRefusedBeforeMemoryIsTaken) {
  const std::string error =
      import_error(kTwoInputs, {.dims = {{"batch", int64_t{1} << 40}, {"seq", int64_t{1} << 40}}});
  EXPECT_NE(error.find("overflow"), std::string::npos) << error;
}

TEST(Dims, NamelessOnesAreCalledAfterTheirPlace) {
  const char* text = R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[?, 4] x) => (float[?, 4] z) { z = Relu(x) }
  )";
  EXPECT_EQ(import_error(text), "symbolic dimensions without a size: x.0; bind each with --dim, as in --dim x.0=N");
  const ImportedModel model = import_text(text, {.dims = {{"x.0", 0}}});
  EXPECT_EQ(model.graph.shape(model.graph.outputs()[0].value), Shape({0, 4}));
}

TEST(Dims, ShapeArithmeticDisappears) {
  const ImportedModel model = import_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[batch, seq, 8] x) => (float[batch, seq, 2, 4] z) {
      shape = Shape <start = 0, end = 2> (x)
      heads = Constant <value_ints = [2, 4]> ()
      target = Concat <axis = 0> (shape, heads)
      z = Reshape(x, target)
    }
  )",
                                          {.dims = {{"batch", 3}, {"seq", 5}}});
  EXPECT_EQ(model.graph.node_count(), 1U);
  EXPECT_EQ(model.graph.shape(model.graph.outputs()[0].value), Shape({3, 5, 2, 4}));
}

}  // namespace
}  // namespace stepc
