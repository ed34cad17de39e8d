// What is refused before anything is built, each in one clear line: damaged files, invalid graphs, wrong versions,
// operators without a rule.

#include "ir/support/error.h"
#include "tests/models/model_text.h"

#include <random>

namespace stepc {
namespace {

constexpr const char* kTiny = R"(
  <ir_version: 8, opset_import: ["" : 17]>
  g (float[2, 3] x) => (float[2, 4] y)
  <float[3, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}>
  { y = MatMul(x, w) }
)";

std::string file_error(const std::string& bytes) {
  const TemporaryFolder folder;
  return error_of([&] { import_onnx(folder.write("model.onnx", bytes)); });
}

TEST(Load, RefusesWhatIsNotAModel) {
  EXPECT_EQ(file_error(""), "the file is empty");
  EXPECT_EQ(file_error("not a model"), "not an ONNX model, or a truncated or damaged one: it does not parse");
  EXPECT_EQ(file_error(std::string(1000, '\0')), "not an ONNX model, or a truncated or damaged one: it does not parse");
  EXPECT_EQ(file_error(onnx::ModelProto().SerializeAsString()), "the file is empty");
  onnx::ModelProto model;
  model.set_ir_version(8);
  EXPECT_EQ(file_error(model.SerializeAsString()), "not an ONNX model: it has no graph");
  const TemporaryFolder folder;
  EXPECT_NE(error_of([&] { import_onnx(folder.path("")); }).find("is not a regular file"), std::string::npos);
  EXPECT_NE(error_of([&] { import_onnx(folder.path("absent")); }).find("No such file"), std::string::npos);
}

// Whatever a damaged file says, the answer is a UserError or a model: never a crash or an exception of another kind.
TEST(Load, SurvivesDamage) {
  const std::string whole = parse_model(kTiny).SerializeAsString();
  const TemporaryFolder folder;
  const auto try_import = [&](const std::string& bytes) {
    try {
      import_onnx(folder.write("model.onnx", bytes));
    } catch (const UserError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
  };
  for (size_t size = 0; size < whole.size(); ++size) try_import(whole.substr(0, size));
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::string damaged = whole;
    for (int flips = 0; flips < 1 + round % 4; ++flips)
      damaged[random() % damaged.size()] ^= static_cast<char>(1U << (random() % 8));
    try_import(damaged);
  }
}

TEST(Load, RefusesInvalidGraphs) {
  const auto contains = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const std::string head = "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) ";
  contains(import_error(head + "{ y = Relu(z) z = Relu(x) }"), "topologically sorted, however input 'z'");
  contains(import_error(head + "{ y = Relu(z) z = Relu(y) }"), "topologically sorted, however input 'z'");
  contains(import_error(head + "{ y = Relu(absent) }"), "topologically sorted, however input 'absent'");
  contains(import_error(head + "{ y = Relu(x) y = Neg(x) }"), "'y' has been used as output names multiple times");
  contains(import_error(head + "{ z = Relu(x) }"), "Graph output 'y' is not an output of any node");
  contains(import_error(head + "{ y = Relu(x, x) }"), "has input size 2");

  onnx::ModelProto model = parse_model(kTiny);
  *model.mutable_graph()->add_initializer() = model.graph().initializer(0);
  EXPECT_EQ(import_error(model), "two initializers are called 'w'");
  model = parse_model(kTiny);
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, 1 << 20);
  EXPECT_EQ(import_error(model), "tensor 'w' has 12 elements where f32[1048576,4] needs 4194304");
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, -3);
  contains(import_error(model), "tensor 'w': ");
  model = parse_model(kTiny);
  model.mutable_graph()->mutable_initializer(0)->set_data_type(onnx::TensorProto::STRING);
  EXPECT_EQ(import_error(model), "tensor 'w': element type STRING is not supported");
}

