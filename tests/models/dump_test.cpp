// Graphs written as ONNX to look at: what stands in the file, and ONNX's own checker.

#include "models/onnx/dump.h"
#include "ir/parser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace stepc {
namespace {

constexpr const char* kStep = R"(graph @step {
  %w: f32[4] = input weight "w" initializer "layer.w" trainable
  %x: f32[2,4] = input data "x"
  %0: f32[] = constant {data=[2.0]}
  %1: f32[2,4] = fused %x, %w, %0 body {
    %a: f32[2,4] = input data "a"
    %b: f32[4] = input data "b"
    %c: f32[] = input data "c"
    %0: f32[2,4] = mul %a, %b
    %1: f32[2,4] = mul %0, %c
    output output "y" %1
  } scope "layer" onnx "Mul_0" "Mul_1"
  %2: f32[4] = reduce_sum %1 {axes=[0], keepdims=false} phase backward
  %3: f32[4] = sub %w, %2 phase optimizer
  output loss "loss" %2
  state %w -> %3
}
)";

onnx::ModelProto dumped(const std::string& text) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("stepc-dump-{}.onnx", getpid());
  dump_onnx(parse(text), path.string());
  onnx::ModelProto model;
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(model.ParseFromIstream(&file));
  std::filesystem::remove(path);
  return model;
}

TEST(DumpOnnx, IsAModelForTheChecker) { EXPECT_NO_THROW(onnx::checker::check_model(dumped(kStep))); }

TEST(DumpOnnx, StandardOperatorsKeepTheirNamesOthersAreOurs) {
  const onnx::ModelProto model = dumped(kStep);
  std::vector<std::string> operators;
  for (const onnx::NodeProto& node : model.graph().node())
    operators.push_back(node.domain() + (node.domain().empty() ? "" : ".") + node.op_type());
  EXPECT_EQ(operators,
            (std::vector<std::string>{"Constant", "stepc.fused", "stepc.reduce_sum", "Sub", "Identity", "Identity"}));
}

TEST(DumpOnnx, ShowsBodyOriginAndState) {
  const onnx::ModelProto model = dumped(kStep);
  const onnx::NodeProto& fused = model.graph().node(1);
  ASSERT_EQ(fused.attribute_size(), 1);
  EXPECT_EQ(fused.attribute(0).g().node_size(), 3);  // two products and the output
  EXPECT_EQ(fused.attribute(0).g().node(0).op_type(), "Mul");
  std::map<std::string, std::string> metadata;
  for (const auto& entry : fused.metadata_props()) metadata[entry.key()] = entry.value();
  EXPECT_EQ(metadata,
            (std::map<std::string, std::string>{{"onnx", "Mul_0 Mul_1"}, {"phase", "forward"}, {"scope", "layer"}}));
  EXPECT_EQ(model.graph().input(0).doc_string(), "trainable weight w");
  EXPECT_EQ(model.graph().output(0).name(), "loss");
  EXPECT_EQ(model.graph().output(1).name(), "new w");
}

}  // namespace
}  // namespace stepc
