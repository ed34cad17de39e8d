#include "models/onnx/save.h"

#include "ir/support/error.h"
#include "models/onnx/external_data.h"
#include "models/onnx/load.h"
#include "models/onnx/write.h"

namespace stepc {
namespace {

Tensor converted(const Tensor& tensor, Dtype dtype) {
  if (tensor.type().dtype == dtype) return tensor;
  Tensor result(Type{dtype, tensor.type().shape});
  for (int64_t i = 0; i < tensor.type().shape.numel(); ++i) set_element(result, i, element(tensor.view(), i));
  return result;
}

// A model that had shapes only has weights now.
void clear_shapes_only(onnx::ModelProto& model) {
  auto* entries = model.mutable_metadata_props();
  for (int i = entries->size(); i-- > 0;)
    if (entries->Get(i).key() == "stepc.weights") entries->DeleteSubrange(i, 1);
}

}  // namespace

void save_onnx(const std::string& source, const TrainedWeight& trained, const std::string& path) {
  onnx_import::TensorReader reader(onnx_import::folder_of(source));
  onnx::ModelProto model = onnx_import::read_message(source, reader);
  const auto payload = [&](const onnx::TensorProto& tensor) -> Tensor {
    if (const std::optional<Tensor> weight = trained(tensor.name()))
      return converted(*weight, onnx_import::type_of(tensor).dtype);
    if (onnx_import::external_location(tensor) == onnx_import::kNoWeightsLocation)
      user_error("{}: initializer '{}' has no weights to save", source, tensor.name());
    const TensorView kept = reader.read(tensor);
    return {kept.type, {kept.data, static_cast<size_t>(kept.type.bytes())}};
  };
  clear_shapes_only(model);
  onnx_import::write_with_weights(model, payload, path);
}

}  // namespace stepc
