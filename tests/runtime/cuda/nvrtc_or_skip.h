#pragma once

#include "ir/support/error.h"
#include "runtime/cuda/nvrtc.h"

#include <gtest/gtest.h>

#include <string>

namespace stepc::test {

// Why kernels cannot be compiled here, or nothing.
inline std::string why_no_nvrtc() {
  try {
    const cuda::Nvrtc nvrtc;
    nvrtc.check({12, 0});
    return {};
  } catch (const UserError& error) {
    return error.what();
  }
}

}  // namespace stepc::test

// First in a test that compiles kernels: leaves it aloud where no NVRTC that knows all architectures is installed.
#define SKIP_WITHOUT_NVRTC() \
  if (const std::string why = ::stepc::test::why_no_nvrtc(); !why.empty()) GTEST_SKIP() << why
