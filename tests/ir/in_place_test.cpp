#include "ir/in_place.h"

#include "ir/body_parts.h"
#include "ir/parser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace stepc {
namespace {

// Of the last node of a graph.
bool last_may_overwrite(std::string_view text, size_t output, size_t operand) {
  const Graph graph = parse(text);
  return InPlace(graph).may_overwrite(graph.node(graph.last()), output, operand);
}

TEST(MayOverwrite, AMapOfOneType) {
  const char* const kAdd = R"(graph @g {
    %a: f32[4] = input data "a"
    %b: f32[] = input data "b"
    %c: f32[4] = add %a, %b
    output output "c" %c
  })";
  EXPECT_TRUE(last_may_overwrite(kAdd, 0, 0));
  EXPECT_FALSE(last_may_overwrite(kAdd, 0, 1));
}

TEST(MayOverwrite, TheBaseOfAScatterAndTheRowsOfASoftmax) {
  const char* const kScatter = R"(graph @g {
    %a: f32[4,2] = input data "a"
    %i: i64[4] = input data "i"
    %u: f32[4,2] = input data "u"
    %c: f32[4,2] = scatter_add %a, %i, %u {axis=0}
    output output "c" %c
  })";
  EXPECT_TRUE(last_may_overwrite(kScatter, 0, 0));
  EXPECT_FALSE(last_may_overwrite(kScatter, 0, 2));
  EXPECT_TRUE(last_may_overwrite(R"(graph @g {
    %a: f32[4,2] = input data "a"
    %c: f32[4,2] = softmax %a {axis=1}
    output output "c" %c
  })",
                                 0, 0));
}

// Rows are reduced before any of them is stored; at other coordinates than its own nothing may be read.
TEST(MayOverwrite, AFusedBodyThatReadsElementByElement) {
  const auto fused = [](std::string_view nodes) {
    return fmt::format(R"(graph @g {{
      %a: f32[4,4] = input data "a"
      %c: f32[4,4] = fused %a body {{
        %a0: f32[4,4] = input data "a0"
        {}
        output output "r0" %r
      }}
      output output "c" %c
    }})",
                       nodes);
  };
  EXPECT_TRUE(last_may_overwrite(fused("%0: f32[4,1] = reduce_sum %a0 {axes=[1], keepdims=true} "
                                       "%r: f32[4,4] = div %a0, %0"),
                                 0, 0));
  EXPECT_FALSE(last_may_overwrite(fused("%0: f32[4,4] = transpose %a0 {perm=[1,0]} %r: f32[4,4] = add %a0, %0"), 0, 0));
}

constexpr const char* kTwoParts = R"(graph @g {
  %a: f32[4] = input data "a"
  %b: f32[4] = input data "b"
  %s: f32[] = input data "s"
  %c, %d: f32[4], f32[4] = fused %a, %b, %s body {
    %a0: f32[4] = input data "a0"
    %a1: f32[4] = input data "a1"
    %a2: f32[] = input data "a2"
    %k: f32[] = constant {data=[2.0]}
    %0: f32[4] = mul %a0, %a2
    %1: f32[4] = mul %a1, %a2
    %2: f32[4] = add %0, %k
    %3: f32[4] = add %1, %k
    output output "r0" %2
    output output "r1" %3
  }
  output output "c" %c
  output output "d" %d
})";

// Parts run in any order: only the part that reads an operand may write over it.
TEST(MayOverwrite, AnOperandOfItsOwnPart) {
  EXPECT_TRUE(last_may_overwrite(kTwoParts, 0, 0));
  EXPECT_FALSE(last_may_overwrite(kTwoParts, 0, 1));
  EXPECT_TRUE(last_may_overwrite(kTwoParts, 1, 1));
}

TEST(BodyParts, NumbersAreSharedTensorsAreNot) {
  const Graph graph = parse(kTwoParts);
  const Graph& body = *graph.node(graph.last()).body;
  const std::vector<std::vector<NodeId>> parts = body_parts(body);
  ASSERT_EQ(parts.size(), 2U);  // of the scalar operand and of the constant each has its own use
  for (size_t part = 0; part < 2; ++part) {
    ASSERT_EQ(parts[part].size(), 2U);
    EXPECT_EQ(body.node(parts[part][0]).inputs[0], body.inputs()[part].value);
    EXPECT_EQ(body.node(parts[part][1]).outputs[0], body.outputs()[part].value);
  }
}

TEST(BodyParts, OneWhereAnOperandIsReadByBoth) {
  const Graph graph = parse(R"(graph @g {
    %a: f32[4] = input data "a"
    %0: f32[4] = neg %a
    %1: f32[4] = exp %a
    output output "0" %0
    output output "1" %1
  })");
  EXPECT_EQ(body_parts(graph).size(), 1U);
}

}  // namespace
}  // namespace stepc
