#pragma once

#include "ir/support/error.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stepc::cuda {

// A shared library opened at run time. It is never closed: NVIDIA's libraries keep threads of their own.
class SharedLibrary {
 public:
  // A path, or a name that the loader searches. Nothing where it does not open; then `why` is the loader's reason.
  static std::optional<SharedLibrary> open(const std::string& name, std::string& why);

  const std::filesystem::path& path() const { return path_; }  // of the file that was loaded
  void* find(const char* symbol) const;                        // null where the library lacks it

  // Binds an entry of a table of functions. Throws UserError where the library lacks it.
  template <typename Result, typename... Args>
  void bind(std::function<Result(Args...)>& entry, const char* symbol) const {
    void* const address = find(symbol);
    if (address == nullptr) user_error("{} is too old: it has no {}; install a newer one", path_.string(), symbol);
    entry = reinterpret_cast<Result (*)(Args...)>(address);
  }

 private:
  SharedLibrary(void* handle, std::filesystem::path path) : handle_(handle), path_(std::move(path)) {}
  void* handle_;
  std::filesystem::path path_;
};

// A library of the CUDA toolkit: `name` is "nvrtc" for libnvrtc.so. Searched, the first that opens is taken: what the
// environment variable names, a file or a folder, and then nothing else; CUDA_HOME and CUDA_PATH; the loader's own
// paths; the toolkit of the nvcc on PATH, /usr/local/cuda and /opt/cuda; the packages of the python3 on PATH
// (site-packages/nvidia/*/lib). Throws UserError where the variable names none; nothing where there is none elsewhere.
std::optional<SharedLibrary> open_toolkit_library(const std::string& name, const char* variable);

}  // namespace stepc::cuda
