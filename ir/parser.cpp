#include "ir/parser.h"

#include "ir/lexer.h"
#include "ir/op_def.h"
#include "ir/parse_literal.h"
#include "ir/support/error.h"
#include "ir/support/quote.h"
#include "ir/value_names.h"
#include "ir/verifier.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace stepc {
namespace {

constexpr int kMaxDepth = 8;  // of bodies in bodies
constexpr size_t kMaxRank = 64;
constexpr size_t kShownName = 160;  // bytes of a name in a message

class Parser {
 public:
  Parser(std::string_view text, const ParseOptions& options) : options_(options), lexer_(text, options.file) {
    shift();
  }

  Graph parse_file() {
    expect_word("graph");
    Graph graph = parse_graph(expect(TokenKind::symbol, "the graph's name, like @model").text);
    if (token_.kind != TokenKind::end) fail(token_, "only one graph per file; {} follows it", in_quotes(token_.text));
    return graph;
  }

 private:
  // What one graph's statements share. Bodies see no value of the graph around them.
  struct Scope {
    Graph graph;
    std::unordered_map<std::string, ValueId> values;  // by printed name: anonymous "12" differs from named "\"12\""
    std::map<NodeId, Token> places;                   // where a node was read
    std::set<std::string> inputs;
    std::set<std::string> outputs;
  };

  template <typename... Args>
  [[noreturn]] void fail(const Token& at, fmt::format_string<Args...> format, Args&&... args) const {
    user_error("{}:{}:{}: {}", options_.file, at.line, at.column, fmt::format(format, std::forward<Args>(args)...));
  }

  // Runs `action`; errors of the rules below get the position of `at`.
  template <typename Action>
  auto located(const Token& at, Action action) const {
    try {
      return action();
    } catch (const UserError& error) {
      fail(at, "{}", error.what());
    }
  }

  Token shift() { return std::exchange(token_, lexer_.next()); }
  bool at(std::string_view text) const {
    return (token_.kind == TokenKind::punct || token_.kind == TokenKind::word) && token_.text == text;
  }
  bool accept(std::string_view text) {
    if (!at(text)) return false;
    shift();
    return true;
  }
  Token expect(TokenKind kind, std::string_view what) {
    if (token_.kind != kind) fail(token_, "expected {}, found {}", what, in_quotes(token_.text));
    return shift();
  }
  void expect_punct(std::string_view text) {
    if (!accept(text)) fail(token_, "expected '{}', found {}", text, in_quotes(token_.text));
  }
  void expect_word(std::string_view text) {
    if (!accept(text)) fail(token_, "expected '{}', found {}", text, in_quotes(token_.text));
  }

  static std::string key(const Token& name) { return name.anonymous ? name.text : bare_or_quoted(name.text); }

  Graph parse_graph(std::string name) {
    if (++depth_ > kMaxDepth) fail(token_, "bodies are nested deeper than {}", kMaxDepth);
    Scope scope;
    scope.graph.name = std::move(name);
    const Token start = token_;
    expect_punct("{");
    while (!at("}")) parse_statement(scope);
    shift();
    --depth_;
    check_rules(scope, start);
    return std::move(scope.graph);
  }

  // What the statements could not show one by one, by the verifier's rules.
  void check_rules(const Scope& scope, const Token& start) const {
    try {
      verify(scope.graph);
    } catch (const VerifyError& error) {
      const auto place = scope.places.find(error.node());
      fail(place == scope.places.end() ? start : place->second, "{}", error.what());
    }
  }

  void parse_statement(Scope& scope) {
    if (accept("output")) return parse_output(scope);
    if (accept("state")) return parse_state(scope);
    if (token_.kind != TokenKind::value)
      fail(token_, "expected a value like %x, 'output', 'state' or '}}', found {}", in_quotes(token_.text));
    std::vector<Token> names;
    do names.push_back(expect(TokenKind::value, "a value like %x"));
    while (accept(","));
    expect_punct(":");
    std::vector<Type> types;
    do types.push_back(parse_type());
    while (accept(","));
    if (types.size() != names.size()) fail(names[0], "{} values, but {} types", names.size(), types.size());
    expect_punct("=");
    if (at("input"))
      parse_input(scope, names, types);
    else
      parse_node(scope, names, types);
  }

  Type parse_type() {
    const Token name = expect(TokenKind::word, "a type like f32[2,3]");
    const std::optional<Dtype> dtype = dtype_from_name(name.text);
    if (!dtype) fail(name, "unknown dtype {}", in_quotes(name.text));
    const std::vector<int64_t> dims = parse_integers();
    if (dims.size() > kMaxRank) fail(name, "rank {} is beyond {}", dims.size(), kMaxRank);
    return located(name, [&] {
      Type type{*dtype, Shape(Dims(dims))};
      type.bytes();
      return type;
    });
  }

