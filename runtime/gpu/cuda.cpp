#include "runtime/gpu/cuda.h"

#include "ir/support/error.h"
#include "runtime/cuda/library_matmul.h"
#include "runtime/gpu/contraction.h"

#include <bit>

namespace stepc {
namespace {

static_assert(sizeof(cuda::DevicePointer) == sizeof(std::byte*));

cuda::DevicePointer on_device(const std::byte* address) { return std::bit_cast<cuda::DevicePointer>(address); }

class LibraryWork : public GpuWork {
 public:
  explicit LibraryWork(cuda::LibraryMatmul matmul) : matmul_(std::move(matmul)) {}
  void enqueue() override { matmul_.run(); }

 private:
  cuda::LibraryMatmul matmul_;
};

class RecordedWork : public GpuWork {
 public:
  RecordedWork(cuda::CudaDevice& device, cuda::StepGraph graph) : device_(device), graph_(std::move(graph)) {}
  void enqueue() override { device_.replay(graph_); }

 private:
  cuda::CudaDevice& device_;
  cuda::StepGraph graph_;
};

// What is left of the planned bytes once the address is aligned.
DeviceRange aligned(DeviceRange range) {
  const auto address = on_device(range.address);
  const auto skipped =
      static_cast<int64_t>((kWorkspaceAlignment - address % kWorkspaceAlignment) % kWorkspaceAlignment);
  return {range.address + skipped, range.bytes - skipped};
}

}  // namespace

CudaGpu::CudaGpu(const cuda::Driver& driver, int ordinal, Libraries libraries, ObjectCache cache)
    : device_(driver, ordinal), nvtx_(std::move(libraries.nvtx)), cache_(std::move(cache)) {
  if (libraries.cublaslt) library_.emplace(std::move(*libraries.cublaslt), device_);
}

std::byte* CudaGpu::allocate(int64_t bytes, std::string_view what) {
  return std::bit_cast<std::byte*>(device_.allocate(bytes, what));
}

void CudaGpu::upload(std::byte* to, std::span<const std::byte> from) {
  if (!from.empty()) device_.upload(on_device(to), from);
}

void CudaGpu::download(std::span<std::byte> to, const std::byte* from) {
  if (!to.empty()) device_.download(to, on_device(from));
}

void CudaGpu::copy(std::byte* to, const std::byte* from, int64_t bytes) {
  if (bytes > 0) device_.copy(on_device(to), on_device(from), bytes);
}

void CudaGpu::fill(std::byte* to, std::byte value, int64_t bytes) {
  if (bytes > 0) device_.fill(on_device(to), value, bytes);
}

void CudaGpu::launch(const cuda::Stage& stage, void** arguments, std::span<const DeviceRange>) {
  device_.launch(stage.symbol, stage.grid, stage.threads, stage.shared_bytes, arguments);
}

std::unique_ptr<GpuWork> CudaGpu::contraction(const Kernel& kernel, std::span<std::byte* const> buffers,
                                              DeviceRange workspace) {
  CHECK(library_, "contractions without a library");
  const auto& work = std::get<MatmulWork>(kernel.work);
  const DeviceRange own = aligned(workspace);
  const int64_t bytes = library_workspace_bytes(work);
  CHECK(own.bytes >= bytes, "a workspace of {} bytes planned, {} needed", own.bytes, bytes);
  std::vector<cuda::DevicePointer> addresses;
  for (const std::byte* buffer : buffers) addresses.push_back(on_device(buffer));
  return std::make_unique<LibraryWork>(
      cuda::LibraryMatmul(*library_, work, matmul_types(kernel), {addresses, on_device(own.address), bytes}, cache_));
}

std::unique_ptr<GpuWork> CudaGpu::record(std::function<void()> work) {
  return std::make_unique<RecordedWork>(device_, device_.capture(work));
}

void CudaGpu::begin_range(const std::string& name) {
  if (nvtx_.push) nvtx_.push(name.c_str());
}

void CudaGpu::end_range() {
  if (nvtx_.pop) nvtx_.pop();
}

}  // namespace stepc
