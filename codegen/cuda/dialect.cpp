#include "codegen/cuda/dialect.h"

#include "ir/support/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace stepc::cuda {
namespace {

// The greatest absolute value of the form without its dynamic terms, which are 64-bit anyhow; as a double, which is
// exact far beyond where it matters.
double extent_of(const LoopNest& nest, const IndexForm& form) {
  double most = std::abs(static_cast<double>(form.offset));
  for (size_t d = 0; d < form.strides.size(); ++d)
    most += std::abs(static_cast<double>(form.strides[d])) * static_cast<double>(nest.dims[d].extent);
  return most;
}

double extent_of(const LoopNest& nest, const std::vector<Guard>& guards) {
  double most = 0;
  for (const Guard& guard : guards)
    most = std::max({most, extent_of(nest, guard.at), std::abs(static_cast<double>(guard.low)),
                     std::abs(static_cast<double>(guard.high))});
  return most;
}

double extent_of(const LoopNest& nest, const Source& source) {
  if (const auto* load = std::get_if<LoadSource>(&source))
    return std::max(extent_of(nest, load->at), extent_of(nest, load->guards));
  if (const auto* coordinate = std::get_if<CoordinateSource>(&source)) return extent_of(nest, coordinate->at);
  if (const auto* index = std::get_if<IndexSource>(&source)) return extent_of(nest, index->guards);
  if (const auto* inside = std::get_if<InsideSource>(&source)) return extent_of(nest, inside->guards);
  if (const auto* random = std::get_if<RandomSource>(&source)) return extent_of(nest, random->at);
  return 0;
}

}  // namespace

std::string CudaDialect::element(size_t source, int32_t buffer, const std::string& index) const {
  const auto known = elements_.find(source);
  return known != elements_.end() ? known->second : fmt::format("load(b{}, {})", buffer, index);
}

std::string CudaDialect::assignment(int32_t buffer, const std::string& index, const std::string& value) const {
  const auto known = results_.find(buffer);
  return known != results_.end() ? fmt::format("{} = {};", known->second, value)
                                 : fmt::format("store(b{}, {}, {});", buffer, index, value);
}

std::string CudaDialect::checked_index(const std::string& raw, int64_t extent) const {
  return fmt::format("checked_index(error, {}, {})", raw, extent);
}

std::string index_alias(const LoopNest& nest, int64_t count) {
  // A grid's last block may number threads beyond the count.
  constexpr double kLimit = std::numeric_limits<int32_t>::max() - (1 << 20);
  auto most = static_cast<double>(count);
  for (const Source& source : nest.sources) most = std::max(most, extent_of(nest, source));
  for (const Store& store : nest.stores) most = std::max(most, extent_of(nest, store.at));
  return most < kLimit ? "using Index = int32_t;" : "using Index = int64_t;";
}

}  // namespace stepc::cuda
