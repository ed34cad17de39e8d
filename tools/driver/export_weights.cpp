#include "tools/driver/export_weights.h"

#include "ir/support/error.h"
#include "models/onnx/save.h"

#include <cstring>
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

}  // namespace

void export_weights(const DriverOptions& options, const Model& model, const Session& session, const std::string& path) {
  std::map<std::string, const Initializer*> by_name;
  for (const Initializer& initializer : model.import.initializers)
    by_name.emplace(initializer.initializer, &initializer);
  // A copy that was tied again has the value of the first.
  const TrainedWeight trained = [&](const std::string& name) -> std::optional<Tensor> {
    const auto entry = by_name.find(name);
    if (entry == by_name.end()) return std::nullopt;
    const Initializer& copy = *entry->second;
    const std::string& weight = copy.tied_to.empty() ? copy.name : by_name.at(copy.tied_to)->name;
    if (!session.has_weight(weight)) return std::nullopt;
    return copy.transposed ? transposed(session.weight(weight)) : session.weight(weight);
  };
  if (model.source == "onnx")
    save_onnx(options.model, trained, path);
  else
    save_zoo_onnx(zoo_config(options.model, options.zoo), trained, path);
}

}  // namespace stepc