TEST(Load, NamesMustBeUtf8) {
  onnx::ModelProto model = parse_model(kTiny);
  model.mutable_graph()->mutable_node(0)->set_name("caf\xc3\xa9");
  EXPECT_NO_THROW(import_proto(model));
  model.mutable_graph()->mutable_node(0)->set_name("caf\xe9");
  EXPECT_EQ(import_error(model), "name 'caf\\xe9' is not UTF-8");
}

TEST(Load, ErrorsNameTheNode) {
  const std::string error = import_error(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x) => (float[2, 3] y) { z = Relu(x) y = MatMul(z, x) }
  )");
  EXPECT_EQ(error.rfind("MatMul 'MatMul_1': ", 0), 0U) << error;
}

TEST(Load, AcceptsOpsets7To28) {
  const auto with_opset = [](const std::string& version) {
    return "<ir_version: 10, opset_import: [\"\" : " + version + "]> g (float[2] x) => (float[2] y) { y = Relu(x) }";
  };
  EXPECT_EQ(import_text(with_opset("7")).opset, 7);
  EXPECT_EQ(import_text(with_opset("28")).opset, 28);
  EXPECT_EQ(import_error(with_opset("6")), "opset 6 is not supported (supported: 7 to 28)");
  EXPECT_EQ(import_error(with_opset("29")), "opset 29 is not supported (supported: 7 to 28)");
}

TEST(Load, RefusesOperatorsNewerThanTheDeclaredOpset) {
  EXPECT_EQ(
      import_error(R"(
              <ir_version: 10, opset_import: ["" : 18]>
              g (float[2, 4] x, float[4] w) => (float[2, 4] y) {
                a = RMSNormalization(x, w)
                b = RMSNormalization(a, w)
                y = Gelu(b)
              }
            )"),
      "the model uses operators that its declared opset does not have: Gelu needs opset 20 (declared 18), 1 node: "
      "'Gelu_2'; RMSNormalization needs opset 23 (declared 18), 2 nodes: 'RMSNormalization_0', "
      "'RMSNormalization_1'; export again with that opset");
}

TEST(Load, ListsUnsupportedOperatorsAtOnce) {
  EXPECT_EQ(
      import_error(R"(
              <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1, "unused.domain" : 3]>
              g (float[2, 4] x, float[4] w) => (float[2, 4] y) {
                a = com.microsoft.BiasGelu(x, w)
                b = com.microsoft.BiasGelu(a, w)
                y, s = Unique(b)
              }
            )"),
      "unsupported operators: Unique (1 node: 'Unique_2'), com.microsoft.BiasGelu (2 nodes: 'BiasGelu_0', "
      "'BiasGelu_1'); what the ONNX standard does not define comes from a runtime's optimizer, export without it");
}

TEST(Load, RefusesLoopsByName) {
  const std::string error = import_error(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x, int64 n, bool c) => (float[2] y) {
      y = Loop (n, c, x) <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) { k2 = Identity(k) w = Relu(v) }>
    }
  )");
  EXPECT_EQ(error,
            "unsupported operator: Loop (1 node: 'Loop_0'); loops have no static graph, export with the loop unrolled");
}

TEST(Load, UnusedUnknownDomainsAreFine) {
  EXPECT_NO_THROW(import_text(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float[2] x) => (float[2] y) { y = Relu(x) }
  )"));
}

TEST(Load, ExponentialFunctionsAreRefused) {
  std::string text =
      "<ir_version: 8, opset_import: [\"\" : 17, \"f\" : 1]> g (float[2] x) => (float[2] y) { y = f.f40(x) }";
  for (int level = 1; level <= 40; ++level)
    text += "<domain: \"f\", opset_import: [\"\" : 17, \"f\" : 1]> f" + std::to_string(level) +
            " (x) => (y) { a = f.f" + std::to_string(level - 1) + "(x) y = f.f" + std::to_string(level - 1) + "(a) }";
  text += "<domain: \"f\", opset_import: [\"\" : 17]> f0 (x) => (y) { y = Relu(x) }";
  EXPECT_EQ(import_error(text), "the model's functions expand to 1099511627776 nodes (at most 1000000)");
}

}  // namespace
}  // namespace stepc
