// What went wrong in other compilers' fused kernels, from public bug reports: each at fusion level full against the
// interpreter, and against the value that is right by itself.
#include "tests/runtime/fused_graph.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>

namespace stepc::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor filled(const Type& type, const std::function<double(int64_t)>& value) {
  Tensor tensor(type);
  for (int64_t i = 0; i < type.shape.numel(); ++i) set_element(tensor, i, value(i));
  return tensor;
}

double at(const Tensors& outputs, const char* name, int64_t index = 0) {
  return element(outputs.at(name).view(), index);
}

int64_t count(const Tensors& outputs, const char* name) { return outputs.at(name).type().shape.numel(); }

// A sum over nothing is zero; a result without elements needs no launch.
TEST(FusedCases, Case1SizeZero) {
  const FusedGraph fused = fuse_full(R"(graph @g {
    %x: f32[3,4,0,5] = input data "x"
    %y: f32[3,0,2] = input data "y"
    %h: bf16[5,0] = input data "h"
    %x2: f32[3,4,0,5] = mul %x, %x
    %0: f32[3,0,5] = reduce_sum %x2 {axes=[1], keepdims=false}
    %y2: f32[3,0,2] = mul %y, %y
    %1: f32[3,2] = reduce_sum %y2 {axes=[1], keepdims=false}
    %h2: bf16[5,0] = mul %h, %h
    %2: bf16[5] = reduce_sum %h2 {axes=[1], keepdims=false}
    %3: bf16[0] = reduce_sum %h2 {axes=[0], keepdims=false}
    %one: f32[] = constant {data=[1.5]}
    %ones: f32[6,7] = expand %one {shape=[6,7]}
    %4: f32[6] = reduce_sum %ones {axes=[1], keepdims=false}
    output output "no columns" %0
    output output "zeros" %1
    output output "h rows" %2
    output output "h columns" %3
    output output "no operand" %4
  })");
  const Tensors outputs = fused.run(values_for(fused.before));
  EXPECT_EQ(outputs.at("no columns").type().shape, (Shape{3, 0, 5}));
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(at(outputs, "zeros", i), 0);
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(at(outputs, "h rows", i), 0);
  EXPECT_EQ(count(outputs, "h columns"), 0);
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(at(outputs, "no operand", i), 10.5);
}

// The variance over axes of which one has one element, over one element alone (0/0), and sums of a number.
TEST(FusedCases, Case2SizeOne) {
  const FusedGraph fused = fuse_full(R"(graph @g {
    %x: f32[8,7,5,1] = input data "x"
    %z: f32[4,1] = input data "z"
    %s: f32[] = input data "s"
    %seventh: f32[] = constant {data=[7.0]}
    %six: f32[] = constant {data=[6.0]}
    %nought: f32[] = constant {data=[0.0]}
    %0: f32[8,1,5,1] = reduce_sum %x {axes=[1,3], keepdims=true}
    %1: f32[8,1,5,1] = div %0, %seventh
    %2: f32[8,7,5,1] = sub %x, %1
    %3: f32[8,7,5,1] = mul %2, %2
    %4: f32[8,5] = reduce_sum %3 {axes=[1,3], keepdims=false}
    %var: f32[8,5] = div %4, %six
    %5: f32[4,1] = reduce_sum %z {axes=[1], keepdims=true}
    %6: f32[4,1] = sub %z, %5
    %7: f32[4,1] = mul %6, %6
    %8: f32[4] = reduce_sum %7 {axes=[1], keepdims=false}
    %var1: f32[4] = div %8, %nought
    %9: f32[] = neg %s
    %sum: f32[] = reduce_sum %9 {axes=[], keepdims=false}
    output output "var" %var
    output output "var of one" %var1
    output output "sum" %sum
  })");
  const Tensors inputs = values_for(fused.before);
  const Tensors outputs = fused.run(inputs);
  EXPECT_EQ(outputs.at("var").type().shape, (Shape{8, 5}));
  for (int64_t i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(at(outputs, "var of one", i)));
  EXPECT_EQ(at(outputs, "sum"), -at(inputs, "s"));
}

