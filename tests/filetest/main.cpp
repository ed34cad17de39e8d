// Runs every case of the text tests: filetests [--bless] [PATH...], all of tests/*/*.ir by default. `--bless` rewrites
// expectations in place; whoever blesses re-derives them by hand.

#include "ir/support/error.h"
#include "tests/filetest/filetest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>

namespace stepc::filetest {
namespace {

namespace fs = std::filesystem;

const Kind& find_kind(const File& file) {
  for (const Kind& kind : kinds())
    if (kind.name == file.kind) return kind;
  user_error("{}: unknown kind of test '{}'", file.path.string(), file.kind);
}

class FileCase : public testing::Test {
 public:
  FileCase(std::shared_ptr<const File> file, size_t index) : file_(std::move(file)), index_(index) {}

  void TestBody() override {
    const Case& test = file_->cases[index_];
    try {
      const std::string actual = find_kind(*file_).run(*file_, test);
      EXPECT_EQ(actual, test.has_expected ? test.expected : test.input);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }

 private:
  std::shared_ptr<const File> file_;
  size_t index_;
};

void register_cases(const fs::path& path) {
  const auto file = std::make_shared<const File>(read_file(path));
  const std::string suite = path.parent_path().filename().string() + "/" + path.stem().string();
  for (size_t i = 0; i < file->cases.size(); ++i)
    testing::RegisterTest(suite.c_str(), file->cases[i].title.c_str(), nullptr, nullptr, path.c_str(), 1,
                          [file, i]() -> testing::Test* { return new FileCase(file, i); });
}

void bless(const fs::path& path) {
  File file = read_file(path);
  for (Case& test : file.cases) {
    const std::string actual = find_kind(file).run(file, test);
    test.has_expected = test.has_expected || actual != test.input;
    if (test.has_expected) test.expected = actual;
  }
  std::ofstream(path, std::ios::binary) << format_file(file);
}

std::vector<fs::path> default_paths() {
  std::vector<fs::path> paths;
  for (const char* folder : {"tests/ir", "tests/passes"})
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".ir") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

int run(int argc, char** argv) {
  bool blessing = false;
  std::vector<fs::path> paths;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--bless")
      blessing = true;
    else
      paths.emplace_back(argv[i]);
  }
  if (paths.empty()) paths = default_paths();
  for (const fs::path& path : paths) blessing ? bless(path) : register_cases(path);
  return blessing ? 0 : RUN_ALL_TESTS();
}

}  // namespace
}  // namespace stepc::filetest

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  try {
    return stepc::filetest::run(argc, argv);
  } catch (const std::exception& error) {
    fprintf(stderr, "filetests: %s\n", error.what());
    return 1;
  }
}
