#include "runtime/cuda/shared_library.h"

#include "runtime/process.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace stepc::cuda {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<fs::path>;

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// libNAME.so, libNAME.so.13, ... in a folder, the longest name first: among versions, the newest of equal length.
Paths libraries_in(const fs::path& folder, const std::string& name) {
  Paths found;
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(folder, error)) {
    const std::string file_name = file.path().filename().string();
    const std::string stem = "lib" + name + ".so";
    if (file_name == stem || file_name.starts_with(stem + ".")) found.push_back(file.path());
  }
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    const auto rank = [](const fs::path& path) { return std::pair(path.native().size(), path.native()); };
    return rank(a) > rank(b);
  });
  return found;
}

void append(Paths& to, const Paths& from) { to.insert(to.end(), from.begin(), from.end()); }

Paths libraries_of_toolkit(const fs::path& toolkit, const std::string& name) {
  Paths found;
  if (toolkit.empty()) return found;
  for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"})
    append(found, libraries_in(toolkit / folder, name));
  return found;
}

// The folder above that of the nvcc on PATH.
fs::path toolkit_of_nvcc() {
  std::istringstream folders(environment("PATH"));
  std::error_code error;
  for (std::string folder; std::getline(folders, folder, ':');)
    if (fs::is_regular_file(fs::path(folder) / "nvcc", error))
      return fs::weakly_canonical(fs::path(folder) / "nvcc", error).parent_path().parent_path();
  return {};
}

// PyPI's packages of NVIDIA's libraries all put them under nvidia/*/lib.
Paths libraries_of_python(const std::string& name) {
  const ProcessResult python = run_process({"python3", "-c", "import sys; print('\\n'.join(sys.path))"});
  Paths found;
  if (!python.started || python.exit_status != 0) return found;
  std::istringstream folders(python.output);
  for (std::string folder; std::getline(folders, folder);) {
    if (folder.empty()) continue;
    Paths packages;
    std::error_code error;
    for (const fs::directory_entry& package : fs::directory_iterator(fs::path(folder) / "nvidia", error))
      packages.push_back(package.path());
    std::sort(packages.begin(), packages.end());
    for (const fs::path& package : packages) append(found, libraries_in(package / "lib", name));
  }
  return found;
}

std::optional<SharedLibrary> first_of(const Paths& paths) {
  std::string why;
  for (const fs::path& path : paths)
    if (auto library = SharedLibrary::open(path.string(), why)) return library;
  return std::nullopt;
}

SharedLibrary open_named(const std::string& name, const char* variable, const std::string& value) {
  std::error_code error;
  const bool is_folder = fs::is_directory(value, error);
  const Paths paths = is_folder ? libraries_in(value, name) : Paths{value};
  if (paths.empty()) user_error("{}={}: no lib{}.so in this folder", variable, value, name);
  std::string why;
  for (const fs::path& path : paths)
    if (auto library = SharedLibrary::open(path.string(), why)) return *library;
  user_error("{}={}: {}", variable, value, why);
}

}  // namespace

std::optional<SharedLibrary> SharedLibrary::open(const std::string& name, std::string& why) {
  void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    why = dlerror();
    return std::nullopt;
  }
  link_map* map = nullptr;
  const bool has_path = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name[0] != '\0';
  return SharedLibrary(handle, has_path ? map->l_name : name);
}

void* SharedLibrary::find(const char* symbol) const { return dlsym(handle_, symbol); }

std::optional<SharedLibrary> open_toolkit_library(const std::string& name, const char* variable) {
  if (const std::string value = environment(variable); !value.empty()) return open_named(name, variable, value);
  for (const char* home : {"CUDA_HOME", "CUDA_PATH"})
    if (auto library = first_of(libraries_of_toolkit(environment(home), name))) return library;
  const std::string stem = "lib" + name + ".so";
  if (auto library = first_of({stem + ".13", stem + ".12", stem})) return library;
  for (const fs::path& toolkit : {toolkit_of_nvcc(), fs::path("/usr/local/cuda"), fs::path("/opt/cuda")})
    if (auto library = first_of(libraries_of_toolkit(toolkit, name))) return library;
  return first_of(libraries_of_python(name));
}

}  // namespace stepc::cuda
