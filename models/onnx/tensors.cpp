#include "models/onnx/tensors.h"

#include "ir/support/error.h"
#include "ir/support/quote.h"
#include "models/onnx/element_types.h"

#include <bit>
#include <cstring>

namespace stepc::onnx_import {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian and used in place");

template <typename T>
TensorView view_of(const google::protobuf::RepeatedField<T>& field, const Type& type, const std::string& name) {
  if (field.size() != type.shape.numel())
    user_error("tensor {} has {} elements where {} needs {}", in_quotes(name), field.size(), to_string(type),
               type.shape.numel());
  return {type, reinterpret_cast<const std::byte*>(field.data())};
}

// int32_data holds one element per entry for all narrow types: the value of integers and booleans, the bit pattern of
// float16 and bfloat16.
Tensor narrow(const TensorView& wide, const Type& type) {
  Tensor tensor(type);
  const std::span<const int32_t> values{reinterpret_cast<const int32_t*>(wide.data),
                                        static_cast<size_t>(type.shape.numel())};
  const auto width = static_cast<size_t>(dtype_bytes(type.dtype));
  for (size_t i = 0; i < values.size(); ++i) std::memcpy(tensor.bytes().data() + i * width, &values[i], width);
  return tensor;
}

}  // namespace

Type type_of(const onnx::TensorProto& tensor) {
  const std::optional<Dtype> dtype = dtype_of(tensor.data_type());
  if (!dtype)
    user_error("tensor {}: element type {} is not supported", in_quotes(tensor.name()),
               element_type_name(tensor.data_type()));
  try {
    Type type{*dtype, Shape(Dims(tensor.dims().begin(), tensor.dims().end()))};
    type.bytes();
    return type;
  } catch (const UserError& error) {
    user_error("tensor {}: {}", in_quotes(tensor.name()), error.what());
  }
}

TensorView TensorReader::read(const onnx::TensorProto& tensor) {
  const Type type = type_of(tensor);
  const auto align = static_cast<uintptr_t>(dtype_bytes(type.dtype));
  std::span<const std::byte> bytes;
  if (tensor.has_segment())
    user_error("tensor {} is stored in segments, which is not supported", in_quotes(tensor.name()));
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    bytes = external_.read(tensor, type.bytes());
  } else if (tensor.has_raw_data()) {
    bytes = std::as_bytes(std::span(tensor.raw_data().data(), tensor.raw_data().size()));
    if (static_cast<int64_t>(bytes.size()) != type.bytes())
      user_error("tensor {} has {} bytes where {} needs {}", in_quotes(tensor.name()), bytes.size(), to_string(type),
                 type.bytes());
  } else {
    switch (type.dtype) {
      case Dtype::f32: return view_of(tensor.float_data(), type, tensor.name());
      case Dtype::f64: return view_of(tensor.double_data(), type, tensor.name());
      case Dtype::i64: return view_of(tensor.int64_data(), type, tensor.name());
      case Dtype::i32: return view_of(tensor.int32_data(), type, tensor.name());
      default: return copies_.emplace_back(narrow(view_of(tensor.int32_data(), type, tensor.name()), type)).view();
    }
  }
  if (reinterpret_cast<uintptr_t>(bytes.data()) % align != 0) return copies_.emplace_back(type, bytes).view();
  return {type, bytes.data()};
}

Tensor convert(const TensorView& view, Dtype to) {
  const int64_t numel = view.type.shape.numel();
  if (view.type.dtype == to && to != Dtype::boolean)
    return {view.type, std::span(view.data, static_cast<size_t>(view.type.bytes()))};
  Tensor tensor(Type{to, view.type.shape});
  for (int64_t i = 0; i < numel; ++i) set_element(tensor, i, element(view, i));
  return tensor;
}

}  // namespace stepc::onnx_import
