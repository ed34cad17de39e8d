// Linear cross-entropy kernels against the reference interpreter, the bit rule, and what they plan.
#include "codegen/cpu/program.h"
#include "ir/builder.h"
#include "ir/kernel.h"
#include "ir/support/error.h"
#include "tests/runtime/run_graph.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace stepc::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Attrs rules(const char* reduction = "mean", double smoothing = 0, double z_loss = 0) {
  return {{"reduction", std::string(reduction)},
          {"label_smoothing", smoothing},
          {"z_loss", z_loss},
          {"ignore_index", int64_t{-100}}};
}

struct Case {
  std::string label;
  Shape rows{150};
  int64_t depth = 40, classes = 200;
  Attrs attrs = rules();
  bool bias = false;
  bool transposed = false;  // w is stored [K, classes]
  bool shifted = false;     // rows and labels are slices that leave one out at the end and the beginning
  bool constant = true;     // the gradient of the loss is a constant
  bool ignored = false;     // every label
  double spread = 1;        // of x
  Dtype label_dtype = Dtype::i64;
};

// Graphs of a loss and its gradients, each a kernel of its own ("<label>/apart") and one for both ("<label>/joint").
class Cases {
 public:
  Graph graph;
  Tensors inputs;

  void add(const Case& c) {
    std::vector<ValueId> operands{rows_of(c), weights_of(c), labels_of(c)};
    const ValueId bias = c.bias ? input(c.label + ".bias", pseudo_random({Dtype::f32, {c.classes}}, 3)) : kNoValue;
    const Shape rows = graph.shape(operands[2]);
    const Type loss{Dtype::f32, c.attrs.text("reduction") == "none" ? rows : Shape()};
    const ValueId upstream =
        c.constant ? b_.constant(Tensor::scalar(Dtype::f32, 0.75)) : input(c.label + ".dloss", pseudo_random(loss, 5));
    operands.push_back(c.constant ? kNoValue : upstream);
    if (c.bias) operands.push_back(bias);
    std::vector<ValueId> given;
    for (const ValueId operand : operands)
      if (operand.valid()) given.push_back(operand);

    const auto number = [&](Builder& b) { return b.expand(b.constant(Tensor::scalar(Dtype::f32, 0.75)), loss.shape); };
    add_results(c, "apart", nodes(b_, c, operands, c.constant ? number(b_) : upstream));
    Graph body;
    Builder inner(body);
    std::vector<ValueId> inside;
    for (size_t i = 0; i < operands.size(); ++i)
      inside.push_back(operands[i].valid()
                           ? body.add_input(graph.type(operands[i]), InputRole::data, fmt::format("a{}", i))
                           : kNoValue);
    const std::vector<ValueId> results = nodes(inner, c, inside, c.constant ? number(inner) : inside[3]);
    for (size_t i = 0; i < results.size(); ++i) body.add_output(results[i], OutputRole::output, fmt::format("r{}", i));
    add_results(c, "joint", graph.node(b_.make_fused(given, std::move(body))).outputs);
  }

 private:
  ValueId input(const std::string& name, Tensor tensor) {
    const ValueId value = graph.add_input(tensor.type(), InputRole::data, name);
    inputs.emplace(name, std::move(tensor));
    return value;
  }

  ValueId rows_of(const Case& c) {
    Dims dims = c.rows.dims();
    dims.push_back(c.depth);
    const size_t last = c.rows.rank() - 1;
    if (c.shifted) ++dims[last];
    const ValueId x = input(c.label + ".x", pseudo_random({Dtype::f32, Shape(dims)}, 1, -c.spread, c.spread));
    return c.shifted ? b_.slice_axis(x, last, 0, c.rows[last]) : x;
  }
  ValueId weights_of(const Case& c) {
    const Shape shape = c.transposed ? Shape{c.depth, c.classes} : Shape{c.classes, c.depth};
    const ValueId w = input(c.label + ".w", pseudo_random({Dtype::f32, shape}, 2));
    return c.transposed ? b_.transpose(w, {1, 0}) : w;
  }
  ValueId labels_of(const Case& c) {
    Dims dims = c.rows.dims();
    if (c.shifted) ++dims.back();
    Tensor labels({c.label_dtype, Shape(dims)});
    for (int64_t i = 0; i < labels.type().shape.numel(); ++i)
      set_element(labels, i, static_cast<double>(c.ignored || i % 7 == 3 ? -100 : i * 37 % c.classes));
    const ValueId t = input(c.label + ".t", std::move(labels));
    return c.shifted ? b_.slice_axis(t, c.rows.rank() - 1, 1, c.rows[c.rows.rank() - 1]) : t;
  }

