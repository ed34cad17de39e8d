#include "ir/support/error.h"
#include "runtime/cpu/convolution.h"
#include "runtime/cpu/library.h"
#include "runtime/cpu/low_matmul.h"
#include "runtime/cpu/matmul.h"

#include <dnnl.h>

namespace stepc {
namespace {

class Product : public LibraryLaunch {
 public:
  explicit Product(const MatmulWork& work) : launch_(work) {}
  int64_t scratch_bytes() const override { return 0; }
  void run(ThreadPool& pool, std::span<void* const> buffers, void*) const override { launch_.run(pool, buffers); }

 private:
  MatmulLaunch launch_;
};

class LowProduct : public LibraryLaunch {
 public:
  LowProduct(const MatmulWork& work, Dtype dtype) : launch_(work, dtype) {}
  int64_t scratch_bytes() const override { return launch_.scratch_bytes(); }
  void run(ThreadPool& pool, std::span<void* const> buffers, void* scratch) const override {
    launch_.run(pool, buffers, scratch);
  }

 private:
  LowMatmulLaunch launch_;
};

class Convolving : public LibraryLaunch {
 public:
  explicit Convolving(const ConvolutionWork& work) : launch_(work) {}
  int64_t scratch_bytes() const override { return launch_.scratch_bytes(); }
  void run(ThreadPool&, std::span<void* const> buffers, void* scratch) const override {
    const void* bias = buffers.size() > 3 ? buffers[2] : nullptr;
    launch_.run(buffers[0], buffers[1], bias, buffers.back(), scratch);
  }

 private:
  ConvolutionLaunch launch_;
};

}  // namespace

std::optional<std::string> onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

std::unique_ptr<LibraryLaunch> make_library_launch(const Kernel& kernel) {
  if (const auto* matmul = std::get_if<MatmulWork>(&kernel.work)) {
    const Dtype dtype = kernel.buffers[0].dtype;
    if (dtype == Dtype::f32) return std::make_unique<Product>(*matmul);
    return std::make_unique<LowProduct>(*matmul, dtype);
  }
  const auto* convolution = std::get_if<ConvolutionWork>(&kernel.work);
  CHECK(convolution != nullptr, "{} is no library kernel", kernel_kind_name(kernel.kind));
  return std::make_unique<Convolving>(*convolution);
}

}  // namespace stepc
