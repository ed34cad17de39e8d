// Our declarations of NVIDIA's functions against the toolkit's headers: every parameter in its place and of its size,
// and the numbers that are used. Compiled where the headers are.
#include "runtime/cuda/cublaslt.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/occupancy.h"

#include <cublasLt.h>
#include <cuda.h>
#include <cuda_occupancy.h>
#include <nvrtc.h>

#include <gtest/gtest.h>

#include <type_traits>

namespace stepc::test {
namespace {

// What a type is to a caller: pointers are alike, and enums are integers.
template <typename T>
struct Passed {
  using type = T;
};
template <typename T>
struct Passed<T*> {
  using type = void*;
};
template <typename T>
requires std::is_enum_v<T>
struct Passed<T> {
  using type = int;
};

template <typename F>
struct Signature;
template <typename Result, typename... Args>
struct Signature<Result(Args...)> {
  using type = typename Passed<Result>::type(typename Passed<Args>::type...);
};
template <typename Result, typename... Args>
struct Signature<Result (*)(Args...)> : Signature<Result(Args...)> {};
template <typename Result, typename... Args>
struct Signature<std::function<Result(Args...)>> : Signature<Result(Args...)> {};

template <typename Ours, typename Theirs>
constexpr bool kSame = std::is_same_v<typename Signature<Ours>::type, typename Signature<Theirs>::type>;

// cuda.h renames functions to the versions that its own callers want; these are the ones asked for by name.
#define DRIVER_FUNCTION(name, symbol, ...) \
  static_assert(kSame<decltype(cuda::DriverApi::name), decltype(&symbol)>, #symbol);
#include "runtime/cuda/driver.def"
#undef DRIVER_FUNCTION

#define NVRTC_FUNCTION(result, name, ...) static_assert(kSame<decltype(cuda::NvrtcApi::name), decltype(&name)>, #name);
#include "runtime/cuda/nvrtc.def"
#undef NVRTC_FUNCTION

#define CUBLASLT_FUNCTION(result, name, ...) \
  static_assert(kSame<decltype(cuda::CublasLtApi::name), decltype(&name)>, #name);
#include "runtime/cuda/cublaslt.def"
#undef CUBLASLT_FUNCTION

static_assert(sizeof(cuda::LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(cuda::LtChoice) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(cuda::LtChoice, workspace_bytes) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(cuda::LtChoice, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));

TEST(CudaHeadersTest, NumbersOfTheDriver) {
  EXPECT_EQ(cuda::kOutOfMemory, static_cast<int>(CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_EQ(cuda::kStubLibrary, static_cast<int>(CUDA_ERROR_STUB_LIBRARY));
  EXPECT_EQ(cuda::kDeviceUnavailable, static_cast<int>(CUDA_ERROR_DEVICE_UNAVAILABLE));
  EXPECT_EQ(cuda::kNoDevice, static_cast<int>(CUDA_ERROR_NO_DEVICE));
  EXPECT_EQ(cuda::kUncorrectableEcc, static_cast<int>(CUDA_ERROR_ECC_UNCORRECTABLE));
  EXPECT_EQ(cuda::kNotFound, static_cast<int>(CUDA_ERROR_NOT_FOUND));
  EXPECT_EQ(cuda::kIllegalAddress, static_cast<int>(CUDA_ERROR_ILLEGAL_ADDRESS));
  EXPECT_EQ(cuda::kLaunchOutOfResources, static_cast<int>(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES));
  EXPECT_EQ(cuda::kAssert, static_cast<int>(CUDA_ERROR_ASSERT));
  EXPECT_EQ(cuda::kHardwareStackError, static_cast<int>(CUDA_ERROR_HARDWARE_STACK_ERROR));
  EXPECT_EQ(cuda::kIllegalInstruction, static_cast<int>(CUDA_ERROR_ILLEGAL_INSTRUCTION));
  EXPECT_EQ(cuda::kMisalignedAddress, static_cast<int>(CUDA_ERROR_MISALIGNED_ADDRESS));
  EXPECT_EQ(cuda::kInvalidAddressSpace, static_cast<int>(CUDA_ERROR_INVALID_ADDRESS_SPACE));
  EXPECT_EQ(cuda::kInvalidPc, static_cast<int>(CUDA_ERROR_INVALID_PC));
  EXPECT_EQ(cuda::kLaunchFailed, static_cast<int>(CUDA_ERROR_LAUNCH_FAILED));
  EXPECT_EQ(cuda::kSystemDriverMismatch, static_cast<int>(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH));
}

TEST(CudaHeadersTest, AttributesAndFlagsOfTheDriver) {
  EXPECT_EQ(cuda::kDeviceProcessorCount, static_cast<int>(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  EXPECT_EQ(cuda::kDeviceCapabilityMajor, static_cast<int>(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  EXPECT_EQ(cuda::kDeviceCapabilityMinor, static_cast<int>(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  EXPECT_EQ(cuda::kDeviceSharedBytesOptIn, static_cast<int>(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  EXPECT_EQ(cuda::kFunctionDynamicSharedBytes, static_cast<int>(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
  EXPECT_EQ(cuda::kStreamNonBlocking, static_cast<int>(CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(cuda::kEventDisableTiming, static_cast<int>(CU_EVENT_DISABLE_TIMING));
  EXPECT_EQ(cuda::kCaptureThreadLocal, static_cast<int>(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}

TEST(CudaHeadersTest, NumbersOfCublasLt) {
  EXPECT_EQ(cuda::kLtR32F, static_cast<int>(CUDA_R_32F));
  EXPECT_EQ(cuda::kLtR16F, static_cast<int>(CUDA_R_16F));
  EXPECT_EQ(cuda::kLtR16BF, static_cast<int>(CUDA_R_16BF));
  EXPECT_EQ(cuda::kLtCompute32F, static_cast<int>(CUBLAS_COMPUTE_32F));
  EXPECT_EQ(cuda::kLtComputeTf32, static_cast<int>(CUBLAS_COMPUTE_32F_FAST_TF32));
  EXPECT_EQ(cuda::kLtDescTransA, static_cast<int>(CUBLASLT_MATMUL_DESC_TRANSA));
  EXPECT_EQ(cuda::kLtDescTransB, static_cast<int>(CUBLASLT_MATMUL_DESC_TRANSB));
  EXPECT_EQ(cuda::kLtDescEpilogue, static_cast<int>(CUBLASLT_MATMUL_DESC_EPILOGUE));
  EXPECT_EQ(cuda::kLtDescBiasPointer, static_cast<int>(CUBLASLT_MATMUL_DESC_BIAS_POINTER));
  EXPECT_EQ(cuda::kLtDescBiasStride, static_cast<int>(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE));
  EXPECT_EQ(cuda::kLtTranspose, static_cast<int>(CUBLAS_OP_T));
  EXPECT_EQ(cuda::kLtEpilogueBias, static_cast<int>(CUBLASLT_EPILOGUE_BIAS));
  EXPECT_EQ(cuda::kLtLayoutBatchCount, static_cast<int>(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT));
  EXPECT_EQ(cuda::kLtLayoutBatchStride, static_cast<int>(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET));
  EXPECT_EQ(cuda::kLtPreferenceWorkspace, static_cast<int>(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES));
  EXPECT_EQ(cuda::kLtPreferenceReduction, static_cast<int>(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK));
  EXPECT_EQ(cuda::kLtPreferenceAlignmentA, static_cast<int>(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES));
  EXPECT_EQ(cuda::kLtPreferenceAlignmentA + 3, static_cast<int>(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES));
  EXPECT_EQ(cuda::kLtReductionComputeType, static_cast<int>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
}

// NVIDIA's calculator, for blocks that may use all shared memory.
int blocks_by_nvidia(cuda::Architecture architecture, int registers, size_t static_bytes, int threads,
                     size_t dynamic_bytes) {
  const cuda::MultiprocessorLimits limits = cuda::multiprocessor_limits(architecture);
  cudaOccDeviceProp device;
  device.computeMajor = architecture.major;
  device.computeMinor = architecture.minor;
  device.maxThreadsPerBlock = 1024;
  device.maxThreadsPerMultiprocessor = static_cast<int>(limits.threads);
  device.regsPerBlock = static_cast<int>(limits.registers);
  device.regsPerMultiprocessor = static_cast<int>(limits.registers);
  device.warpSize = 32;
  device.sharedMemPerBlock = 48 << 10;
  device.sharedMemPerMultiprocessor = static_cast<size_t>(limits.shared_bytes);
  device.numSms = 1;
  device.sharedMemPerBlockOptin = static_cast<size_t>(limits.shared_bytes) - 1024;
  device.reservedSharedMemPerBlock = 1024;
  cudaOccFuncAttributes function;
  function.maxThreadsPerBlock = 1024;
  function.numRegs = registers;
  function.sharedSizeBytes = static_bytes;
  function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  function.maxDynamicSharedSizeBytes = device.sharedMemPerBlockOptin - static_bytes;
  const cudaOccDeviceState state;
  cudaOccResult result{};
  EXPECT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads, dynamic_bytes),
            CUDA_OCC_SUCCESS);
  return result.activeBlocksPerMultiprocessor;
}

TEST(CudaHeadersTest, OccupancyIsWhatNvidiaCalculates) {
  for (const cuda::Architecture architecture : cuda::kArchitectures)
    for (const int registers : {16, 24, 33, 64, 72, 128, 255})
      for (const int threads : {32, 64, 96, 128, 256, 480, 1024})
        for (const size_t static_bytes : {size_t{0}, size_t{1000}})
          for (const size_t dynamic_bytes : {size_t{0}, size_t{12345}, size_t{49152}, size_t{98304}}) {
            const cuda::FunctionFigures function{
                .symbol = "k", .registers = registers, .shared_bytes = static_cast<int64_t>(static_bytes)};
            EXPECT_EQ(cuda::occupancy(architecture, function, threads, static_cast<int64_t>(dynamic_bytes)).blocks,
                      blocks_by_nvidia(architecture, registers, static_bytes, threads, dynamic_bytes))
                << architecture.name() << " registers " << registers << " threads " << threads << " shared "
                << static_bytes << " + " << dynamic_bytes;
          }
}

}  // namespace
}  // namespace stepc::test
