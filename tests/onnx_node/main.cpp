// onnx_node_tests DIR [LIST]: runs the cases in the folders of DIR (those that the file LIST names, one a line) on the
// reference interpreter, prints one line for each that does not pass and a summary. Exit status 1 when any fails.

#include "tests/onnx_node/node_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

namespace {

namespace fs = std::filesystem;

std::vector<std::string> cases_of(const fs::path& directory) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory))
    if (fs::exists(entry.path() / "model.onnx")) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> lines_of(const fs::path& list) {
  std::ifstream file(list);
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) names.push_back(line);
  return names;
}

std::string_view word(stepc::test::Outcome outcome) {
  constexpr std::array<std::string_view, 3> words{"pass", "skip", "fail"};
  return words[static_cast<size_t>(outcome)];
}

}  // namespace

int main(int argc, char** argv) {
  using namespace stepc::test;
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "usage: onnx_node_tests DIR [LIST]\n");
    return 2;
  }
  const fs::path directory = argv[1];
  std::array<int, 3> counts{};
  for (const std::string& name : argc == 3 ? lines_of(argv[2]) : cases_of(directory)) {
    const Verdict verdict = run_node_case((directory / name).string(), run_interpreter);
    ++counts[static_cast<size_t>(verdict.outcome)];
    fmt::print("{} {}{}\n", word(verdict.outcome), name, verdict.detail.empty() ? "" : ": " + verdict.detail);
  }
  fmt::print("{} passed, {} skipped, {} failed\n", counts[0], counts[1], counts[2]);
  return counts[2] == 0 ? 0 : 1;
}
