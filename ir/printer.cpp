#include "ir/printer.h"

#include "ir/half.h"
#include "ir/op_def.h"
#include "ir/value_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <functional>

namespace stepc {
namespace {

// The bits of a NaN that is not the plain one, else nothing: `nan` alone would lose them.
std::string nan_bits(const TensorView& tensor, int64_t index) {
  const auto i = static_cast<size_t>(index);
  switch (tensor.type.dtype) {
    case Dtype::f32: {
      const uint32_t bits = tensor.as<uint32_t>()[i];
      return bits == 0x7fc00000 ? "" : fmt::format("({:#x})", bits);
    }
    case Dtype::f64: {
      const uint64_t bits = tensor.as<uint64_t>()[i];
      return bits == 0x7ff8000000000000 ? "" : fmt::format("({:#x})", bits);
    }
    default: {
      const uint16_t bits = tensor.as<uint16_t>()[i];
      return bits == (tensor.type.dtype == Dtype::f16 ? 0x7e00 : 0x7fc0) ? "" : fmt::format("({:#x})", bits);
    }
  }
}

std::string print_element(const TensorView& tensor, int64_t index) {
  const Dtype dtype = tensor.type.dtype;
  if (dtype == Dtype::boolean) return element_i64(tensor, index) != 0 ? "true" : "false";
  if (!is_float(dtype)) return fmt::format("{}", element_i64(tensor, index));
  const double value = element(tensor, index);
  return std::isnan(value) ? "nan" + nan_bits(tensor, index) : print_real(value);
}

std::string print_attr(const AttrValue& value) {
  switch (attr_kind(value)) {
    case AttrKind::boolean: return std::get<bool>(value) ? "true" : "false";
    case AttrKind::integer: return fmt::format("{}", std::get<int64_t>(value));
    case AttrKind::real: return print_real(std::get<double>(value));
    case AttrKind::text: return quote(std::get<std::string>(value));
    case AttrKind::dtype: return std::string(dtype_name(std::get<Dtype>(value)));
    case AttrKind::integers: return fmt::format("[{}]", fmt::join(std::get<std::vector<int64_t>>(value), ","));
  }
  return {};
}

using NameOf = std::function<const std::string&(ValueId)>;

class Printer {
 public:
  explicit Printer(ConstantSink* constants, bool with_bodies = true)
      : constants_(constants), with_bodies_(with_bodies) {}

  // `head` is what stands before the brace.
  void print_graph(const Graph& graph, const std::string& head) {
    const ValueNames names(graph);
    const NameOf name_of = [&names](ValueId id) -> const std::string& { return names.of(id); };
    text_ += head + " {\n";
    indent_ += 2;
    for (const GraphInput& input : graph.inputs()) print_input(graph, input, names);
    for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
      text_.append(indent_, ' ');
      print_statement(graph, graph.node(id), name_of);
      text_ += '\n';
    }
    for (const GraphOutput& output : graph.outputs()) {
      line("output {} {} {}", output_role_name(output.role), quote(output.name), names.of(output.value));
    }
    for (const StatePair& state : graph.states()) line("state {} -> {}", names.of(state.input), names.of(state.output));
    indent_ -= 2;
    text_.append(indent_, ' ');
    text_ += '}';
  }

  void print_statement(const Graph& graph, const Node& node, const NameOf& name_of) {
    std::vector<std::string> names;
    std::vector<std::string> types;
    for (const ValueId output : node.outputs) {
      names.push_back(name_of(output));
      types.push_back(to_string(graph.type(output)));
    }
    std::vector<std::string> operands;
    for (const ValueId input : node.inputs) operands.push_back(name_of(input));
    text_ += fmt::format("{}: {} = {}", fmt::join(names, ", "), fmt::join(types, ", "), op_name(node.op));
    if (!operands.empty()) text_ += fmt::format(" {}", fmt::join(operands, ", "));
    print_attrs(node);
    if (node.body) print_body(*node.body);
    print_origin(node.origin);
  }

  std::string take() { return std::move(text_); }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(indent_, ' ');
    text_ += fmt::format(format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  void print_body(const Graph& body) {
    const std::string head = body.name.empty() ? " body" : " body @" + bare_or_quoted(body.name);
    if (with_bodies_)
      print_graph(body, head);
    else
      text_ += head + " {...}";
  }

  void print_input(const Graph& graph, const GraphInput& input, const ValueNames& names) {
    std::string extra;
    if (!input.initializer.empty()) extra += " initializer " + quote(input.initializer);
    if (input.trainable) extra += " trainable";
    if (input.initial != 0) extra += " initial " + print_real(input.initial);
    line("{}: {} = input {} {}{}", names.of(input.value), to_string(graph.type(input.value)),
         input_role_name(input.role), quote(input.name), extra);
  }

  void print_attrs(const Node& node) {
    std::vector<std::string> entries;
    for (const auto& [key, value] : node.attrs) entries.push_back(fmt::format("{}={}", key, print_attr(value)));
    if (node.constant) entries.push_back(print_payload(*node.constant));
    if (!entries.empty()) text_ += fmt::format(" {{{}}}", fmt::join(entries, ", "));
  }

  std::string print_payload(const Tensor& tensor) {
    const TensorView view = tensor.view();
    if (view.type.shape.numel() > kInlineConstantElements) {
      const std::string hash = constant_hash(tensor);
      if (constants_ != nullptr) constants_->put(hash, tensor);
      return fmt::format("hash={}", quote(hash));
    }
    std::vector<std::string> elements;
    for (int64_t i = 0; i < view.type.shape.numel(); ++i) elements.push_back(print_element(view, i));
    return fmt::format("data=[{}]", fmt::join(elements, ", "));
  }

  void print_origin(const Origin& origin) {
    if (origin.phase != Phase::forward) text_ += fmt::format(" phase {}", phase_name(origin.phase));
    if (!origin.scope.empty()) text_ += " scope " + quote(origin.scope);
    if (!origin.onnx.empty()) text_ += " onnx";
    for (const std::string& name : origin.onnx) text_ += " " + quote(name);
  }

  ConstantSink* constants_;
  bool with_bodies_;
  std::string text_;
  size_t indent_ = 0;
};

}  // namespace

std::string print_real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const bool few_digits = std::fabs(value) < 1e6 && std::trunc(value * 64) == value * 64;
  if (!few_digits) return fmt::format("{:a}", value);
  const std::string digits = fmt::format("{}", value);
  return digits.find('.') == std::string::npos ? digits + ".0" : digits;
}

std::string print(const Graph& graph, ConstantSink* constants) {
  Printer printer(constants);
  printer.print_graph(graph, "graph @" + bare_or_quoted(graph.name));
  return printer.take() + "\n";
}

std::string print_node(const Graph& graph, NodeId id) {
  std::vector<std::string> names(static_cast<size_t>(graph.value_limit()));
  const std::string omitted = "_";
  const NameOf name_of = [&](ValueId v) -> const std::string& {
    if (!v.valid()) return omitted;
    std::string& name = names[static_cast<size_t>(v.index)];
    if (name.empty())
      name = graph.alive(v) && !graph.value(v).name.empty() ? "%" + bare_or_quoted(graph.value(v).name)
                                                            : fmt::format("%{}", v.index);
    return name;
  };
  Printer printer(nullptr, /*with_bodies=*/false);
  printer.print_statement(graph, graph.node(id), name_of);
  return printer.take();
}

}  // namespace stepc
