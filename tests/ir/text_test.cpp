#include "ir/constant_store.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/support/error.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

namespace stepc {
namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// Parses, and answers whether the text was taken. Anything but a UserError is a defect.
bool parses(const std::string& text) {
  try {
    const std::string printed = print(parse(text));
    EXPECT_EQ(print(parse(printed)), printed) << text;
    return true;
  } catch (const UserError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("<text>:")) << error.what();
    return false;
  }
}

// The cases of a text test, without titles.
std::vector<std::string> texts_of(const fs::path& path) {
  std::vector<std::string> texts;
  std::istringstream lines(read_text(path));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    if (line.starts_with("=== ") || line == "---")
      texts.emplace_back();
    else
      texts.back() += line + "\n";
  }
  return texts;
}

TEST(Text, DamagedTextIsRefusedOrRead) {
  std::mt19937 generator(1);
  const auto below = [&](size_t limit) { return generator() % limit; };
  const std::string alphabet = "%@\"{}[](),:=->_ \n;0123456789.xepinfabc\x01\xff";
  size_t refused = 0;
  for (const std::string& text : texts_of("tests/ir/roundtrip.ir")) {
    if (text.empty()) continue;
    for (int round = 0; round < 400; ++round) {
      std::string damaged = text;
      for (size_t edits = 1 + below(3); edits > 0 && !damaged.empty(); --edits) {
        const size_t at = below(damaged.size());
        switch (below(4)) {
          case 0: damaged[at] = alphabet[below(alphabet.size())]; break;
          case 1: damaged.erase(at, 1 + below(8)); break;
          case 2: damaged.insert(at, 1, alphabet[below(alphabet.size())]); break;
          default: damaged.resize(at); break;
        }
      }
      refused += parses(damaged) ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 1000U);
}

TEST(Text, AMillionBracesDoNotExhaustTheStack) {
  std::string text = "graph @g {";
  for (int i = 0; i < 1000000; ++i) text += "%a: f32[] = fused body {";
  EXPECT_FALSE(parses(text));
}

TEST(Text, LargerConstantsLieInTheStore) {
  const std::string text = R"(graph @g {
  %c: i64[17] = constant {hash="HASH"}
  output output "c" %c
}
)";
  std::vector<int64_t> numbers(17);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i) << 58;
  const Tensor tensor = Tensor::of_i64(numbers, {17});
  ConstantMemory memory;
  memory.put(constant_hash(tensor), tensor);
  std::string hashed = text;
  hashed.replace(hashed.find("HASH"), 4, constant_hash(tensor));
  const Graph graph = parse(hashed, {.constants = &memory});
  EXPECT_EQ(*graph.node(graph.first()).constant, tensor);
  ConstantMemory sink;
  EXPECT_EQ(print(graph, &sink), hashed);
  EXPECT_EQ(sink.get(constant_hash(tensor), tensor.type()), tensor);
  EXPECT_FALSE(parses(hashed));  // no store
}

}  // namespace
}  // namespace stepc
