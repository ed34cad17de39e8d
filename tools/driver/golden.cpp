#include "tools/driver/golden.h"

#include "ir/support/error.h"
#include "tools/driver/io/files.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace stepc {
namespace {

Tensor transposed(const Tensor& matrix) {
  const Shape& shape = matrix.type().shape;
  Tensor result(Type{matrix.type().dtype, Shape({shape[1], shape[0]})});
  for (int64_t i = 0; i < shape[0]; ++i)
    for (int64_t k = 0; k < shape[1]; ++k)
      set_element(result, k * shape[0] + i, element(matrix.view(), i * shape[1] + k));
  return result;
}

Tensor reshaped(const Tensor& tensor, const Shape& shape) { return {Type{tensor.type().dtype, shape}, tensor.bytes()}; }

// The first rows of a tensor.
Tensor rows(const Tensor& tensor, int64_t count) {
  Dims dims = tensor.type().shape.dims();
  if (dims.empty() || dims[0] < count) return tensor;
  dims[0] = count;
  const Type type{tensor.type().dtype, Shape(dims)};
  return {type, tensor.bytes().subspan(0, static_cast<size_t>(type.bytes()))};
}

// A golden gradient in the layout in which the initializer holds the parameter. Relations that change values by a
// constant leave the gradient as it is; -exp chains: d/dA of f(-exp(A)) = f' · -exp(A), so f' is not comparable here.
Tensor as_held(const Tensor& gradient, const std::string& relation, const Shape& shape) {
  if (relation == "T") return transposed(gradient);
  if (relation.starts_with("rows[:")) {
    int64_t count = 0;
    std::from_chars(relation.data() + 6, relation.data() + relation.size(), count);
    const Tensor first = rows(gradient, count);
    return first.type().shape.numel() == shape.numel() ? reshaped(first, shape) : first;  // a batch of 1 before them
  }
  return relation == "reshape" && gradient.type().shape.numel() == shape.numel() ? reshaped(gradient, shape) : gradient;
}

// The one parameter with a gradient that a weight's values, or their transpose, are those of; empty where there is none
// or several.
std::string parameter_with_values(const Golden& golden, const Tensor& weight) {
  constexpr std::string_view kPrefix = "param/";
  const Tensor flipped = weight.type().shape.rank() == 2 ? transposed(weight) : Tensor();
  std::string found;
  for (const auto& [name, array] : golden.arrays.arrays) {
    if (!name.starts_with(kPrefix) || (array != weight && array != flipped)) continue;
    const std::string parameter = name.substr(kPrefix.size());
    if (golden.arrays.find(fmt::format("grad/{}", parameter)) == nullptr) continue;
    if (!found.empty()) return {};
    found = parameter;
  }
  return found;
}

// Whether a matrix holds the parameter transposed: as the shape says or, of a square matrix, the values; where the
// golden file has none, the nearer gradient.
bool is_held_transposed(const Golden& golden, const std::string& parameter, const Tensor& value, const Tensor& gradient,
                        const Tensor& actual) {
  const Shape& shape = actual.type().shape;
  if (shape[0] != shape[1]) return gradient.type().shape != shape;
  if (const Tensor* held = golden.arrays.find(fmt::format("param/{}", parameter))) {
    if (*held == value) return false;
    if (*held == transposed(value)) return true;
  }
  return compare("", transposed(gradient), actual, {}).largest < compare("", gradient, actual, {}).largest;
}

// Without a map: the parameter of the recovered name, or where exporters left none that of the weight's values.
ParameterRelation guess_relation(const Golden& golden, const GraphInput& weight, const Tensor& value,
                                 const Tensor& actual) {
  ParameterRelation guess{weight.name, "same"};
  if (golden.arrays.find(fmt::format("grad/{}", weight.name)) == nullptr)
    guess.parameter = parameter_with_values(golden, value);
  const Tensor* gradient = golden.arrays.find(fmt::format("grad/{}", guess.parameter));
  if (gradient == nullptr || actual.type().shape.rank() != 2) return guess;
  if (is_held_transposed(golden, guess.parameter, value, *gradient, actual)) guess.relation = "T";
  return guess;
}

// Rows whose position the attention mask leaves out are whatever the exporter made of them: not compared.
Tensor without_masked_rows(const Tensor& output, const Tensor* mask, const Tensor& expected) {
  Tensor result = output;
  if (mask == nullptr || output.type().shape.rank() < 3 || output.type().shape != expected.type().shape) return result;
  const int64_t positions = mask->type().shape.numel();
  if (positions != output.type().shape[0] * output.type().shape[1]) return result;
  const int64_t width = output.type().shape.numel() / std::max<int64_t>(positions, 1);
  for (int64_t position = 0; position < positions; ++position)
    for (int64_t k = 0; k < width && element(mask->view(), position) == 0; ++k)
      set_element(result, position * width + k, element(expected.view(), position * width + k));
  return result;
}

void compare_outputs(const Golden& golden, const Graph& graph, const Backend& backend, const Tolerance& tolerance,
                     std::vector<Difference>& differences) {
  for (const GraphOutput& output : graph.outputs()) {
    if (output.role == OutputRole::loss) {
      const Tensor* expected = golden.arrays.find("loss");
      if (expected != nullptr)
        differences.push_back(compare("loss", backend.output(output.name), *expected, tolerance));
    } else if (output.role == OutputRole::output) {
      const Tensor* expected = golden.arrays.find(fmt::format("out/{}", output.name));
      if (expected == nullptr) continue;
      const Tensor actual =
          without_masked_rows(backend.output(output.name), golden.arrays.find("in/attention_mask"), *expected);
      differences.push_back(compare(fmt::format("out/{}", output.name), actual, *expected, tolerance));
    }
  }
}

// "grad/NAME" and "gradin/NAME" are the names of gradient outputs.
std::vector<const GraphOutput*> gradient_outputs(const Graph& graph) {
  std::vector<const GraphOutput*> outputs;
  for (const GraphOutput& output : graph.outputs())
    if (output.role == OutputRole::gradient) outputs.push_back(&output);
  return outputs;
}

}  // namespace

