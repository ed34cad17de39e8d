// Which initializers are weights: names that exporters lost, ties that they broke, what is trained and why.

#include "ir/interpreter.h"
#include "ir/support/glob.h"
#include "tests/models/model_text.h"

#include <algorithm>
#include <limits>

namespace stepc {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// Distinct values, so that no tensor looks like another or like a constant.
std::vector<float> series(size_t count, float start) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = start + static_cast<float>(i) / 8;
  return values;
}

std::vector<float> transposed(const std::vector<float>& values, size_t rows, size_t columns) {
  std::vector<float> result;
  for (size_t j = 0; j < columns; ++j)
    for (size_t i = 0; i < rows; ++i) result.push_back(values[i * columns + j]);
  return result;
}

const Initializer& find(const ImportedModel& model, const std::string& initializer) {
  const auto found = std::find_if(model.initializers.begin(), model.initializers.end(),
                                  [&](const Initializer& i) { return i.initializer == initializer; });
  EXPECT_NE(found, model.initializers.end()) << initializer;
  return *found;
}

size_t weight_inputs(const ImportedModel& model) {
  return static_cast<size_t>(std::count_if(model.graph.inputs().begin(), model.graph.inputs().end(),
                                           [](const GraphInput& i) { return i.role == InputRole::weight; }));
}

void set_metadata(onnx::StringStringEntryProto& entry, const std::string& key, const std::string& value) {
  entry.set_key(key);
  entry.set_value(value);
}

// An embedding [6,4], two linear layers [4,4] and a head [4,6], named as TorchScript does.
onnx::ModelProto legacy_model(const std::vector<float>& table, const std::vector<float>& head,
                              const std::vector<float>& first, const std::vector<float>& second) {
  onnx::ModelProto model = parse_model(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (int64[3] ids) => (float[3, 6] logits) {
      h = Gather("emb.weight", ids)
      a = MatMul(h, "onnx::MatMul_10")
      c = MatMul(a, "onnx::MatMul_11")
      logits = MatMul(c, "onnx::MatMul_12")
    }
  )");
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.mutable_node(1)->set_name("/layers.0/wq/MatMul");
  graph.mutable_node(2)->set_name("/layers.1/wq/MatMul");
  graph.mutable_node(3)->set_name("/head/MatMul");
  *graph.add_initializer() = float_tensor("emb.weight", {6, 4}, table);
  *graph.add_initializer() = float_tensor("onnx::MatMul_10", {4, 4}, first);
  *graph.add_initializer() = float_tensor("onnx::MatMul_11", {4, 4}, second);
  *graph.add_initializer() = float_tensor("onnx::MatMul_12", {4, 6}, head);
  return model;
}

TEST(Names, ComeFromTorchScriptNodeNames) {
  const ImportedModel model = import_proto(legacy_model(series(24, 0), series(24, 50), series(16, 5), series(16, 9)));
  EXPECT_EQ(find(model, "onnx::MatMul_10").name, "layers.0.wq.weight");
  EXPECT_EQ(find(model, "onnx::MatMul_11").name, "layers.1.wq.weight");
  EXPECT_EQ(find(model, "onnx::MatMul_12").name, "head.weight");
  EXPECT_EQ(model.graph.find_input("head.weight")->initializer, "onnx::MatMul_12");
  EXPECT_EQ(find(model, "onnx::MatMul_12").reason, "a float initializer on a path to the outputs");
}

TEST(Names, AreTakenBackWhereTheyStandForDifferentTensors) {
  onnx::ModelProto proto = legacy_model(series(24, 0), series(24, 50), series(16, 5), series(16, 9));
  proto.mutable_graph()->mutable_node(2)->set_name("/layers.0/wq/MatMul");
  const ImportedModel model = import_proto(proto);
  EXPECT_EQ(find(model, "onnx::MatMul_10").name, "onnx::MatMul_10");
  EXPECT_EQ(find(model, "onnx::MatMul_11").name, "onnx::MatMul_11");
}

