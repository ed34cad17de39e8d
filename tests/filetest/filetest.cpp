#include "tests/filetest/filetest.h"

#include "ir/support/error.h"

#include <fstream>
#include <sstream>

namespace stepc::filetest {
namespace {

std::string read_text(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) user_error("cannot read {}", path.string());
  return text.str();
}

// `; test kind="argument" key="value"`; a kind may stand without argument.
void parse_header(File& file) {
  std::istringstream words(file.header);
  std::string semicolon, test;
  words >> semicolon >> test;
  if (semicolon != ";" || test != "test") user_error("{}: the first line is `; test KIND`", file.path.string());
  for (std::string word; words >> word;) {
    const size_t equal = word.find('=');
    const std::string key = word.substr(0, equal);
    std::string value;
    if (equal != std::string::npos) {
      if (word.size() < equal + 3 || word[equal + 1] != '"' || word.back() != '"')
        user_error("{}: the setting {} has a value in quotes, without blanks", file.path.string(), key);
      value = word.substr(equal + 2, word.size() - equal - 3);
    }
    if (file.kind.empty()) file.kind = key;
    file.settings[key] = value;
  }
}

}  // namespace

const std::string& File::setting(const std::string& key) const {
  static const std::string kNone;
  const auto position = settings.find(key);
  return position == settings.end() ? kNone : position->second;
}

File read_file(const std::filesystem::path& path) {
  File file;
  file.path = path;
  std::istringstream text(read_text(path));
  std::getline(text, file.header);
  parse_header(file);
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("=== ")) {
      file.cases.push_back(Case{line.substr(4), {}, {}, false});
    } else if (file.cases.empty()) {
      user_error("{}: a case begins with `=== title`", path.string());
    } else if (line == "---" && !file.cases.back().has_expected) {
      file.cases.back().has_expected = true;
    } else {
      Case& last = file.cases.back();
      (last.has_expected ? last.expected : last.input) += line + "\n";
    }
  }
  return file;
}

std::string format_file(const File& file) {
  std::string text = file.header + "\n";
  for (const Case& test : file.cases) {
    text += "=== " + test.title + "\n" + test.input;
    if (test.has_expected) text += "---\n" + test.expected;
  }
  return text;
}

}  // namespace stepc::filetest
