#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace stepc {

// The system's C++ compiler: $CXX (which may have arguments), else c++, g++ or clang++.
class SystemCompiler {
 public:
  SystemCompiler();  // throws UserError where none starts

  // Everything besides the source that decides the code: command, version, flags, and the processor (-march=native).
  const std::string& identity() const { return identity_; }
  std::string command_text() const;
  const std::string& version() const { return version_; }  // the first line of what --version prints
  // Compiles one translation unit into a shared object. Throws UserError for a compiler or machine that fails, an
  // InternalError for source it refuses.
  void compile(const std::filesystem::path& source, const std::filesystem::path& shared_object) const;

 private:
  std::vector<std::string> command_line(const std::string& source, const std::string& shared_object) const;

  std::vector<std::string> command_;
  std::string version_;
  std::string identity_;
};

}  // namespace stepc
