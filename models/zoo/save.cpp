#include "ir/support/error.h"
#include "models/onnx/write.h"
#include "models/zoo/random_weights.h"
#include "models/zoo/transformer.h"
#include "models/zoo/zoo.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace stepc {
namespace {

Type type_of(const onnx::TensorProto& tensor) {
  return Type{Dtype::f32, Shape(Dims(tensor.dims().begin(), tensor.dims().end()))};
}

void leave_out_weights(onnx::ModelProto& model) {
  for (auto& tensor : *model.mutable_graph()->mutable_initializer())
    onnx_import::set_external(tensor, "stepc-no-weights");
  auto* entry = model.add_metadata_props();
  entry->set_key("stepc.weights");
  entry->set_value("none");
}

}  // namespace

int64_t zoo_parameters(const ZooConfig& config) {
  const zoo::OnnxWriter writer = zoo::write_transformer(config);
  int64_t count = 0;
  for (const auto& tensor : writer.model().graph().initializer()) count += type_of(tensor).shape.numel();
  return count;
}

void write_zoo_onnx(const ZooConfig& config, std::optional<uint64_t> seed, const std::string& path) {
  zoo::OnnxWriter writer = zoo::write_transformer(config);
  onnx::ModelProto& model = writer.model();
  if (seed) {
    const auto payload = [&](const onnx::TensorProto& tensor) {
      return random_weight(tensor.name(), type_of(tensor), *seed);
    };
    onnx_import::write_with_weights(model, payload, path);
  } else {
    leave_out_weights(model);
    onnx_import::write_model(model, path);
  }
}

void save_zoo_onnx(const ZooConfig& config, const TrainedWeight& trained, const std::string& path) {
  zoo::OnnxWriter writer = zoo::write_transformer(config);
  const auto payload = [&](const onnx::TensorProto& tensor) {
    std::optional<Tensor> weight = trained(tensor.name());
    CHECK(weight && weight->type() == type_of(tensor), "initializer {} of {}", tensor.name(), config.name);
    return *std::move(weight);
  };
  onnx_import::write_with_weights(writer.model(), payload, path);
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
