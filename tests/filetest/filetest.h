#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepc::filetest {

// One case: text in, text out. `expected` is empty and `has_expected` false where the case has no `---` line.
struct Case {
  std::string title;
  std::string input;
  std::string expected;
  bool has_expected = false;
};

// A file of cases:
//
//   ; test passes="dce,cse" loss="sum"
//   === keeps what only an output reads
//   graph @g { ... }
//   ---
//   graph @g { ... }
//
// The first line names the kind, with or without an argument, and further settings.
struct File {
  std::filesystem::path path;
  std::string header;
  std::string kind;
  std::map<std::string, std::string> settings;  // the kind's argument under the kind's name
  std::vector<Case> cases;

  const std::string& setting(const std::string& key) const;  // empty where absent
};

File read_file(const std::filesystem::path& path);
std::string format_file(const File& file);  // what read_file reads

// What a kind makes of a case's input. Throws whatever goes wrong; the case fails with the message.
struct Kind {
  std::string_view name;
  std::string (*run)(const File&, const Case&) = nullptr;
};

std::span<const Kind> kinds();
std::string run_roundtrip(const File& file, const Case& test);
std::string run_saved(const File& file, const Case& test);
std::string run_error(const File& file, const Case& test);
std::string run_passes_on_text(const File& file, const Case& test);

}  // namespace stepc::filetest
