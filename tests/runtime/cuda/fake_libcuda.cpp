// The fake driver as a shared library, for tests of the whole program: STEPC_CUDA_DRIVER names it. Kernels run and do
// nothing. The machine is described by FAKE_CUDA_MEMORY (bytes), FAKE_CUDA_CAPABILITY ("9.0") and FAKE_CUDA_VERSION
// (13000).
#include "tests/runtime/cuda/fake_driver.h"

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

namespace stepc::test {
namespace {

template <typename T>
T number_in(const char* variable, T otherwise) {
  const char* const text = std::getenv(variable);
  T value = otherwise;
  if (text != nullptr) std::from_chars(text, text + std::string_view(text).size(), value);
  return value;
}

cuda::DriverApi make_table() {
  static FakeDriver driver;
  driver.runs_any_kernel = true;
  driver.version = number_in("FAKE_CUDA_VERSION", driver.version);
  driver.memory_bytes = number_in("FAKE_CUDA_MEMORY", driver.memory_bytes);
  const char* const capability = std::getenv("FAKE_CUDA_CAPABILITY");
  if (capability != nullptr) {
    const std::string_view text = capability;
    const size_t dot = text.find('.');
    driver.major = std::stoi(std::string(text.substr(0, dot)));
    driver.minor = std::stoi(std::string(text.substr(dot + 1)));
  }
  return driver.table();
}

const cuda::DriverApi& table() {
  static const cuda::DriverApi api = make_table();
  return api;
}

// The C function that calls an entry of the table.
template <auto Entry, typename Function>
struct Call;
template <auto Entry, typename... Arguments>
struct Call<Entry, int(Arguments...)> {
  static int run(Arguments... arguments) { return (table().*Entry)(arguments...); }
};

}  // namespace
}  // namespace stepc::test

// Each of the driver's symbols, resolved to its call when it is looked up.
#define DRIVER_FUNCTION(name, symbol, ...)                                                   \
  extern "C" {                                                                               \
  int (*resolve_##symbol())(__VA_ARGS__) {                                                   \
    using namespace stepc;                                                                   \
    return &test::Call<&cuda::DriverApi::name, int(__VA_ARGS__)>::run;                       \
  }                                                                                          \
  __attribute__((visibility("default"), ifunc("resolve_" #symbol))) int symbol(__VA_ARGS__); \
  }
#include "runtime/cuda/driver.def"
#undef DRIVER_FUNCTION
