#include "models/onnx/dims.h"

#include "ir/support/error.h"
#include "ir/support/quote.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace stepc::onnx_import {
namespace {

std::string known_symbols(const std::vector<DeclaredInput>& inputs) {
  std::set<std::string> symbols;
  for (const DeclaredInput& input : inputs)
    for (const DeclaredDim& dim : input.dims)
      if (dim.size < 0) symbols.insert(one_line(dim.symbol));
  return symbols.empty() ? "none" : fmt::format("{}", fmt::join(symbols, ", "));
}

void check_bindings(const std::vector<DeclaredInput>& inputs, const DimBindings& dims) {
  for (const auto& [symbol, size] : dims) {
    const auto has_symbol = [&name = symbol](const DeclaredInput& input) {
      return std::any_of(input.dims.begin(), input.dims.end(),
                         [&](const DeclaredDim& dim) { return dim.size < 0 && dim.symbol == name; });
    };
    if (std::none_of(inputs.begin(), inputs.end(), has_symbol))
      user_error("no input has a dimension {} (symbolic dimensions: {})", in_quotes(symbol), known_symbols(inputs));
    if (size < 0) user_error("dimension {} cannot be {}", in_quotes(symbol), size);
  }
}

void bind_to_data(const DeclaredInput& input, const Dims& data, DimBindings& dims) {
  const std::string name = in_quotes(input.name);
  if (!input.has_rank) return;
  if (data.size() != input.dims.size())
    user_error("input {} has {} dimensions where the data has {}: {}", name, input.dims.size(), data.size(),
               to_string(Shape(data)));
  for (size_t axis = 0; axis < data.size(); ++axis) {
    const DeclaredDim& dim = input.dims[axis];
    if (dim.size >= 0) {
      if (dim.size != data[axis])
        user_error("input {} has size {} on axis {} where the data has {}", name, dim.size, axis, data[axis]);
      continue;
    }
    const auto [bound, fresh] = dims.emplace(dim.symbol, data[axis]);
    if (!fresh && bound->second != data[axis])
      user_error("dimension {} is {} elsewhere, but the data of input {} has {} on axis {}", in_quotes(dim.symbol),
                 bound->second, name, data[axis], axis);
  }
}

}  // namespace

std::vector<DeclaredDim> declared_dims(const onnx::ValueInfoProto& value) {
  std::vector<DeclaredDim> dims;
  const auto& shape = value.type().tensor_type().shape();
  for (int axis = 0; axis < shape.dim_size(); ++axis) {
    const auto& dim = shape.dim(axis);
    if (dim.has_dim_value() && dim.dim_value() >= 0)
      dims.push_back({dim.dim_value(), ""});
    else if (!dim.dim_param().empty())
      dims.push_back({-1, dim.dim_param()});
    else
      dims.push_back({-1, fmt::format("{}.{}", value.name(), axis)});
  }
  return dims;
}

std::vector<DeclaredInput> declared_inputs(const onnx::GraphProto& graph) {
  std::set<std::string> initializers;
  for (const auto& tensor : graph.initializer()) initializers.insert(tensor.name());
  std::vector<DeclaredInput> inputs;
  for (const auto& value : graph.input()) {
    if (initializers.count(value.name()) != 0) continue;
    if (!value.type().has_tensor_type()) user_error("input {} is not a tensor", in_quotes(value.name()));
    const auto& type = value.type().tensor_type();
    inputs.push_back({value.name(), type.elem_type(), type.has_shape(), declared_dims(value)});
  }
  return inputs;
}

std::vector<Shape> bind_dims(const std::vector<DeclaredInput>& inputs, const InputShapes& data, DimBindings& dims) {
  check_bindings(inputs, dims);
  for (const DeclaredInput& input : inputs)
    if (const auto given = data.find(input.name); given != data.end()) bind_to_data(input, given->second, dims);

  std::vector<std::string> unbound;
  std::vector<Shape> shapes;
  for (const DeclaredInput& input : inputs) {
    if (!input.has_rank) {
      const auto given = data.find(input.name);
      if (given == data.end())
        user_error("input {} declares no shape: it is only known from data", in_quotes(input.name));
      shapes.emplace_back(given->second);
      continue;
    }
    Dims sizes;
    for (const DeclaredDim& dim : input.dims) {
      const auto bound = dims.find(dim.symbol);
      const std::string symbol = one_line(dim.symbol);
      if (dim.size >= 0)
        sizes.push_back(dim.size);
      else if (bound != dims.end())
        sizes.push_back(bound->second);
      else if (std::find(unbound.begin(), unbound.end(), symbol) == unbound.end())
        unbound.push_back(symbol);
    }
    if (unbound.empty()) shapes.emplace_back(std::move(sizes));
  }
  if (!unbound.empty())
    user_error("symbolic dimensions without a size: {}; bind each with --dim, as in --dim {}=N",
               fmt::join(unbound, ", "), unbound.front());
  return shapes;
}

}  // namespace stepc::onnx_import