  std::vector<int64_t> parse_integers() {
    std::vector<int64_t> result;
    expect_punct("[");
    while (!accept("]")) {
      if (!result.empty()) expect_punct(",");
      const Token number = expect(TokenKind::number, "an integer");
      result.push_back(located(number, [&] { return integer_literal(number); }));
    }
    return result;
  }

  void define(Scope& scope, const Token& name, ValueId value) {
    if (!scope.values.emplace(key(name), value).second)
      fail(name, "value %{} is defined twice", printable(key(name), kShownName));
    scope.graph.set_name(value, name.anonymous ? std::string() : name.text);
  }

  ValueId use(const Scope& scope, const Token& name) const {
    const auto position = scope.values.find(key(name));
    if (position == scope.values.end()) fail(name, "value %{} is not defined above", printable(key(name), kShownName));
    return position->second;
  }

  void parse_input(Scope& scope, const std::vector<Token>& names, const std::vector<Type>& types) {
    const Token keyword = shift();
    if (names.size() != 1) fail(names[1], "an input is one value");
    if (scope.graph.node_count() > 0) fail(keyword, "inputs come before all nodes");
    const Token role_name = expect(TokenKind::word, "data, label, weight, state or accumulator");
    const std::optional<InputRole> role = input_role_from_name(role_name.text);
    if (!role)
      fail(role_name, "unknown input role {}: data, label, weight, state or accumulator", in_quotes(role_name.text));
    const Token name = expect(TokenKind::text, "the input's name in quotes");
    if (!scope.inputs.insert(name.text).second)
      fail(name, "two inputs are called \"{}\"", printable(name.text, kShownName));
    std::string initializer;
    if (accept("initializer")) initializer = expect(TokenKind::text, "the initializer's name in quotes").text;
    const bool trainable = accept("trainable");
    if (trainable && *role != InputRole::weight) fail(name, "only weights are trainable");
    if (!initializer.empty() && *role != InputRole::weight && *role != InputRole::state)
      fail(name, "only weights and states have an initializer");
    define(scope, names[0], scope.graph.add_input(types[0], *role, name.text, std::move(initializer), trainable));
    if (!accept("initial")) return;
    if (*role != InputRole::state) fail(name, "only states have an initial value");
    const Token number = shift();
    scope.graph.mutable_input(scope.graph.inputs().size() - 1).initial =
        located(number, [&] { return real_literal(number); });
  }

  void parse_output(Scope& scope) {
    const Token role_name = expect(TokenKind::word, "output, loss, gradient or metric");
    const std::optional<OutputRole> role = output_role_from_name(role_name.text);
    if (!role) fail(role_name, "unknown output role {}: output, loss, gradient or metric", in_quotes(role_name.text));
    const Token name = expect(TokenKind::text, "the output's name in quotes");
    if (!scope.outputs.insert(name.text).second)
      fail(name, "two outputs are called \"{}\"", printable(name.text, kShownName));
    scope.graph.add_output(use(scope, expect(TokenKind::value, "a value like %x")), *role, name.text);
  }

  void parse_state(Scope& scope) {
    const Token from = expect(TokenKind::value, "a graph input like %w");
    const ValueId input = use(scope, from);
    expect_punct("->");
    const ValueId output = use(scope, expect(TokenKind::value, "a value like %w.1"));
    if (scope.graph.input_of(input) == nullptr) fail(from, "a state begins at an input of the graph");
    if (scope.graph.type(input) != scope.graph.type(output))
      fail(from, "a state of {} cannot become {}", to_string(scope.graph.type(input)),
           to_string(scope.graph.type(output)));
    scope.graph.add_state(input, output);
  }

  void parse_node(Scope& scope, const std::vector<Token>& names, const std::vector<Type>& types) {
    const Token op_token = expect(TokenKind::word, "an operation");
    const std::optional<Op> op = op_from_name(op_token.text);
    if (!op) fail(op_token, "unknown operation {}", in_quotes(op_token.text));
    Node node;
    node.op = *op;
    parse_operands(scope, node);
    if (at("{")) parse_attrs(node, types[0]);
    if (node.op == Op::constant && !node.constant) fail(op_token, "a constant needs data=[...] or hash=\"...\"");
    if (node.op == Op::fused) {
      expect_word("body");
      std::string name = token_.kind == TokenKind::symbol ? shift().text : std::string();
      node.body = std::make_unique<Graph>(parse_graph(std::move(name)));
    }
    parse_origin(node.origin);
    const std::vector<Type> inferred = located(op_token, [&] { return infer(scope.graph, node); });
    if (inferred.size() != types.size())
      fail(names[0], "{} has {} results, {} are named", op_token.text, inferred.size(), types.size());
    for (size_t i = 0; i < types.size(); ++i)
      if (types[i] != inferred[i])
        fail(names[i], "%{} is declared as {}, but {} yields {}", printable(key(names[i]), kShownName),
             to_string(types[i]), op_token.text, to_string(inferred[i]));
    const NodeId id = scope.graph.insert(std::move(node), types);
    scope.places.emplace(id, op_token);
    for (size_t i = 0; i < names.size(); ++i) define(scope, names[i], scope.graph.node(id).outputs[i]);
  }