  // Of the loss and of the gradients over operands x, w, labels, dloss, bias; dloss as `upstream`.
  static std::vector<ValueId> nodes(Builder& b, const Case& c, const std::vector<ValueId>& operands, ValueId upstream) {
    std::vector<ValueId> forward{operands[0], operands[1], operands[2]}, backward = forward;
    backward.push_back(upstream);
    if (c.bias) {
      forward.push_back(operands[4]);
      backward.push_back(operands[4]);
    }
    Attrs attrs = c.attrs;
    std::vector<ValueId> results{b.make(Op::linear_cross_entropy, forward, attrs)};
    for (const char* wanted : {"dx", "dw"}) attrs.set(wanted, true);
    attrs.set("dbias", c.bias);
    const NodeId gradients = b.make_node(Op::linear_cross_entropy_backward, backward, attrs);
    const std::vector<ValueId>& more = b.graph().node(gradients).outputs;
    results.insert(results.end(), more.begin(), more.end());
    return results;
  }

  void add_results(const Case& c, const char* form, const std::vector<ValueId>& results) {
    constexpr const char* kNames[] = {"loss", "dx", "dw", "dbias"};
    for (size_t i = 0; i < results.size(); ++i)
      graph.add_output(results[i], OutputRole::output, fmt::format("{}/{}/{}", c.label, form, kNames[i]));
  }

  Builder b_{graph};
};

double largest(const RefTensor& tensor) {
  double result = 0;
  for (int64_t i = 0; i < tensor.numel(); ++i)
    if (std::isfinite(tensor.at(i))) result = std::max(result, std::fabs(tensor.at(i)));
  return result;
}

void expect_agreement(const Cases& cases, const Tensors& outputs, double tolerance) {
  const auto expected = run_on_interpreter(cases.graph, cases.inputs);
  for (const auto& [name, tensor] : outputs) {
    const RefTensor& want = expected.at(name);
    ASSERT_EQ(tensor.type(), want.type) << name;
    const double bound = tolerance * std::max(largest(want), 1e-3);
    for (int64_t i = 0; i < want.numel(); ++i) {
      const double own = element(tensor.view(), i), exact = want.at(i);
      if (std::isnan(exact) ? std::isnan(own) : own == exact) continue;
      ASSERT_LE(std::fabs(own - exact), bound) << name << " element " << i << ": " << own << ", evaluated " << exact;
    }
  }
}

Cases variants() {
  Cases cases;
  cases.add({.label = "batch", .rows = {3, 50}, .label_dtype = Dtype::i32});
  cases.add({.label = "shifted", .rows = {3, 50}, .attrs = rules("none"), .shifted = true, .constant = false});
  cases.add({.label = "transposed", .attrs = rules("mean", 0.1), .transposed = true});
  cases.add({.label = "bias", .attrs = rules("sum", 0, 1e-2), .bias = true, .constant = false});
  cases.add({.label = "all", .rows = {3, 50}, .attrs = rules("none", 0.2, 0.1), .bias = true, .shifted = true});
  cases.add({.label = "three chunks", .rows = {700}, .depth = 24, .classes = 130, .bias = true});
  cases.add({.label = "blocks of depth", .rows = {20}, .depth = 700, .classes = 500, .transposed = true});
  cases.add({.label = "sharp", .spread = 5});
  return cases;
}

Cases odd_sizes() {
  Cases cases;
  cases.add({.label = "one class", .classes = 1});
  cases.add({.label = "two classes", .classes = 2, .bias = true});
  cases.add({.label = "depth 1", .rows = {17}, .depth = 1, .classes = 33, .transposed = true});
  cases.add({.label = "one row", .rows = {1}, .depth = 257, .classes = 97});
  cases.add({.label = "one of each", .rows = {1}, .depth = 1, .classes = 1});
  cases.add({.label = "no rows", .rows = {0}, .attrs = rules("sum")});
  cases.add({.label = "all ignored", .bias = true, .ignored = true});
  return cases;
}

TEST(LinearCrossEntropy, VariantsAgreeWithEvaluation) {
  const Cases cases = variants();
  expect_agreement(cases, run_on_cpu(cases.graph, cases.inputs), 2e-5);
}

TEST(LinearCrossEntropy, OddSizesAgreeWithEvaluation) {
  const Cases cases = odd_sizes();
  expect_agreement(cases, run_on_cpu(cases.graph, cases.inputs), 2e-5);
}

// A NaN or an infinity in x, w or the bias comes out where it does in the evaluation.
TEST(LinearCrossEntropy, SpecialNumbersAgreeWithEvaluation) {
  Cases cases;
  for (const char* label : {"nan in x", "infinite x", "nan in w", "infinite w", "excluded class"})
    cases.add({.label = label, .attrs = rules("none"), .bias = true});
  set_element(cases.inputs.at("nan in x.x"), 5 * 40 + 7, std::nan(""));
  set_element(cases.inputs.at("infinite x.x"), 5 * 40 + 7, kInf);
  set_element(cases.inputs.at("nan in w.w"), 11 * 40 + 7, std::nan(""));
  set_element(cases.inputs.at("infinite w.w"), 11 * 40 + 7, kInf);
  set_element(cases.inputs.at("excluded class.bias"), 2, -kInf);
  expect_agreement(cases, run_on_cpu(cases.graph, cases.inputs), 2e-5);
}