bool Golden::has_input_gradients() const {
  return std::ranges::any_of(arrays.arrays, [](const auto& entry) { return entry.first.starts_with("gradin/"); });
}

double Golden::largest_gradient() const {
  double largest = 0;
  for (const auto& [name, array] : arrays.arrays)
    if (name.starts_with("grad/"))
      for (int64_t i = 0; i < array.type().shape.numel(); ++i)
        largest = std::max(largest, std::abs(element(array.view(), i)));
  return largest;
}

ParameterMap read_parameter_map(const std::string& path, const std::string& model_name) {
  ParameterMap map;
  try {
    const auto document = nlohmann::json::parse(read_text_file(path));
    if (!document.contains(model_name)) return map;
    for (const auto& [initializer, entry] : document.at(model_name).at("map").items())
      map[initializer] = {entry.at(0).get<std::string>(), entry.at(1).get<std::string>()};
  } catch (const nlohmann::json::exception& error) {
    user_error("{}: not a parameter map: {}", path, error.what());
  }
  return map;
}

GoldenComparison compare_with_golden(const Golden& golden, const ParameterMap& map, const Graph& graph,
                                     const Backend& backend, const Tolerance& tolerance) {
  std::vector<Difference> differences;
  std::vector<std::string> notes;
  const auto not_compared = [&](std::string_view name) { notes.push_back(fmt::format("not compared: {}", name)); };
  std::set<std::string> used;
  int64_t by_transpose = 0;
  compare_outputs(golden, graph, backend, tolerance, differences);
  for (const GraphOutput* output : gradient_outputs(graph)) {
    const Tensor actual = backend.output(output->name);
    if (output->name.starts_with("gradin/")) {
      used.insert(output->name);
      if (const Tensor* expected = golden.arrays.find(output->name))
        differences.push_back(compare(output->name, actual, *expected, tolerance));
      else
        not_compared(output->name);
      continue;
    }
    const std::string initializer = output->name.substr(5);
    const auto weight = std::ranges::find_if(graph.inputs(), [&](const GraphInput& input) {
      return input.role == InputRole::weight && input.initializer == initializer;
    });
    const auto entry = map.find(initializer);
    const ParameterRelation relation = entry != map.end() ? entry->second
                                       : weight != graph.inputs().end()
                                           ? guess_relation(golden, *weight, backend.persistent(weight->name), actual)
                                           : ParameterRelation{initializer, "same"};
    const std::string name = fmt::format("grad/{}", relation.parameter);
    const Tensor* expected = golden.arrays.find(name);
    used.insert(name);
    const Shape& shape = actual.type().shape;
    const bool nearer = entry == map.end() && relation.relation == "T" && shape[0] == shape[1] &&
                        golden.arrays.find(fmt::format("param/{}", relation.parameter)) == nullptr;
    by_transpose += nearer ? 1 : 0;
    if (expected == nullptr || relation.relation == "-exp")
      not_compared(output->name);
    else
      differences.push_back(
          compare(output->name, actual, as_held(*expected, relation.relation, actual.type().shape), tolerance));
  }
  for (const auto& [name, array] : golden.arrays.arrays)
    if ((name.starts_with("grad/") || name.starts_with("gradin/")) && !used.contains(name))
      not_compared(fmt::format("{} of the golden file", name));
  if (by_transpose > 0)
    notes.push_back(
        fmt::format("compared as transposes, which are nearer: {} square; --param-map, or param/NAME beside grad/NAME, "
                    "decides",
                    by_transpose));
  return {std::move(differences), std::move(notes)};
}

}  // namespace stepc