// An axis of one element is read with stride 0; several updates of one row add up.
TEST(FusedCases, Case3ExpandedAxis) {
  const FusedGraph fused = fuse_full(R"(graph @g {
    %d: f32[2,1] = input data "d"
    %x: f32[2,128] = input data "x"
    %y: f32[2,128] = input data "y"
    %row: f32[1,8] = input data "row"
    %ones: f32[3,8] = input data "ones"
    %ids: i64[3] = constant {data=[0,1,0]}
    %0: f32[2,128] = expand %d {shape=[2,128]}
    %1: f32[2,128] = mul %0, %x
    %2: f32[2,128] = add %1, %y
    %3: f32[1,8] = sub %row, %row
    %4: f32[4,8] = expand %3 {shape=[4,8]}
    %5: f32[4,8] = scatter_add %4, %ids, %ones {axis=0}
    output output "madd" %2
    output output "added" %5
  })");
  Tensors inputs = values_for(fused.before);
  inputs.at("ones") = filled({Dtype::f32, {3, 8}}, [](int64_t) { return 1.0; });
  const Tensors outputs = fused.run(inputs);
  for (int64_t i = 0; i < 32; ++i) EXPECT_EQ(at(outputs, "added", i), (std::array{2, 1, 0, 0}[i / 8]));
}

// A row of −∞ alone: softmax is NaN there, attention 0 with gradients of 0.
TEST(FusedCases, Case5RowOfMinusInfinity) {
  const FusedGraph fused = fuse_full_step(R"(graph @g {
    %q: f32[1,2,3,4] = input data "q"
    %k: f32[1,2,5,4] = input data "k"
    %v: f32[1,2,5,4] = input data "v"
    %m: bool[3,5] = input data "m"
    %o, %lse: f32[1,2,3,4], f32[1,2,3] = attention %q, %k, %v, %m {scale=0.5}
    output output "o" %o
  })");
  Tensors inputs = values_for(fused.before);
  inputs.at("m") = filled({Dtype::boolean, {3, 5}}, [](int64_t i) { return i / 5 != 1; });
  const Tensors outputs = fused.run(inputs);
  for (const int64_t head : {0, 1})
    for (int64_t d = 0; d < 4; ++d)
      for (const char* name : {"o", "gradin/q"}) EXPECT_EQ(at(outputs, name, (head * 3 + 1) * 4 + d), 0) << name;
  for (const auto& [name, tensor] : outputs)
    for (int64_t i = 0; i < count(outputs, name.c_str()); ++i)
      EXPECT_TRUE(std::isfinite(element(tensor.view(), i))) << name;

  const FusedGraph softmax = fuse_full(R"(graph @g {
    %x: f32[3,40] = input data "x"
    %y: f32[3,40] = softmax %x {axis=1}
    %z: f32[3,40] = softmax %x {axis=1, zero_dead_rows=true}
    output output "y" %y
    output output "z" %z
  })");
  const Tensor x = filled({Dtype::f32, {3, 40}}, [](int64_t i) { return i / 40 == 1 ? -kInf : std::sin(i); });
  const Tensors rows = softmax.run({{"x", x}});
  for (int64_t i = 0; i < 120; ++i) {
    EXPECT_EQ(std::isnan(at(rows, "y", i)), i / 40 == 1);
    EXPECT_EQ(at(rows, "z", i) == 0, i / 40 == 1);
  }
}

// Logits of 10¹⁴, made inside the kernel: the maximum and the exponential see the same rounded product, forward and
// where the backward makes it again.
TEST(FusedCases, Case6ScaledSoftmax) {
  const FusedGraph fused = fuse_full_step(R"(graph @g {
    %x: f32[64,1000] = input data "x"
    %b: f32[1000] = input data "b"
    %s: f32[] = constant {data=[1.1e14]}
    %0: f32[64,1000] = add %x, %b
    %1: f32[64,1000] = mul %0, %s
    %y: f32[64,1000] = softmax %1 {axis=1}
    output output "y" %y
  })");
  EXPECT_EQ(fused.kinds[0], KernelKind::row_reduction);
  Tensors inputs = values_for(fused.before);
  // Every other row has its maximum twice.
  Tensor& x = inputs.at("x");
  inputs.at("b") = filled({Dtype::f32, {1000}}, [](int64_t) { return 0.1; });
  for (int64_t row = 0; row < 64; row += 2)
    for (const int64_t column : {7, 901}) set_element(x, row * 1000 + column, 1);
  const Tensors outputs = fused.run(inputs);
  for (int64_t row = 0; row < 64; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < 1000; ++i) sum += at(outputs, "y", row * 1000 + i);
    EXPECT_EQ(sum, 1) << "row " << row;
  }
  EXPECT_EQ(at(outputs, "y", 7), 0.5);
  for (int64_t i = 0; i < 64000; ++i) ASSERT_TRUE(std::isfinite(at(outputs, "gradin/x", i)));
}