  static std::vector<Type> infer(const Graph& graph, Node& node) {
    complete_attrs(node.op, node.inputs.size(), node.attrs);
    std::vector<const Type*> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(input.valid() ? &graph.type(input) : nullptr);
    return infer_types(InferArgs{node.op, inputs, node.attrs, node.constant.get(), node.body.get()});
  }

  void parse_operands(const Scope& scope, Node& node) {
    if (token_.kind != TokenKind::value && !at("_")) return;
    do node.inputs.push_back(accept("_") ? kNoValue : use(scope, expect(TokenKind::value, "an operand like %x")));
    while (accept(","));
  }

  void parse_attrs(Node& node, const Type& type) {
    std::set<std::string> seen;
    shift();
    do {
      const Token name = expect(TokenKind::word, "an attribute's name");
      if (!seen.insert(name.text).second) fail(name, "attribute {} is given twice", in_quotes(name.text));
      expect_punct("=");
      if (node.op == Op::constant && (name.text == "data" || name.text == "hash")) {
        if (node.constant) fail(name, "a constant has data or a hash, not both");
        node.constant = std::make_unique<Tensor>(name.text == "data" ? parse_data(type) : load_constant(type));
      } else {
        node.attrs.set(name.text, parse_attr(node.op, name));
      }
    } while (accept(","));
    expect_punct("}");
  }

  AttrValue parse_attr(Op op, const Token& name) {
    const auto& specs = op_def(op).attrs;
    const auto spec = std::find_if(specs.begin(), specs.end(), [&](const AttrSpec& s) { return s.key == name.text; });
    if (spec == specs.end()) fail(name, "{} has no attribute {}", op_name(op), in_quotes(name.text));
    if (spec->kind == AttrKind::integers) return parse_integers();
    const Token value = shift();
    return located(value, [&] { return attr_literal(value, spec->kind, name.text); });
  }

  Tensor parse_data(const Type& type) {
    const Token start = token_;
    std::vector<Token> elements;
    expect_punct("[");
    while (!accept("]")) {
      if (!elements.empty()) expect_punct(",");
      elements.push_back(shift());
      if (at("(")) elements.back().text += parse_nan_bits();
      if (static_cast<int64_t>(elements.size()) > type.shape.numel()) break;
    }
    if (static_cast<int64_t>(elements.size()) != type.shape.numel())
      fail(start, "{} needs {} elements", to_string(type), type.shape.numel());
    Tensor tensor(type);
    for (size_t i = 0; i < elements.size(); ++i)
      located(elements[i], [&] { element_literal(elements[i], tensor, static_cast<int64_t>(i)); });
    return tensor;
  }

  std::string parse_nan_bits() {
    shift();
    std::string bits = "(" + expect(TokenKind::number, "the bits of a NaN").text + ")";
    expect_punct(")");
    return bits;
  }

  Tensor load_constant(const Type& type) {
    const Token hash = expect(TokenKind::text, "a hash in quotes");
    const bool well_formed =
        hash.text.size() == 32 && hash.text.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!well_formed) fail(hash, "a constant's hash has 32 digits of 0-9 and a-f");
    if (options_.constants == nullptr) fail(hash, "constant {} lies in a side file, which is not given", hash.text);
    return located(hash, [&] { return options_.constants->get(hash.text, type); });
  }

  void parse_origin(Origin& origin) {
    if (accept("phase")) {
      const Token name = expect(TokenKind::word, "a phase");
      const std::optional<Phase> phase = phase_from_name(name.text);
      if (!phase) fail(name, "unknown phase {}: forward, loss, backward, recompute or optimizer", in_quotes(name.text));
      origin.phase = *phase;
    }
    if (accept("scope")) origin.scope = expect(TokenKind::text, "a scope in quotes").text;
    if (!accept("onnx")) return;
    do origin.onnx.push_back(expect(TokenKind::text, "an ONNX node's name in quotes").text);
    while (token_.kind == TokenKind::text);
    std::sort(origin.onnx.begin(), origin.onnx.end());
    origin.onnx.erase(std::unique(origin.onnx.begin(), origin.onnx.end()), origin.onnx.end());
  }

  const ParseOptions& options_;
  Lexer lexer_;
  Token token_;
  int depth_ = 0;
};

}  // namespace

Graph parse(std::string_view text, const ParseOptions& options) { return Parser(text, options).parse_file(); }

}  // namespace stepc
