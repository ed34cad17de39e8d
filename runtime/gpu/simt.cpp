#include "runtime/gpu/simt.h"

#include "ir/support/error.h"

#include <cstring>
#include <string>

namespace stepc {

using Clock = std::chrono::steady_clock;

namespace {

// The host enqueues everything again.
class Repeated : public GpuWork {
 public:
  explicit Repeated(std::function<void()> work) : work_(std::move(work)) {}
  void enqueue() override { work_(); }

 private:
  std::function<void()> work_;
};

}  // namespace

SimtGpu::SimtGpu(SimtOptions options, const cuda::Program& program) : device_(std::move(options)) {
  const auto begin = Clock::now();
  const std::vector<std::string> units = cuda::translation_units(program.functions);
  std::vector<std::string> symbols;
  for (const cuda::Function& function : program.functions) symbols.push_back(function.symbol);
  device_.load(units, symbols);
  unit_count_ = std::ssize(units);
  compile_us_ = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

std::byte* SimtGpu::allocate(int64_t bytes, std::string_view) {
  return static_cast<std::byte*>(device_.allocate(bytes));
}

void SimtGpu::upload(std::byte* to, std::span<const std::byte> from) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

void SimtGpu::download(std::span<std::byte> to, const std::byte* from) {
  if (!to.empty()) std::memcpy(to.data(), from, to.size());
}

void SimtGpu::copy(std::byte* to, const std::byte* from, int64_t bytes) {
  std::memmove(to, from, static_cast<size_t>(bytes));
}

void SimtGpu::fill(std::byte* to, std::byte value, int64_t bytes) {
  std::memset(to, std::to_integer<int>(value), static_cast<size_t>(bytes));
}

void SimtGpu::launch(const cuda::Stage& stage, void** arguments, std::span<const DeviceRange> ranges) {
  std::vector<simt::Extent> extents;
  for (const DeviceRange& range : ranges) extents.push_back({range.address, range.bytes});
  device_.launch({stage.symbol, stage.grid, stage.threads, stage.shared_bytes}, arguments, extents);
}

std::unique_ptr<GpuWork> SimtGpu::contraction(const Kernel&, std::span<std::byte* const>, DeviceRange) {
  CHECK(false, "the SIMT target has no library");
  return nullptr;
}

std::unique_ptr<GpuWork> SimtGpu::record(std::function<void()> work) {
  return std::make_unique<Repeated>(std::move(work));
}

int SimtGpu::mark() {
  marks_.push_back(Clock::now());
  return static_cast<int>(marks_.size()) - 1;
}

double SimtGpu::elapsed_us(int from, int to) {
  return std::chrono::duration<double, std::micro>(marks_[static_cast<size_t>(to)] - marks_[static_cast<size_t>(from)])
      .count();
}

}  // namespace stepc