TEST(LinearCrossEntropy, BitsDependNeitherOnRunsNorOnThreads) {
  const Cases cases = variants();
  const Tensors one = run_on_cpu(cases.graph, cases.inputs, 1);
  for (const int threads : {1, 2, 3}) EXPECT_TRUE(run_on_cpu(cases.graph, cases.inputs, threads) == one) << threads;
}

// The loss and the gradients have the bits that they have as kernels of their own.
TEST(LinearCrossEntropy, BitsDoNotDependOnFusion) {
  const Cases cases = variants();
  const Tensors outputs = run_on_cpu(cases.graph, cases.inputs);
  size_t compared = 0;
  for (const auto& [name, tensor] : outputs) {
    const size_t at = name.find("/joint/");
    if (at == std::string::npos) continue;
    EXPECT_TRUE(tensor == outputs.at(name.substr(0, at) + "/apart/" + name.substr(at + 7))) << name;
    ++compared;
  }
  EXPECT_EQ(compared * 2, outputs.size());
}

TEST(LinearCrossEntropy, RefusesALabelThatIsNoClass) {
  for (const double label : {200.0, -1.0}) {
    Cases cases;
    cases.add({.label = "bad"});
    set_element(cases.inputs.at("bad.t"), 60, label);
    EXPECT_THROW(run_on_cpu(cases.graph, cases.inputs), UserError);
  }
}

// --- descriptions

Kernel kernel_of(const Type& x, int64_t classes, bool gradients = true) {
  Graph graph;
  Builder b(graph);
  const int64_t depth = x.shape[x.shape.rank() - 1];
  const Shape rows(Dims(x.shape.begin(), x.shape.end() - 1));
  const ValueId of_x = graph.add_input(x, InputRole::data, "x");
  const ValueId w = graph.add_input({x.dtype, {classes, depth}}, InputRole::data, "w");
  const ValueId t = graph.add_input({Dtype::i64, rows}, InputRole::label, "t");
  Attrs attrs = rules();
  NodeId node;
  if (gradients) {
    for (const char* wanted : {"dx", "dw"}) attrs.set(wanted, true);
    node = b.make_node(Op::linear_cross_entropy_backward, {of_x, w, t, b.scalar(1, Dtype::f32)}, attrs);
  } else {
    node = b.make_node(Op::linear_cross_entropy, {of_x, w, t}, attrs);
  }
  const Layouts layouts(graph);
  if (const auto why = why_no_kernel(graph, node, layouts_of(layouts))) user_error("{}", *why);
  return describe_kernel(graph, node, layouts_of(layouts));
}

TEST(LinearCrossEntropyKernel, ScratchIsAFractionOfTheLogits) {
  const Type x{Dtype::f32, {8, 1024, 768}};
  const int64_t logits = int64_t{8} * 1024 * 50257 * 4;
  const Kernel kernel = kernel_of(x, 50257);
  EXPECT_EQ(kernel.kind, KernelKind::linear_cross_entropy);
  EXPECT_LT(kernel.scratch_bytes, logits / 20);
  EXPECT_LT(kernel_of(x, 50257, false).scratch_bytes, logits / 25);
  // Twice the rows, the same scratch, but for the loss of each row.
  EXPECT_EQ(kernel_of({Dtype::f32, {16, 1024, 768}}, 50257).scratch_bytes - kernel.scratch_bytes, 8 * 1024 * 4);
}

TEST(LinearCrossEntropyKernel, ThreeProducts) {
  const Kernel kernel = kernel_of({Dtype::f32, {1024, 256}}, 9600);
  EXPECT_EQ(kernel.traffic.flops, int64_t{3} * 2 * 1024 * 256 * 9600);
  const int64_t w = 9600 * 256 * 4, x = 1024 * 256 * 4;
  EXPECT_EQ(kernel.traffic.ideal_bytes, 2 * w + 2 * x + 1024 * 8);
}

TEST(LinearCrossEntropyKernel, OffsetsBeyond32BitsAreGenerated) {
  const Kernel kernel = kernel_of({Dtype::f32, {int64_t{1} << 24, 256}}, int64_t{1} << 24);
  EXPECT_THAT(cpu::print_function(kernel).text, testing::HasSubstr(".rows = 16777216, .classes = 16777216"));
}

TEST(LinearCrossEntropyKernel, SaysWhatItDoesNotCarry) {
  const auto why = [](Dtype dtype, int64_t depth, int64_t classes) {
    try {
      kernel_of({dtype, {4, depth}}, classes, false);
      return std::string();
    } catch (const UserError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(why(Dtype::f32, 8, 4), "");
  EXPECT_EQ(why(Dtype::bf16, 8, 4), "linear cross-entropy in bf16");
  EXPECT_EQ(why(Dtype::f64, 8, 4), "linear cross-entropy in f64");
  EXPECT_EQ(why(Dtype::f32, 0, 4), "linear cross-entropy over weights [4,0]");
}

}  // namespace
}  // namespace stepc::test