// Maxima and minima, and what is made of them, hand NaN on.
TEST(FusedCases, Case7NanInExtremes) {
  const FusedGraph fused = fuse_full(R"(graph @g {
    %x: f32[3,300] = input data "x"
    %one: f32[] = constant {data=[1.0]}
    %zero: f32[] = constant {data=[0.0]}
    %0: f32[3,300] = mul %x, %x
    %max: f32[3] = reduce_max %0 {axes=[1], keepdims=false}
    %min: f32[3] = reduce_min %0 {axes=[1], keepdims=false}
    %columns: f32[300] = reduce_max %0 {axes=[0], keepdims=false}
    %relu: f32[3,300] = relu %x
    %1: f32[3,300] = maximum %x, %zero
    %clip: f32[3,300] = minimum %1, %one
    %y: f32[3,300] = softmax %0 {axis=1}
    output output "max" %max
    output output "min" %min
    output output "columns" %columns
    output output "relu" %relu
    output output "clip" %clip
    output output "softmax" %y
  })");
  for (const int64_t place : {300, 317, 599}) {
    Tensors inputs = values_for(fused.before);
    set_element(inputs.at("x"), place, std::nan(""));
    const Tensors outputs = fused.run(inputs);
    for (int64_t row = 0; row < 3; ++row)
      for (const char* name : {"max", "min"}) EXPECT_EQ(std::isnan(at(outputs, name, row)), row == 1) << name;
    for (int64_t i = 0; i < 300; ++i) EXPECT_EQ(std::isnan(at(outputs, "columns", i)), i == place - 300);
    for (int64_t i = 0; i < 900; ++i) {
      for (const char* name : {"relu", "clip"}) EXPECT_EQ(std::isnan(at(outputs, name, i)), i == place) << name;
      EXPECT_EQ(std::isnan(at(outputs, "softmax", i)), i / 300 == 1);
    }
  }
}

// Rows that begin at odd elements, where no vector is aligned.
TEST(FusedCases, Case9UnalignedSlices) {
  for (const char* type : {"f16", "bf16", "f32"}) {
    std::string text = R"(graph @g {
      %x: T[1,3] = input data "x"
      %w: T[5,131] = input data "w"
      %0: T[1,2] = slice %x {starts=[0,1], sizes=[1,2], steps=[1,1]}
      %1: T[1,2] = add %0, %0
      %2: T[5,129] = slice %w {starts=[0,1], sizes=[5,129], steps=[1,1]}
      %3: T[5,129] = mul %2, %2
      %4: T[5] = reduce_sum %3 {axes=[1], keepdims=false}
      %5: T[129] = reduce_max %3 {axes=[0], keepdims=false}
      output output "pair" %1
      output output "squares" %3
      output output "rows" %4
      output output "columns" %5
    })";
    for (size_t place; (place = text.find("T[")) != std::string::npos;) text.replace(place, 1, type);
    const FusedGraph fused = fuse_full(text);
    fused.run(values_for(fused.before), type == std::string("f32") ? 1e-5 : 0.02);
  }
}

// Rows whose producer has longer ones: a pooled corner of each plane, flattened and summed.
TEST(FusedCases, Case11RowsOfALongerProducer) {
  const FusedGraph fused = fuse_full(R"(graph @g {
    %x: f32[3,65,8,9] = input data "x"
    %0: f32[3,65,8,9] = relu %x
    %1: f32[3,65,7,7] = slice %0 {starts=[0,0,0,1], sizes=[3,65,7,7], steps=[1,1,1,1]}
    %2: f32[3,3185] = reshape %1 {shape=[3,3185]}
    %3: f32[3] = reduce_sum %2 {axes=[1], keepdims=false}
    output output "relu" %0
    output output "sum" %3
  })");
  fused.run(values_for(fused.before));
}

