// The numbered excerpt that comes with a compiler's errors.
#include "runtime/cuda/source_lines.h"

#include <gtest/gtest.h>

namespace stepc::test {
namespace {

using cuda::lines_around_errors;

std::string numbered_source(int lines) {
  std::string source;
  for (int i = 1; i <= lines; ++i) source += "line " + std::to_string(i) + "\n";
  return source;
}

TEST(SourceLinesTest, ErrorsAreMarkedWithinTheirSurroundings) {
  EXPECT_EQ(
      lines_around_errors(numbered_source(20), "stepc.cu(2): error: bad\nstepc.cu(12): catastrophic error: worse"),
      "      1 | line 1\n"
      ">     2 | line 2\n"
      "      3 | line 3\n"
      "      4 | line 4\n"
      "      5 | line 5\n"
      "      ...\n"
      "      9 | line 9\n"
      "     10 | line 10\n"
      "     11 | line 11\n"
      ">    12 | line 12\n"
      "     13 | line 13\n"
      "     14 | line 14\n"
      "     15 | line 15\n");
}

TEST(SourceLinesTest, WhatNamesNoLineShowsNone) {
  EXPECT_EQ(lines_around_errors("a\nb\n", "ptxas error   : Entry function 'k' uses too much shared data"), "");
  EXPECT_EQ(lines_around_errors("a\nb\n", "stepc.cu(1): warning #177-D: unused"), "");
  EXPECT_EQ(lines_around_errors("a\nb\n", "stepc.cu(99): error: beyond the end"), "");
  EXPECT_EQ(lines_around_errors("a\nb\n", "stepc.cu(1"), "");
}

}  // namespace
}  // namespace stepc::test
