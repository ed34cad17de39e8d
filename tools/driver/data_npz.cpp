#include "tools/driver/data_npz.h"

#include "ir/support/error.h"
#include "tools/driver/id_limit.h"

#include <fmt/ranges.h>

#include <cmath>

namespace stepc {
namespace {

// "[1, 3]": the place of a row-major element.
std::string place(const Shape& shape, int64_t index) {
  Dims at(shape.rank());
  for (size_t axis = shape.rank(); axis-- > 0; index /= shape[axis]) at[axis] = index % shape[axis];
  return fmt::format("[{}]", fmt::join(at, ", "));
}

bool holds_integer(Dtype dtype, int64_t value) {
  switch (dtype) {
    case Dtype::boolean: return value == 0 || value == 1;
    case Dtype::i8: return value >= -128 && value <= 127;
    case Dtype::u8: return value >= 0 && value <= 255;
    case Dtype::i32: return value == static_cast<int32_t>(value);
    default: return true;
  }
}

}  // namespace

std::map<std::string, Dims> NpzData::input_shapes() const {
  std::map<std::string, Dims> shapes;
  for (const auto& [name, array] : npz_.arrays)
    if (name.starts_with("in/"))
      shapes[name.substr(3)] = array.type().shape.dims();
    else if (name.find('/') == std::string::npos)
      shapes[name] = array.type().shape.dims();
  return shapes;
}

const Tensor& NpzData::array_for(const GraphInput& input) const {
  const Tensor* array = npz_.find("in/" + input.name);
  if (array == nullptr) array = npz_.find(input.name);
  if (array == nullptr && input.role == InputRole::label) array = npz_.find("label");
  if (array == nullptr) user_error("{} has no array for input '{}'", path_, input.name);
  return *array;
}

Batch NpzData::batch(const Graph& graph, int64_t) const {
  Batch batch;
  for (const GraphInput& input : graph.inputs())
    if (is_in_batch(input)) batch.emplace(input.name, converted(array_for(input), graph.type(input.value), input.name));
  return batch;
}

// Integers may be of another width, floats of another precision; nothing else is converted.
Tensor NpzData::converted(const Tensor& array, const Type& wanted, const std::string& name) const {
  const Type& given = array.type();
  if (given.shape != wanted.shape || is_float(given.dtype) != is_float(wanted.dtype))
    user_error("{}: array '{}' is {}, the model's input is {}", path_, name, to_string(given), to_string(wanted));
  if (given.dtype == wanted.dtype) return array;
  Tensor result(wanted);
  for (int64_t i = 0; i < wanted.shape.numel(); ++i) {
    if (!is_float(wanted.dtype) && !holds_integer(wanted.dtype, element_i64(array.view(), i)))
      user_error("{}: array '{}' has {} at {}, which the input's {} cannot hold", path_, name,
                 element_i64(array.view(), i), place(wanted.shape, i), dtype_name(wanted.dtype));
    set_element(result, i, element(array.view(), i));
  }
  return result;
}

void NpzData::check(const Graph& graph, const LossOptions& loss) const {
  const Batch values = batch(graph, 0);
  for (const GraphInput& input : graph.inputs()) {
    if (!is_in_batch(input)) continue;
    const Tensor& array = values.at(input.name);
    if (is_float(array.type().dtype))
      check_floats(input, array);
    else if (input.role == InputRole::label)
      check_labels(graph, input, array, loss.ignore_index);
    else
      check_indices(graph, input, array);
  }
}

void NpzData::check_indices(const Graph& graph, const GraphInput& input, const Tensor& array) const {
  const std::optional<int64_t> limit = id_limit(graph, input.value, Through::views);
  for (int64_t i = 0; limit && i < array.type().shape.numel(); ++i) {
    const int64_t index = element_i64(array.view(), i);
    if (index < -*limit || index >= *limit)
      user_error("{}: '{}' has {} at {}, past the {} rows that it indexes", path_, input.name, index,
                 place(array.type().shape, i), *limit);
  }
}

void NpzData::check_labels(const Graph& graph, const GraphInput& input, const Tensor& array, int64_t ignored) const {
  const std::optional<int64_t> classes = id_limit(graph, input.value, Through::selects);
  if (!classes) return;
  int64_t counted = 0;
  for (int64_t i = 0; i < array.type().shape.numel(); ++i) {
    const int64_t label = element_i64(array.view(), i);
    if (label == ignored) continue;
    if (label < 0 || label >= *classes)
      user_error("{}: '{}' has {} at {}; labels are 0 to {}, or {} where none counts", path_, input.name, label,
                 place(array.type().shape, i), *classes - 1, ignored);
    ++counted;
  }
  if (counted == 0)
    user_error("{}: all labels in '{}' are {}, so none counts and the loss is a mean of nothing", path_, input.name,
               ignored);
}

// An infinity may be a mask; NaN is nothing.
void NpzData::check_floats(const GraphInput& input, const Tensor& array) const {
  for (int64_t i = 0; i < array.type().shape.numel(); ++i) {
    const double value = element(array.view(), i);
    if (std::isnan(value) || (input.role == InputRole::label && std::isinf(value)))
      user_error("{}: '{}' has {} at {}", path_, input.name, value, place(array.type().shape, i));
  }
}

}  // namespace stepc
