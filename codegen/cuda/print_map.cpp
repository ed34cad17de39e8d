#include "codegen/cuda/dialect.h"
#include "codegen/cuda/print_kernel.h"
#include "codegen/cuda/vector_access.h"
#include "codegen/nest_text.h"
#include "codegen/scalar_text.h"

#include <algorithm>

namespace stepc::cuda {
namespace {

constexpr int32_t kThreads = 256;
constexpr int kOuterLevel = 1;
constexpr int kInnerLevel = 2;
constexpr int kMostElements = 8;  // that a thread computes at once

// A thread per run of neighbouring points of the innermost dim, in a loop over the grid.
class MapPrinter {
 public:
  MapPrinter(const Kernel& kernel, std::span<const int64_t> alignments)
      : kernel_(kernel),
        inner_(nest().dims.size() - 1),
        access_(vector_access(kernel, inner_, alignments, kMostElements)),
        text_(kernel, dialect_, levels()) {
    for (const Store& store : nest().stores) roots_.push_back(store.value);
  }

  StageText print() {
    const int64_t count = nest().kept_count() / access_.width;
    StageText stage;
    stage.threads = kThreads;
    stage.grid = blocks_for(count, kThreads);
    Text& body = stage.body;
    body.raw(index_alias(nest(), nest().kept_count()));
    text_.emit(body, roots_, 0);
    body.open("for (Index i = block_index * Index({0}) + threadIdx.x; i < {1}; i += block_count * Index({0}))",
              kThreads, count);
    const int64_t runs = nest().dims[inner_].extent / access_.width;  // in a row
    text_.decode(body, kOuterLevel, fmt::format("(i / {})", runs));
    text_.emit(body, roots_, kOuterLevel);
    if (access_.width == 1) {
      body.line("const Index {} = i % {};", inner_name(), runs);
      print_point(body);
    } else {
      print_run(body, runs);
    }
    body.close();
    return stage;
  }

 private:
  const LoopNest& nest() const { return std::get<LoopNest>(kernel_.work); }
  std::string inner_name() const { return NestText::dim_name(inner_); }

  std::vector<int> levels() const {
    std::vector<int> levels(nest().dims.size(), kOuterLevel);
    levels[inner_] = kInnerLevel;
    return levels;
  }

  void print_point(Text& body) {
    text_.emit(body, roots_, kInnerLevel);
    for (const Store& store : nest().stores) text_.store(body, store);
  }

  // All loads of the run before the first store: a result may be written over an operand.
  void print_run(Text& body, int64_t runs) {
    body.line("const Index first = i % {} * {};", runs, access_.width);
    const auto at_first = [&](const IndexForm& at) {
      IndexForm base = at;
      base.strides[inner_] = 0;
      return fmt::format("{} + first", text_.index_text(base));
    };
    for (size_t s = 0; s < nest().sources.size(); ++s) {
      if (!access_.loads[s]) continue;
      const auto& load = std::get<LoadSource>(nest().sources[s]);
      body.line("const auto x{} = load_vector<{}>(b{}, {});", s, access_.width, load.buffer, at_first(load.at));
      dialect_.name_element(s, fmt::format("x{}[k]", s));
    }
    for (size_t s = 0; s < nest().stores.size(); ++s) {
      if (!access_.stores[s]) continue;
      const Store& store = nest().stores[s];
      body.line("Vector<{}, {}> y{};", storage_type(text_.buffer_dtype(store.buffer)), access_.width, store.buffer);
      dialect_.name_result(store.buffer, fmt::format("y{}[k]", store.buffer));
    }
    body.raw("#pragma unroll");
    body.open("for (int k = 0; k < {}; ++k)", access_.width);
    body.line("const Index {} = first + k;", inner_name());
    print_point(body);
    body.close();
    for (size_t s = 0; s < nest().stores.size(); ++s)
      if (access_.stores[s])
        body.line("store_vector<{}>(b{}, {}, y{});", access_.width, nest().stores[s].buffer,
                  at_first(nest().stores[s].at), nest().stores[s].buffer);
  }

  const Kernel& kernel_;
  size_t inner_;
  VectorAccess access_;
  CudaDialect dialect_;
  NestText text_;
  std::vector<ScalarId> roots_;
};

}  // namespace

int64_t blocks_for(int64_t count, int32_t threads) {
  constexpr int64_t kMostBlocks = 4096;
  return std::clamp<int64_t>((count + threads - 1) / threads, 1, kMostBlocks);
}

std::vector<StageText> print_map(const Kernel& kernel, std::span<const int64_t> alignments) {
  if (std::get<LoopNest>(kernel.work).kept_count() == 0) return {};
  if (kernel.schedule.tile_dim >= 0) return print_transposed(kernel);
  std::vector<StageText> stages;
  stages.push_back(MapPrinter(kernel, alignments).print());
  return stages;
}

}  // namespace stepc::cuda
