#include "runtime/calibrate.h"

#include "codegen/cpu/program.h"
#include "ir/builder.h"
#include "runtime/cpu/kernel_library.h"
#include "runtime/cpu/library.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/memory.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <string>

namespace stepc {
namespace {

// The shortest of several runs, in seconds; the first one warms up.
template <typename F>
double fastest(int runs, F&& f) {
  double best = 1e30;
  for (int i = 0; i <= runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    if (i > 0) best = std::min(best, elapsed.count());
  }
  return best;
}

// One kernel, compiled, that needs no scratch.
class GeneratedKernel {
 public:
  explicit GeneratedKernel(const Kernel& kernel)
      : function_(cpu::print_function(kernel)), library_(cpu::translation_units(std::span(&function_, 1)), {}) {}

  void run(ThreadPool& pool, std::span<void* const> buffers) const {
    StepcIndexError error{};
    const StepcKernelArgs args{buffers.data(), nullptr, &ThreadPool::parallel_for, &pool, &error};
    library_.find(function_.symbol)(&args);
  }

 private:
  cpu::KernelFunction function_;
  KernelLibrary library_;
};

double matmul_flops_per_second(ThreadPool& pool) {
  constexpr int64_t kSize = 1536;
  Graph graph;
  Builder b(graph);
  const Type matrix{Dtype::f32, {kSize, kSize}};
  const ValueId x = graph.add_input(matrix, InputRole::data, "x"), y = graph.add_input(matrix, InputRole::data, "y");
  graph.add_output(b.contraction(x, y, "mk,kn->mn"), OutputRole::output, "z");
  const Layouts layouts(graph);
  const Kernel kernel = describe_kernel(graph, graph.first(), layouts_of(layouts));

  MemoryRegion memory(3 * kSize * kSize * 4, false);
  auto* const a = reinterpret_cast<float*>(memory.data());
  void* const buffers[] = {a, a + kSize * kSize, a + 2 * kSize * kSize};
  const auto measured = [&](const auto& run) { return 2.0 * kSize * kSize * kSize / fastest(4, run); };
  if (cpu_products() == cpu::Products::library) {
    const std::unique_ptr<LibraryLaunch> launch = make_library_launch(kernel);
    return measured([&] { launch->run(pool, buffers, nullptr); });
  }
  const GeneratedKernel generated(kernel);
  return measured([&] { generated.run(pool, buffers); });
}

double copied_bytes_per_second(ThreadPool& pool) {
  constexpr int64_t kBytes = int64_t{1} << 28;  // far beyond any cache
  MemoryRegion memory(2 * kBytes, false);
  const double seconds = fastest(3, [&] {
    pool.run(kBytes, 1, [&](int64_t begin, int64_t end) {
      std::memcpy(memory.data() + kBytes + begin, memory.data() + begin, static_cast<size_t>(end - begin));
    });
  });
  return 2.0 * kBytes / seconds;
}

double map_flops_per_second(ThreadPool& pool) {
  constexpr int64_t kElements = 1 << 15;
  Graph graph;
  Builder b(graph);
  const ValueId x = graph.add_input({Dtype::f32, {kElements}}, InputRole::data, "x");
  const NodeId node = b.make_node(Op::gelu, {x}, {{"approximate", std::string("tanh")}});
  const Layouts layouts(graph);
  const Kernel kernel = describe_kernel(graph, node, layouts_of(layouts));
  const GeneratedKernel generated(kernel);

  MemoryRegion memory(2 * kElements * 4, false);
  void* const buffers[] = {memory.data(), memory.data() + kElements * 4};
  constexpr int kRuns = 64;
  const double seconds = fastest(8, [&] {
    for (int i = 0; i < kRuns; ++i) generated.run(pool, buffers);
  });
  return kRuns * static_cast<double>(kernel.traffic.flops) / seconds;
}

double launch_us(ThreadPool& pool) {
  constexpr int kRuns = 1000;
  const double seconds = fastest(8, [&] {
    for (int i = 0; i < kRuns; ++i) pool.run(pool.threads(), 1, [](int64_t, int64_t) {});
  });
  return seconds * 1e6 / kRuns;
}

// What the system says, 0 where it does not know.
int64_t system_figure(int name) { return std::max<int64_t>(sysconf(name), 0); }

}  // namespace

Calibration calibrate(int threads) {
  ThreadPool pool(threads);
  return {pool.threads(),
          matmul_flops_per_second(pool),
          copied_bytes_per_second(pool),
          map_flops_per_second(pool),
          launch_us(pool),
          system_figure(_SC_LEVEL3_CACHE_SIZE),
          system_figure(_SC_PHYS_PAGES) * system_figure(_SC_PAGE_SIZE)};
}

}  // namespace stepc
