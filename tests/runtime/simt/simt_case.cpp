#include "tests/runtime/simt/simt_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace stepc::test {
namespace {

// The device functions that touch memory, convert and multiply; they need no others. Each stands after what it uses.
std::string device_functions() {
  std::string text;
  for (const char* name : {"half", "memory", "mma"}) {
    std::ifstream file(std::string("codegen/cuda/device/") + name + ".cuh");
    EXPECT_TRUE(file.is_open()) << "run from the repository's root";
    for (std::string line; std::getline(file, line);)
      if (line != "#pragma once" && !line.starts_with("#include")) text += line + "\n";
  }
  return text;
}

}  // namespace

SimtCase::SimtCase(const std::string& kernel, simt::Order order, cuda::Architecture architecture)
    : device({.architecture = architecture, .order = order, .seed = 1, .threads = 2, .compile = {}}),
      text_(device_functions() + "using namespace stepc_device;\n" + kernel) {
  const std::string symbol = "kernel";
  device.load({text_}, std::span(&symbol, 1));
}

int SimtCase::line_of(const std::string& part) const {
  const size_t at = text_.find(part);
  if (at == std::string::npos) return -1;
  return 1 + static_cast<int>(std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(at), '\n'));
}

}  // namespace stepc::test
