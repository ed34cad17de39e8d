#include "runtime/cuda/nvrtc.h"

#include "ir/support/error.h"
#include "runtime/cuda/shared_library.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

namespace stepc::cuda {
namespace {

constexpr int kCompilationError = 6;  // NVRTC_ERROR_COMPILATION

// What is rounded is what is written (--fmad=false), and the assembler says what a function uses (-v).
constexpr const char* kOptions[] = {"--fmad=false", "-std=c++20"};
constexpr const char* kVerbose = "--ptxas-options=-v";

template <typename Size, typename Get>
std::string text_of(Size&& size, Get&& get, _nvrtcProgram* program) {
  size_t bytes = 0;
  size(program, &bytes);
  std::string text(bytes, '\0');
  if (bytes > 0) get(program, text.data());
  return text;
}

}  // namespace

Nvrtc::Nvrtc() {
  const auto library = open_toolkit_library("nvrtc", "STEPC_NVRTC");
  if (!library)
    user_error(
        "no NVRTC, which compiles CUDA kernels, in CUDA_HOME, the loader's paths, /usr/local/cuda or python3's "
        "packages; "
        "install a CUDA toolkit or PyPI's nvidia-cuda-nvrtc, or name libnvrtc.so in STEPC_NVRTC");
  path_ = library->path();
#define NVRTC_FUNCTION(result, name, ...) library->bind(api_.name, #name);
#include "runtime/cuda/nvrtc.def"
#undef NVRTC_FUNCTION
  int count = 0;
  if (api_.nvrtcVersion(&version_.major, &version_.minor) != 0 || api_.nvrtcGetNumSupportedArchs(&count) != 0)
    user_error("{} does not work as NVRTC; name another in STEPC_NVRTC", path_.string());
  architectures_.resize(static_cast<size_t>(count));
  api_.nvrtcGetSupportedArchs(architectures_.data());
}

std::string Nvrtc::identity() const {
  // The library tells its major and minor version only; its size tells patch releases apart.
  std::error_code error;
  return fmt::format("NVRTC {} {} {}", version_.text(), std::filesystem::file_size(path_, error),
                     fmt::join(kOptions, " "));
}

void Nvrtc::check(Architecture architecture) const {
  if (std::find(architectures_.begin(), architectures_.end(), architecture.number()) != architectures_.end()) return;
  user_error("NVRTC {} ({}) does not know {}; it knows sm_{}; install a newer one, or name it in STEPC_NVRTC",
             version_.text(), path_.string(), architecture.name(), fmt::join(architectures_, ", sm_"));
}

Nvrtc::Result Nvrtc::compile(const std::string& source, Architecture architecture) const {
  check(architecture);
  const auto require = [&](int status, const std::string& log) {
    if (status == 0) return;
    user_error("NVRTC {} ({}): {}{}{}", version_.text(), path_.string(), api_.nvrtcGetErrorString(status),
               log.empty() ? "" : ": ", log.substr(0, log.find('\n')));
  };
  _nvrtcProgram* program = nullptr;
  require(api_.nvrtcCreateProgram(&program, source.c_str(), "stepc.cu", 0, nullptr, nullptr), {});
  const auto destroy = [&](_nvrtcProgram* p) { api_.nvrtcDestroyProgram(&p); };
  const std::unique_ptr<_nvrtcProgram, decltype(destroy)> owner(program, destroy);

  const std::string target = "--gpu-architecture=" + architecture.name();
  std::vector<const char*> options{target.c_str(), kVerbose};
  options.insert(options.end(), std::begin(kOptions), std::end(kOptions));
  const int status = api_.nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
  Result result;
  result.log = text_of(api_.nvrtcGetProgramLogSize, api_.nvrtcGetProgramLog, program);
  while (!result.log.empty() && (result.log.back() == '\0' || result.log.back() == '\n')) result.log.pop_back();
  if (status == kCompilationError) return result;
  require(status, result.log);
  result.compiled = true;
  result.image = text_of(api_.nvrtcGetCUBINSize, api_.nvrtcGetCUBIN, program);
  return result;
}

std::string Nvrtc::command(const std::filesystem::path& source, Architecture architecture) {
  return fmt::format("nvcc --cubin --gpu-architecture={} {} --output-file /dev/null {}", architecture.name(),
                     fmt::join(kOptions, " "), source.string());
}

}  // namespace stepc::cuda
