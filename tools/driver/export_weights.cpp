#include "tools/driver/export_weights.h"

#include "ir/support/error.h"
#include "models/onnx/save.h"

#include <cstring>
#include <filesystem>
#include <map>

namespace stepc {
namespace {

Tensor transposed(const Tensor& matrix) {
  const Shape& shape = matrix.type().shape;
  const auto size = static_cast<size_t>(dtype_bytes(matrix.type().dtype));
  Tensor result(Type{matrix.type().dtype, Shape({shape[1], shape[0]})});
  for (int64_t i = 0; i < shape[0]; ++i)
    for (int64_t k = 0; k < shape[1]; ++k)
      std::memcpy(result.bytes().data() + static_cast<size_t>(k * shape[0] + i) * size,
                  matrix.bytes().data() + static_cast<size_t>(i * shape[1] + k) * size, size);
  return result;
}

// A file that exists while this object does.
class ShapesFile {
 public:
  ShapesFile(const ZooConfig& config, std::string path) : path_(std::move(path)) {
    write_zoo_onnx(config, std::nullopt, path_);
  }
  ~ShapesFile() { std::filesystem::remove(path_); }
  ShapesFile(const ShapesFile&) = delete;
  ShapesFile& operator=(const ShapesFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

void export_weights(const DriverOptions& options, const Model& model, const Session& session, const std::string& path) {
  std::map<std::string, Tensor> weights;
  for (const Initializer& initializer : model.import.initializers) {
    if (!session.has_weight(initializer.name)) continue;
    Tensor weight = session.weight(initializer.name);
    weights.emplace(initializer.initializer, initializer.transposed ? transposed(weight) : std::move(weight));
  }
  if (model.source == "onnx") {
    save_onnx(options.model, weights, path);
  } else if (model.source == "zoo") {
    const ShapesFile shapes(zoo_config(options.model, options.zoo), path + ".shapes");
    save_onnx(shapes.path(), weights, path);
  } else {
    user_error("--save {}: {} did not come from ONNX; save to a .safetensors file", path, options.model);
  }
}

}  // namespace stepc