TEST(Ties, HeadThatTransposesTheEmbedding) {
  const std::vector<float> table = series(24, 0);
  const ImportedModel model = import_proto(legacy_model(table, transposed(table, 6, 4), series(16, 5), series(16, 9)));
  const Initializer& head = find(model, "onnx::MatMul_12");
  EXPECT_EQ(head.tied_to, "emb.weight");
  EXPECT_TRUE(head.transposed);
  EXPECT_TRUE(head.trainable);
  EXPECT_EQ(weight_inputs(model), 3U);
  EXPECT_NE(std::find(model.notes.begin(), model.notes.end(),
                      "tied again: 'onnx::MatMul_12' is the transpose of 'emb.weight'; both are trained as one weight"),
            model.notes.end());
}

// A fresh nn.TransformerEncoder starts with equal layers, which are different parameters all the same.
TEST(Ties, EqualLayersAreNotTied) {
  const ImportedModel model = import_proto(legacy_model(series(24, 0), series(24, 50), series(16, 5), series(16, 5)));
  EXPECT_EQ(find(model, "onnx::MatMul_11").tied_to, "");
  EXPECT_EQ(weight_inputs(model), 4U);
}

TEST(Ties, CopiesOfASharedLayerAreTied) {
  onnx::ModelProto proto = legacy_model(series(24, 0), series(24, 50), series(16, 5), series(16, 5));
  proto.mutable_graph()->mutable_node(2)->set_name("/layers.0/wq/MatMul");
  const ImportedModel model = import_proto(proto);
  EXPECT_EQ(find(model, "onnx::MatMul_11").tied_to, "onnx::MatMul_10");
  EXPECT_FALSE(find(model, "onnx::MatMul_11").transposed);
  EXPECT_EQ(find(model, "onnx::MatMul_10").name, "layers.0.wq.weight");
}

TEST(Ties, ConstantTensorsAreNotTied) {
  const ImportedModel model =
      import_proto(legacy_model(std::vector<float>(24, 1), std::vector<float>(24, 1), series(16, 5), series(16, 9)));
  EXPECT_EQ(find(model, "onnx::MatMul_12").tied_to, "");
}

// y = (x * folded_norm) @ w + expanded, cos(x + frequencies), as torch.export writes it.
onnx::ModelProto exported_model() {
  onnx::ModelProto model = parse_model(R"(
    <ir_version: 10, opset_import: ["" : 20]>
    g (float[2, 4] x) => (float[2, 4] y) {
      a = Mul(x, add_1)
      b = MatMul(a, val_7)
      c = Add(b, bias)
      d = Add(c, expand)
      y = Mul(d, table)
    }
  )");
  onnx::GraphProto& graph = *model.mutable_graph();
  set_metadata(*graph.add_metadata_props(), "pkg.torch.export.ExportedProgram.graph_signature",
               "\n# inputs\np_lin_weight: PARAMETER target='lin.weight'\np_lin_bias: PARAMETER target='lin.bias'\n"
               "p_norm: PARAMETER target='norm.weight'\np_cls: PARAMETER target='cls'\n"
               "b_table: BUFFER target='table' persistent=False\nx: USER_INPUT\n");
  set_metadata(*graph.mutable_node(1)->add_metadata_props(), "pkg.torch.onnx.fx_node",
               "%linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%mul, "
               "%p_lin_weight, %p_lin_bias), kwargs = {})");
  set_metadata(*graph.mutable_node(1)->add_metadata_props(), "pkg.torch.onnx.name_scopes",
               "['', 'blocks.0', 'blocks.0.lin', 'linear']");
  *graph.add_initializer() = float_tensor("add_1", {4}, {1, 2, 3, 4});
  *graph.add_initializer() = float_tensor("val_7", {4, 4}, series(16, 1));
  *graph.add_initializer() = float_tensor("bias", {4}, {4, 3, 2, 1});
  *graph.add_initializer() = float_tensor("expand", {2, 4}, {1, 2, 3, 4, 1, 2, 3, 4});
  *graph.add_initializer() = float_tensor("table", {4}, {1, 5, 2, 6});
  const auto folded = [&](const std::string& name, const std::string& sources) {
    onnx::ValueInfoProto& info = *graph.add_value_info();
    info.set_name(name);
    set_metadata(*info.add_metadata_props(), "pkg.onnxscript.optimizer.folded_from", sources);
  };
  folded("add_1", "['norm.weight', 'val_5']");
  folded("val_7", "['lin.weight']");
  folded("expand", "['cls', 'val_6']");
  const auto kept = [&](const std::string& name, const std::string& kind) {
    onnx::ValueInfoProto& info = *graph.add_value_info();
    info.set_name(name);
    set_metadata(*info.add_metadata_props(), "pkg.torch.export.graph_signature.InputSpec.kind", kind);
  };
  kept("bias", "PARAMETER");
  kept("table", "BUFFER");
  return model;
}

