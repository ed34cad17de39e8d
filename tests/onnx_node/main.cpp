// onnx_node_tests interpreter|cpu DIR [LIST]: runs the cases in the folders of DIR (those that the file LIST names, one
// a line), prints one line for each and a summary. Exit status 1 when any fails.

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
  const std::string backend = argc > 1 ? argv[1] : "";
  if (argc < 3 || argc > 4 || (backend != "interpreter" && backend != "cpu")) {
    fmt::print(stderr, "usage: onnx_node_tests interpreter|cpu DIR [LIST]\n");
    return 2;
  }
  const fs::path directory = argv[2];
  const std::vector<std::string> names = argc == 4 ? lines_of(argv[3]) : cases_of(directory);
  std::vector<std::string> directories;
  for (const std::string& name : names) directories.push_back((directory / name).string());
  const std::vector<Verdict> verdicts = run_node_cases(directories, backend == "cpu" ? run_cpu : run_interpreter);
  std::array<int, 3> counts{};
  for (size_t i = 0; i < names.size(); ++i) {
    ++counts[static_cast<size_t>(verdicts[i].outcome)];
    fmt::print("{} {}{}\n", word(verdicts[i].outcome), names[i],
               verdicts[i].detail.empty() ? "" : ": " + verdicts[i].detail);
  }
  fmt::print("{} passed, {} skipped, {} failed\n", counts[0], counts[1], counts[2]);
  return counts[2] == 0 ? 0 : 1;
}
