#include "ir/support/error.h"
#include "models/zoo/random_weights.h"
#include "models/zoo/transformer.h"
#include "models/zoo/zoo.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace stepc {
namespace {

constexpr int64_t kInlineBytes = int64_t{1} << 30;  // protobuf holds 2 GiB; half of that leaves room

Type type_of(const onnx::TensorProto& tensor) {
  return Type{Dtype::f32, Shape(Dims(tensor.dims().begin(), tensor.dims().end()))};
}

void set_external(onnx::TensorProto& tensor, const std::string& location) {
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = tensor.add_external_data();
  entry->set_key("location");
  entry->set_value(location);
}

void set_entry(onnx::TensorProto& tensor, const std::string& key, int64_t value) {
  auto* entry = tensor.add_external_data();
  entry->set_key(key);
  entry->set_value(std::to_string(value));
}

void leave_out_weights(onnx::ModelProto& model) {
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) set_external(tensor, "stepc-no-weights");
  auto* entry = model.add_metadata_props();
  entry->set_key("stepc.weights");
  entry->set_value("none");
}

// A file that is complete when it gets its name.
class NewFile {
 public:
  explicit NewFile(const std::string& path) : path_(path), temporary_(path + ".part") {
    stream_.open(temporary_, std::ios::binary | std::ios::trunc);
    if (!stream_) user_error("cannot create {}: {}", path_, std::strerror(errno));
  }
  ~NewFile() {
    stream_.close();
    std::remove(temporary_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::span<const std::byte> bytes) {
    stream_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!stream_) user_error("cannot write {}: {}", path_, std::strerror(errno));
  }
  void commit() {
    stream_.close();
    if (!stream_ || std::rename(temporary_.c_str(), path_.c_str()) != 0)
      user_error("cannot write {}: {}", path_, std::strerror(errno));
  }

 private:
  std::string path_;
  std::string temporary_;
  std::ofstream stream_;
};

void write_model(const onnx::ModelProto& model, const std::string& path) {
  std::string bytes;
  if (!model.SerializeToString(&bytes)) user_error("{}: the model exceeds what ONNX can hold in one file", path);
  NewFile file(path);
  file.write(std::as_bytes(std::span(bytes)));
  file.commit();
}

void write_external_weights(onnx::ModelProto& model, uint64_t seed, const std::string& path) {
  NewFile data(path + ".data");
  const std::string location = std::filesystem::path(path).filename().string() + ".data";
  int64_t offset = 0;
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    const Tensor weight = random_weight(tensor.name(), type_of(tensor), seed);
    const auto bytes = static_cast<int64_t>(weight.bytes().size());
    set_external(tensor, location);
    set_entry(tensor, "offset", offset);
    set_entry(tensor, "length", bytes);
    data.write(weight.bytes());
    offset += bytes;
  }
  data.commit();
}

int64_t weight_bytes(const onnx::ModelProto& model) {
  int64_t bytes = 0;
  for (const auto& tensor : model.graph().initializer()) bytes += type_of(tensor).bytes();
  return bytes;
}

}  // namespace

int64_t zoo_parameters(const ZooConfig& config) {
  const zoo::OnnxWriter writer = zoo::write_transformer(config);
  return weight_bytes(writer.model()) / dtype_bytes(Dtype::f32);
}

void write_zoo_onnx(const ZooConfig& config, std::optional<uint64_t> seed, const std::string& path) {
  zoo::OnnxWriter writer = zoo::write_transformer(config);
  onnx::ModelProto& model = writer.model();
  if (!seed) {
    leave_out_weights(model);
  } else if (weight_bytes(model) > kInlineBytes) {
    write_external_weights(model, *seed, path);
  } else {
    for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
      const Tensor weight = random_weight(tensor.name(), type_of(tensor), *seed);
      tensor.set_raw_data(weight.bytes().data(), weight.bytes().size());
    }
  }
  write_model(model, path);
}

ImportedModel import_zoo(const ZooConfig& config, const ImportOptions& options) {
  // The importer reads files: an anonymous one in memory is enough.
  const int descriptor = memfd_create("stepc-zoo", MFD_CLOEXEC);
  if (descriptor < 0) user_error("cannot make a file in memory: {}", std::strerror(errno));
  struct Close {
    int descriptor;
    ~Close() { close(descriptor); }
  } const close_at_end{descriptor};
  zoo::OnnxWriter writer = zoo::write_transformer(config);
  leave_out_weights(writer.model());
  if (!writer.model().SerializeToFileDescriptor(descriptor)) user_error("cannot write a file in memory");
  const std::string path = fmt::format("/proc/self/fd/{}", descriptor);
  try {
    return import_onnx(path, options);
  } catch (const UserError& error) {
    std::string message = error.what();
    if (message.starts_with(path)) message.replace(0, path.size(), "zoo model " + config.name);
    throw UserError(message);
  }
}

}  // namespace stepc
