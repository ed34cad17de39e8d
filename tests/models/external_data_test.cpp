// External data: what is read, and every way out of the model's folder or past the end of a file that must be refused.

#include "tests/models/model_text.h"

#include <sys/stat.h>

#include <cstring>
#include <filesystem>

namespace stepc {
namespace {

constexpr const char* kModel = R"(
  <ir_version: 8, opset_import: ["" : 17]>
  g (float[2] x) => (float[2] y) { y = Add(x, w) }
)";

using Entries = std::vector<std::pair<std::string, std::string>>;

onnx::ModelProto with_external(const Entries& entries) {
  onnx::ModelProto model = parse_model(kModel);
  onnx::TensorProto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(2);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    onnx::StringStringEntryProto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  return model;
}

std::string floats(std::initializer_list<float> values) {
  return {reinterpret_cast<const char*>(std::data(values)), values.size() * sizeof(float)};
}

class ExternalDataTest : public ::testing::Test {
 protected:
  ExternalDataTest() {
    std::filesystem::create_directory(folder.path("model"));
    folder.write("model/w.data", std::string(3, '\0') + floats({7, 8}));
    folder.write("outside.data", floats({1, 2}));
  }

  ImportedModel import(const Entries& entries) const {
    return import_onnx(folder.write("model/model.onnx", with_external(entries).SerializeAsString()));
  }
  std::string refusal(const Entries& entries) const {
    return error_of([&] { import(entries); });
  }

  TemporaryFolder folder;
};

TEST_F(ExternalDataTest, IsReadWithoutAlignment) {
  const ImportedModel model = import({{"location", "./w.data"}, {"offset", "3"}, {"length", "8"}});
  ASSERT_TRUE(model.initializers.at(0).data.has_value());
  EXPECT_EQ(element(*model.initializers[0].data, 0), 7);
  EXPECT_EQ(element(*model.initializers[0].data, 1), 8);
  EXPECT_TRUE(model.initializers[0].trainable);
}

TEST_F(ExternalDataTest, StaysInTheFolder) {
  std::filesystem::create_symlink("../outside.data", folder.path("model/link"));
  std::filesystem::create_directory_symlink("..", folder.path("model/up"));
  std::filesystem::create_hard_link(folder.path("outside.data"), folder.path("model/hard"));
  ASSERT_EQ(::mkfifo(folder.path("model/pipe").c_str(), 0600), 0);
  const auto at = [&](const std::string& location) { return refusal({{"location", location}}); };
  EXPECT_EQ(at("../outside.data"), "external data '../outside.data' of tensor 'w' leads out of the model's folder");
  EXPECT_EQ(at("a/../../outside.data"),
            "external data 'a/../../outside.data' of tensor 'w' leads out of the model's folder");
  EXPECT_EQ(at("/etc/passwd"),
            "external data '/etc/passwd' of tensor 'w' must be a relative path inside the model's folder");
  const std::string through_link =
      " of tensor 'w' is or passes through a symbolic link or a file: put the data itself "
      "beside the model";
  EXPECT_EQ(at("link"), "external data 'link'" + through_link);
  EXPECT_EQ(at("up/outside.data"), "external data 'up/outside.data'" + through_link);
  EXPECT_EQ(at("hard"),
            "external data 'hard' of tensor 'w' has several hard links: put a copy of the data beside the model");
  EXPECT_EQ(at("pipe"), "external data 'pipe' of tensor 'w' is not a regular file");
  EXPECT_EQ(at("none"), "external data 'none' of tensor 'w' cannot be opened: No such file or directory");
  EXPECT_EQ(at("."), "external data '.' of tensor 'w' names no file");
}

TEST_F(ExternalDataTest, IsBoundedByTheFileAndTheType) {
  EXPECT_EQ(refusal({{"location", "w.data"}, {"offset", "4"}}),
            "external data 'w.data' of tensor 'w': 8 bytes at offset 4 lie outside the file of 11 bytes");
  EXPECT_EQ(refusal({{"location", "w.data"}, {"offset", "18446744073709551615"}}),
            "external data 'w.data' of tensor 'w': 8 bytes at offset 18446744073709551615 lie outside the file of 11 "
            "bytes");
  EXPECT_EQ(refusal({{"location", "w.data"}, {"length", "4"}}),
            "external data 'w.data' of tensor 'w': length 4 where the tensor's type and shape need 8 bytes");
}

TEST_F(ExternalDataTest, KeysAreChecked) {
  EXPECT_EQ(refusal({{"location", "w.data"}, {"size", "8"}}),
            "external data of tensor 'w': unknown key 'size' (known: location, offset, length, checksum)");
  EXPECT_EQ(refusal({{"location", "w.data"}, {"offset", "-1"}}),
            "external data of tensor 'w': offset '-1' is not a number");
  EXPECT_EQ(refusal({{"location", "w.data"}, {"location", "x.data"}}),
            "external data of tensor 'w': key 'location' occurs twice");
  EXPECT_EQ(refusal({}), "external data of tensor 'w' has no location");
}

TEST_F(ExternalDataTest, InAttributesIsReadToo) {
  onnx::ModelProto model = parse_model(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y) { w = Constant <value = float[2] {0, 0}> () y = Add(x, w) }
  )");
  onnx::TensorProto& tensor = *model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_t();
  tensor.clear_float_data();
  tensor.clear_raw_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto& location = *tensor.add_external_data();
  location.set_key("location");
  location.set_value("../outside.data");
  const std::string path = folder.write("model/model.onnx", model.SerializeAsString());
  EXPECT_NE(error_of([&] { import_onnx(path); }).find("leads out of the model's folder"), std::string::npos);
  std::filesystem::copy_file(folder.path("outside.data"), folder.path("model/inside.data"));
  location.set_value("inside.data");
  folder.write("model/model.onnx", model.SerializeAsString());
  EXPECT_NO_THROW(import_onnx(path));
}

TEST_F(ExternalDataTest, NoWeightsNeedsLocationAndMetadata) {
  const Entries entries{{"location", "stepc-no-weights"}};
  EXPECT_EQ(refusal(entries),
            "the location 'stepc-no-weights' and the metadata stepc.weights=none mean a model without weights only "
            "together: the metadata is missing");
  onnx::ModelProto model = with_external(entries);
  onnx::StringStringEntryProto& metadata = *model.add_metadata_props();
  metadata.set_key("stepc.weights");
  metadata.set_value("none");
  const ImportedModel imported = import_proto(model);
  EXPECT_FALSE(imported.weights_present);
  EXPECT_FALSE(imported.initializers.at(0).data.has_value());
  EXPECT_TRUE(imported.initializers.at(0).trainable);
}

}  // namespace
}  // namespace stepc