TEST(Names, ComeFromTorchExportMetadata) {
  const ImportedModel model = import_proto(exported_model());
  EXPECT_EQ(find(model, "val_7").name, "lin.weight");
  EXPECT_EQ(find(model, "val_7").reason, "a parameter of the exported module");
  for (const NodeId id : model.graph.order())
    EXPECT_EQ(model.graph.node(id).origin.scope, model.graph.node(id).op == Op::contraction ? "blocks.0.lin" : "");
}

TEST(Trainable, FollowsWhatTheExporterDid) {
  const ImportedModel model = import_proto(exported_model());
  EXPECT_TRUE(find(model, "add_1").trainable);
  EXPECT_EQ(find(model, "add_1").reason, "computed by the exporter from parameter 'norm.weight', trained in its place");
  EXPECT_EQ(find(model, "add_1").name, "add_1");
  EXPECT_FALSE(find(model, "expand").trainable);
  EXPECT_EQ(find(model, "expand").reason,
            "the exporter expanded parameter 'cls' into it, so its elements are not independent");
  EXPECT_FALSE(find(model, "table").trainable);
  EXPECT_EQ(find(model, "table").reason, "a buffer of the exported module");
}

TEST(Trainable, LeavesOutWhatIsNotAWeight) {
  onnx::ModelProto proto = parse_model(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 4] x, int64[2] positions) => (float[2, 4] y, float[2, 2] rope) {
      a = Add(x, mask)
      b = Mul(a, scale)
      y = MatMul(b, weight)
      p = Cast <to = 1> (positions)
      q = Unsqueeze(p, axes)
      angles = Mul(q, inv_freq)
      rope = Cos(angles)
    }
  )");
  onnx::GraphProto& graph = *proto.mutable_graph();
  *graph.add_initializer() = float_tensor("mask", {2, 4}, {0, -kInf, 0, 0, 0, 0, 0, 0});
  *graph.add_initializer() = float_tensor("scale", {}, {2});
  *graph.add_initializer() = float_tensor("weight", {4, 4}, series(16, 1));
  *graph.add_initializer() = float_tensor("inv_freq", {2}, {1, 0.5});
  *graph.add_initializer() = float_tensor("unused", {4}, {1, 2, 3, 4});
  onnx::TensorProto& axes = *graph.add_initializer();
  axes.set_name("axes");
  axes.set_data_type(onnx::TensorProto::INT64);
  axes.add_dims(1);
  axes.add_int64_data(1);
  const ImportedModel model = import_proto(proto);
  EXPECT_EQ(find(model, "mask").reason, "holds infinite or extreme values: a mask");
  EXPECT_EQ(find(model, "scale").reason, "a scalar constant");
  EXPECT_EQ(find(model, "inv_freq").reason, "no differentiable path from it to a float output");
  EXPECT_EQ(find(model, "unused").reason, "not read by any node that the outputs need");
  EXPECT_EQ(find(model, "axes").reason, "not a float tensor");
  EXPECT_TRUE(find(model, "weight").trainable);
  EXPECT_EQ(std::count_if(model.initializers.begin(), model.initializers.end(),
                          [](const Initializer& i) { return i.trainable; }),
            1);
  EXPECT_EQ(model.graph.find_input("unused"), nullptr);
}

