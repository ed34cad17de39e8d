#include "runtime/cpu/compiler.h"

#include "ir/support/error.h"
#include "runtime/process.h"

#include <fmt/ranges.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace stepc {
namespace {

// -O3 vectorises; the others keep to IEEE arithmetic as written (no contraction, no reassociation) while errno and
// trapping, which nothing here reads, do not stand in the way of vectors; signed integers wrap around.
constexpr const char* kFlags[] = {
    "-std=c++17",         "-O3",     "-march=native", "-ffp-contract=off", "-fno-math-errno",
    "-fno-trapping-math", "-fwrapv", "-fPIC",         "-shared",           "-w"};

std::vector<std::string> words(const char* text) {
  std::istringstream stream(text == nullptr ? "" : text);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

// What -march=native looks at.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string text;
  for (std::string line; std::getline(file, line) && !line.empty();)
    if (line.starts_with("model name") || line.starts_with("flags") || line.starts_with("Features"))
      text += line + "\n";
  return text;
}

std::string first_error(const std::string& output) {
  std::istringstream stream(output);
  std::string first;
  for (std::string line; std::getline(stream, line);) {
    if (first.empty()) first = line;
    if (line.find("rror") != std::string::npos) return line;
  }
  return first;
}

}  // namespace

SystemCompiler::SystemCompiler() {
  std::vector<std::vector<std::string>> candidates{words(std::getenv("CXX"))};
  if (candidates[0].empty()) candidates = {{"c++"}, {"g++"}, {"clang++"}};
  for (const std::vector<std::string>& candidate : candidates) {
    std::vector<std::string> version = candidate;
    version.emplace_back("--version");
    const ProcessResult result = run_process(version);
    if (!result.started || result.exit_status != 0) continue;
    command_ = candidate;
    version_ = result.output.substr(0, result.output.find('\n'));
    identity_ =
        fmt::format("{}\n{}\n{}\n{}", fmt::join(candidate, " "), result.output, fmt::join(kFlags, " "), processor());
    return;
  }
  user_error("no C++ compiler: {}; install g++ or set CXX to a compiler",
             candidates.size() == 1 ? "'" + candidates[0][0] + "' does not run" : "none of c++, g++ and clang++ runs");
}

std::string SystemCompiler::command_text() const { return fmt::format("{}", fmt::join(command_, " ")); }

std::vector<std::string> SystemCompiler::command_line(const std::string& source,
                                                      const std::string& shared_object) const {
  std::vector<std::string> line = command_;
  line.insert(line.end(), std::begin(kFlags), std::end(kFlags));
  line.insert(line.end(), {source, "-o", shared_object});
  return line;
}

void SystemCompiler::compile(const std::filesystem::path& source, const std::filesystem::path& shared_object) const {
  const ProcessResult result = run_process(command_line(source.string(), shared_object.string()));
  std::error_code error;
  if (result.started && result.exit_status == 0) {
    if (std::filesystem::file_size(shared_object, error) > 0 && !error) return;
    user_error("'{}' ended well but compiled nothing; install g++ or set CXX to a compiler", command_text());
  }
  if (result.exit_status > 128)
    user_error("'{}' was ended by signal {} while compiling kernels", command_text(), result.exit_status - 128);
  if (result.output.find("No space left on device") != std::string::npos)
    user_error("no space left on the device while compiling kernels into {}; free some, or set STEPC_CACHE_DIR",
               shared_object.parent_path().string());

  // A compiler that cannot do its work at all is the user's; one that refuses this source is our bug.
  const std::filesystem::path probe = std::filesystem::path(source).replace_extension(".probe.cpp");
  std::ofstream(probe) << "extern \"C\" void probe() {}\n";
  const ProcessResult plain = run_process(command_line(probe.string(), shared_object.string()));
  std::error_code ignored;
  std::filesystem::remove(probe, ignored);
  if (!plain.started || plain.exit_status != 0)
    user_error("'{}' does not compile: {}", command_text(), first_error(plain.output));
  CHECK(false, "generated kernels do not compile: {}", first_error(result.output));
}

}  // namespace stepc
