#pragma once

#include "runtime/cuda/cublaslt.h"
#include "runtime/cuda/matmul_form.h"
#include "runtime/object_cache.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace stepc::cuda {

// One contraction of a plan on cuBLASLt, with its addresses. The algorithm is the library's first choice within the
// workspace, and is kept in the cache under device, driver, library and everything that describes the contraction: its
// bits stay the same from run to run, and a recompute has those of the forward.
class LibraryMatmul {
 public:
  struct Operands {
    std::span<const DevicePointer> buffers;  // the first elements of A, B, the addends and D
    DevicePointer workspace = 0;
    int64_t workspace_bytes = 0;
  };
  // `matmul_form` must take the work. Throws UserError where the library has no algorithm for it. The library must
  // outlive this.
  LibraryMatmul(const CublasLt& library, const MatmulWork& work, const MatmulTypes& types, const Operands& operands,
                const ObjectCache& cache);

  // Enqueues it on the device's stream.
  void run() const;

 private:
  using Handle = std::unique_ptr<void, std::function<void(void*)>>;
  // The matrices of one cublasLtMatmul, and how it is done.
  struct Call {
    Handle descriptor, a, b, c, d;
    LtAlgorithm algorithm{};
  };
  // Where one call reads and writes.
  struct Addresses {
    DevicePointer a = 0, b = 0, c = 0, bias = 0, d = 0;
  };

  Handle layout(const MatmulForm::Matrix& matrix, Dtype dtype, int64_t rows, int64_t columns) const;
  Handle descriptor(bool with_bias) const;
  Handle preference() const;
  Call make_call(bool first, const ObjectCache& cache) const;
  LtAlgorithm choose(const Call& call, const std::string& key, const ObjectCache& cache) const;
  std::string key(bool first) const;
  std::vector<Addresses> addresses() const;
  int64_t alignment() const;
  void multiply(const Call& call, const Addresses& at, bool adds) const;

  const CublasLt& library_;
  MatmulWork work_;
  MatmulTypes types_;
  MatmulForm form_;
  std::vector<DevicePointer> buffers_;
  DevicePointer workspace_;
  int64_t workspace_bytes_;
  std::vector<Addresses> addresses_;  // per point of the loops and of MatmulWork::sums, the latter innermost
  size_t sums_ = 1;
  int64_t alignment_ = 0;
  Call first_;  // of each sum, with the addends
  Call later_;  // adds to what is there
};

}  // namespace stepc::cuda
