// The ONNX library as we build it: schemas registered, text parsed, checked, shapes inferred,
// converted.

#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/defs/parser.h>
#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>
#include <onnx/version_converter/convert.h>

namespace stepc {
namespace {

constexpr const char* kModel = R"(
  <ir_version: 8, opset_import: ["" : 13]>
  tiny (float[2, 3] x, float[3, 4] w) => (y) { y = MatMul(x, w) }
)";

onnx::ModelProto parse(const char* text) {
  onnx::ModelProto model;
  onnx::OnnxParser parser(text);
  const auto status = parser.Parse(model);
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model;
}

TEST(OnnxLibrary, HasSchemasOfAllDomains) {
  EXPECT_NE(onnx::OpSchemaRegistry::Schema("LayerNormalization", 17, ""), nullptr);
  EXPECT_NE(onnx::OpSchemaRegistry::Schema("Scaler", 1, "ai.onnx.ml"), nullptr);
}

TEST(OnnxLibrary, ChecksAndInfersShapes) {
  onnx::ModelProto model = parse(kModel);
  onnx::shape_inference::InferShapes(model);
  onnx::checker::check_model(model);
  const auto& shape = model.graph().output(0).type().tensor_type().shape();
  ASSERT_EQ(shape.dim_size(), 2);
  EXPECT_EQ(shape.dim(0).dim_value(), 2);
  EXPECT_EQ(shape.dim(1).dim_value(), 4);
}

TEST(OnnxLibrary, ConvertsVersions) {
  onnx::ModelProto model = parse(kModel);
  onnx::shape_inference::InferShapes(model);
  const onnx::ModelProto converted = onnx::version_conversion::ConvertVersion(model, 18);
  EXPECT_EQ(converted.opset_import(0).version(), 18);
}

}  // namespace
}  // namespace stepc
