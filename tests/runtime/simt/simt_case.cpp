#include "tests/runtime/simt/simt_case.h"

#include <algorithm>
#include <string_view>

namespace stepc {

extern const std::string_view cuda_device_source[];
extern const std::string_view* const cuda_device_source_end;

}  // namespace stepc

namespace stepc::test {

SimtCase::SimtCase(const std::string& kernel, simt::Order order, cuda::Architecture architecture)
    : device({.architecture = architecture, .order = order, .seed = 1, .threads = 2, .compile = {}}) {
  for (const std::string_view* part = cuda_device_source; part != cuda_device_source_end; ++part) text_ += *part;
  text_ += "using namespace stepc_device;\n" + kernel;
  const std::string symbol = "kernel";
  device.load({text_}, std::span(&symbol, 1));
}

int SimtCase::line_of(const std::string& part) const {
  const size_t at = text_.find(part);
  if (at == std::string::npos) return -1;
  return 1 + static_cast<int>(std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(at), '\n'));
}

}  // namespace stepc::test
