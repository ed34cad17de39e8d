#include "codegen/cuda/vector_access.h"

#include "ir/kernel/loop_nest.h"

#include <algorithm>

namespace stepc::cuda {
namespace {

constexpr int64_t kAccessBytes = 16;  // the widest load and store of a thread

class Analysis {
 public:
  Analysis(const Kernel& kernel, size_t dim, std::span<const int64_t> alignments)
      : kernel_(kernel),
        nest_(std::get<LoopNest>(kernel.work)),
        dim_(dim),
        alignments_(alignments),
        varies_(dependencies(nest_)) {}

  bool may_load(const Source& source, int width) const {
    const auto* load = std::get_if<LoadSource>(&source);
    return load != nullptr && load->guards.empty() && is_run(load->buffer, load->at, width);
  }

  bool is_run(int32_t buffer, const IndexForm& at, int width) const {
    const int64_t bytes = dtype_bytes(kernel_.buffers[static_cast<size_t>(buffer)].dtype);
    if (at.strides[dim_] != 1 || bytes * width > kAccessBytes) return false;
    if (alignments_[static_cast<size_t>(buffer)] % (bytes * width) != 0 || at.offset % width != 0) return false;
    for (size_t d = 0; d < at.strides.size(); ++d)
      if (d != dim_ && nest_.dims[d].extent > 1 && at.strides[d] % width != 0) return false;
    return std::ranges::all_of(at.dynamic, [&](const DynamicTerm& term) {
      return term.stride % width == 0 && (varies_[static_cast<size_t>(term.index.index)] >> dim_ & 1) == 0;
    });
  }

 private:
  const Kernel& kernel_;
  const LoopNest& nest_;
  size_t dim_;
  std::span<const int64_t> alignments_;
  std::vector<uint64_t> varies_;  // per scalar: the dims
};

}  // namespace

VectorAccess vector_access(const Kernel& kernel, size_t dim, std::span<const int64_t> alignments, int most) {
  const auto& nest = std::get<LoopNest>(kernel.work);
  const Analysis analysis(kernel, dim, alignments);
  VectorAccess best{1, std::vector<bool>(nest.sources.size(), false), std::vector<bool>(nest.stores.size(), false)};
  int64_t found = 0;
  for (int width = most; width > 1; width /= 2) {
    if (nest.dims[dim].extent % width != 0) continue;
    VectorAccess access{width, {}, {}};
    for (const Source& source : nest.sources) access.loads.push_back(analysis.may_load(source, width));
    for (const Store& store : nest.stores) access.stores.push_back(analysis.is_run(store.buffer, store.at, width));
    const int64_t count = std::ranges::count(access.loads, true) + std::ranges::count(access.stores, true);
    if (count > found) found = count, best = std::move(access);
  }
  return best;
}

}  // namespace stepc::cuda
