#include "models/onnx/save.h"

#include "ir/support/error.h"
#include "models/onnx/element_types.h"
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

void save_onnx(const std::string& source, const std::map<std::string, Tensor>& weights, const std::string& path) {
  const onnx_import::ModelFile file(source);
  std::map<std::string, const onnx_import::StoredTensor*> stored;
  for (const auto& tensor : file.initializers()) stored.emplace(tensor.name, &tensor);
  onnx::ModelProto model = file.proto();
  const auto payload = [&](const onnx::TensorProto& tensor) -> Tensor {
    const onnx_import::StoredTensor* old = stored.at(tensor.name());
    if (const auto entry = weights.find(tensor.name()); entry != weights.end())
      return converted(entry->second, old->type.dtype);
    if (!old->data) user_error("{}: initializer '{}' has no weights to save", source, tensor.name());
    return {old->type, {old->data->data, static_cast<size_t>(old->type.bytes())}};
  };
  clear_shapes_only(model);
  onnx_import::write_with_weights(model, payload, path);
}

}  // namespace stepc
