#pragma once

#include "runtime/cuda/device.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

struct cublasLtContext;  // NVIDIA's name, so that our declarations are theirs

namespace stepc::cuda {

// cublasLtMatmulAlgo_t: may be kept and used again with the same version of the library.
struct LtAlgorithm {
  uint64_t data[8];
};

// cublasLtMatmulHeuristicResult_t.
struct LtChoice {
  LtAlgorithm algorithm;
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

struct CublasLtApi {
#define CUBLASLT_FUNCTION(result, name, ...) std::function<result(__VA_ARGS__)> name;
#include "runtime/cuda/cublaslt.def"
#undef CUBLASLT_FUNCTION
};

// cuBLASLt's functions, opened at run time (STEPC_CUBLASLT names it, see open_toolkit_library). Nothing where there is
// none: contractions are generated then.
std::optional<CublasLtApi> load_cublaslt();

// Numbers of cublasLt.h and its kin that are used.
enum LtNumber : int {
  kLtR32F = 0,                  // CUDA_R_32F
  kLtR16F = 2,                  // CUDA_R_16F
  kLtR16BF = 14,                // CUDA_R_16BF
  kLtCompute32F = 68,           // CUBLAS_COMPUTE_32F: no TF32
  kLtComputeTf32 = 77,          // CUBLAS_COMPUTE_32F_FAST_TF32
  kLtDescTransA = 3,            // CUBLASLT_MATMUL_DESC_TRANSA: int32
  kLtDescTransB = 4,            // CUBLASLT_MATMUL_DESC_TRANSB: int32
  kLtDescEpilogue = 7,          // CUBLASLT_MATMUL_DESC_EPILOGUE: uint32
  kLtDescBiasPointer = 8,       // CUBLASLT_MATMUL_DESC_BIAS_POINTER
  kLtDescBiasStride = 10,       // CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE: int64
  kLtTranspose = 1,             // CUBLAS_OP_T
  kLtEpilogueBias = 4,          // CUBLASLT_EPILOGUE_BIAS: one number per row of D
  kLtLayoutBatchCount = 5,      // CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: int32
  kLtLayoutBatchStride = 6,     // CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: int64
  kLtPreferenceWorkspace = 1,   // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: size_t
  kLtPreferenceReduction = 3,   // CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: uint32
  kLtPreferenceAlignmentA = 5,  // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: uint32, then B, C and D
  kLtReductionComputeType = 2   // CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
};

// cuBLASLt with a handle on a device, which must outlive it.
class CublasLt {
 public:
  CublasLt(CublasLtApi table, const CudaDevice& device);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  CublasLtApi api;
  const CudaDevice& device() const { return device_; }
  cublasLtContext* handle() const { return handle_; }
  size_t version() const { return api.cublasLtGetVersion(); }
  // Throws UserError for a status other than success.
  void check(int status, std::string_view doing) const;

 private:
  const CudaDevice& device_;
  cublasLtContext* handle_ = nullptr;
};

}  // namespace stepc::cuda