TEST(Trainable, ObeysGlobs) {
  const onnx::ModelProto proto = legacy_model(series(24, 0), series(24, 50), series(16, 5), series(16, 9));
  const ImportedModel chosen = import_proto(proto, {.trainable = {"layers.*"}, .frozen = {"*MatMul_11"}});
  EXPECT_EQ(find(chosen, "emb.weight").reason, "not in --trainable");
  EXPECT_TRUE(find(chosen, "onnx::MatMul_10").trainable);
  EXPECT_EQ(find(chosen, "onnx::MatMul_11").reason, "chosen by --frozen");
  EXPECT_FALSE(chosen.graph.find_input("layers.1.wq.weight")->trainable);
  EXPECT_EQ(import_error(proto, {.frozen = {"absent*"}}),
            "--frozen 'absent*': no initializer of the model has such a name");
}

// [300, 300], beyond what becomes a constant: the key after the query's is seen too, but for what `change` does.
ImportedModel masked_by(const std::function<void(std::string&)>& change) {
  onnx::ModelProto model = parse_model(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[300, 300] x) => (float[300, 300] y) { y = Where(mask, x, zero) }
  )");
  onnx::GraphProto& graph = *model.mutable_graph();
  *graph.add_initializer() = float_tensor("zero", {}, {0});
  onnx::TensorProto& mask = *graph.add_initializer();
  mask.set_name("mask");
  mask.set_data_type(onnx::TensorProto::BOOL);
  for (int i = 0; i < 2; ++i) mask.add_dims(300);
  std::string bytes;
  for (int query = 0; query < 300; ++query)
    for (int key = 0; key < 300; ++key) bytes += key <= query + 1 ? '\1' : '\0';
  change(bytes);
  mask.set_raw_data(bytes);
  return import_proto(model);
}

TEST(Masks, LargeCausalOnesAreComputed) {
  const ImportedModel model = masked_by([](std::string&) {});
  EXPECT_EQ(weight_inputs(model), 0U);
  RefTensor x(Type{Dtype::f32, {300, 300}});
  std::fill(x.real.begin(), x.real.end(), 1.0);
  const RefTensor y = interpret(model.graph, {{"x", x}}, RefPrecision::f32).outputs.at("y");
  for (int64_t query = 0; query < 300; ++query)
    for (int64_t key = 0; key < 300; ++key)
      ASSERT_EQ(y.real[static_cast<size_t>(300 * query + key)], key <= query + 1 ? 1 : 0);
}

TEST(Masks, AllButCausalOnesAreRead) {
  EXPECT_EQ(weight_inputs(masked_by([](std::string& bytes) { bytes.back() = '\0'; })), 1U);
  EXPECT_EQ(weight_inputs(masked_by([](std::string& bytes) { bytes.assign(bytes.size(), '\1'); })), 1U);
}

TEST(Glob, MatchesAnyTextAndAnyCharacter) {
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("a*c*e", "abcde"));
  EXPECT_TRUE(glob_matches("a?c", "abc"));
  EXPECT_TRUE(glob_matches("*aab", "aaaab"));
  EXPECT_FALSE(glob_matches("a?c", "ac"));
  EXPECT_FALSE(glob_matches("abc", "abcd"));
  EXPECT_FALSE(glob_matches("", "a"));
}

}  // namespace
}  // namespace stepc