// Extents that no tile, lane or segment divides.
TEST(FusedCases, Case13PartialTiles) {
  const FusedGraph fused = fuse_full(R"(graph @g {
    %x: f32[31,84] = input data "x"
    %y: f32[216,1024] = input data "y"
    %0: f32[31,84] = exp %x
    %1: f32[31] = reduce_sum %0 {axes=[1], keepdims=false}
    %2: f32[84] = reduce_sum %0 {axes=[0], keepdims=false}
    %3: f32[216,1024] = mul %y, %y
    %4: f32[] = reduce_sum %3 {axes=[0,1], keepdims=false}
    output output "rows" %1
    output output "columns" %2
    output output "all" %4
  })");
  fused.run(values_for(fused.before), 1e-4);
}

// The gradient of a bf16 weight is one sum in f32, rounded once: 4096 terms of 1 and more would stall in bf16 at 256.
// Rows whose label is ignored count for nothing; the others are weighted by their gradients.
TEST(FusedCases, Case15WeightGradientIn16Bits) {
  const FusedGraph fused = fuse_full(R"(graph @g {
    %x: bf16[4096,3] = input data "x"
    %d: bf16[4096,2] = input data "d"
    %dw: bf16[3,2] = contraction %x, %d {spec="ab,ac->bc"}
    %db: bf16[2] = reduce_sum %d {axes=[0], keepdims=false}
    output output "dw" %dw
    output output "db" %db
  })");
  Tensors ones = values_for(fused.before);
  for (auto& [name, tensor] : ones) tensor = filled(tensor.type(), [](int64_t) { return 1; });
  const Tensors outputs = fused.run(ones);
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(at(outputs, "dw", i), 4096);
  for (int64_t i = 0; i < 2; ++i) EXPECT_EQ(at(outputs, "db", i), 4096);

  const FusedGraph rows = fuse_full_step(R"(graph @g {
    %h: f32[6,5] = input data "h"
    %w: f32[5,7] = input data "w"
    %labels: i64[6] = input label "labels"
    %x: f32[6,7] = contraction %h, %w {spec="ab,bc->ac"}
    %l, %lse: f32[6], f32[6] = cross_entropy %x, %labels {reduction="none"}
    output output "l" %l
  })");
  Tensors inputs = values_for(rows.before);
  inputs.at("labels") = Tensor::of_i64(std::vector<int64_t>{3, -100, 0, 6, -100, 1}, {6});
  const Tensors gradients = rows.run(inputs);
  for (const int64_t row : {1, 4})
    for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(at(gradients, "gradin/h", row * 5 + i), 0);
  EXPECT_NE(at(gradients, "gradin/h", 0), 0);
}

// Among equal maxima of one axis the first takes the gradient, over several axes all share it; whatever reads the
// operand besides.
TEST(FusedCases, Case16TiesOfMaxima) {
  const FusedGraph fused = fuse_full_step(R"(graph @g {
    %x: f16[2,4] = input data "x"
    %z: f16[4] = input data "z"
    %0: f16[2] = reduce_max %x {axes=[1], keepdims=false}
    %1: f16[] = reduce_max %x {axes=[0,1], keepdims=false}
    %2: f16[2] = reduce_sum %x {axes=[1], keepdims=false}
    %3: f16[2] = add %0, %1
    %4: f16[2] = sub %2, %2
    %5: f16[2] = add %3, %4
    output output "y" %5
  })");
  Tensors inputs = values_for(fused.before);
  inputs.at("x") = filled({Dtype::f16, {2, 4}}, [](int64_t i) { return std::array{1, 2, 0, 2, 2, -1, 2, 2}[i]; });
  const Tensors outputs = fused.run(inputs, 0);
  // Loss is the mean of y² with y = [4, 4]: dy = 4 each. Rows give 4 to their first 2; five 2s share 8.
  for (int64_t i = 0; i < 8; ++i) {
    const double shared = std::array{0, 1, 0, 1, 1, 0, 1, 1}[i] * 8 / 5.0;
    EXPECT_NEAR(at(outputs, "gradin/x", i), shared + (i == 1 || i == 4 ? 4 : 0), 4e-3) << i;
  }
}

}  // namespace
}  // namespace stepc::test
