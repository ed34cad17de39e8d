#pragma once

#include "codegen/dialect.h"
#include "ir/kernel.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace stepc::cuda {

// Coordinates are of type Index, a 32-bit integer where all offsets of the kernel fit (`index_alias`). Elements that a
// printer has read already, several at once, are named instead of loaded.
class CudaDialect final : public Dialect {
 public:
  std::string_view index_type() const override { return "Index"; }
  std::string element(size_t source, int32_t buffer, const std::string& index) const override;
  std::string assignment(int32_t buffer, const std::string& index, const std::string& value) const override;
  std::string checked_index(const std::string& raw, int64_t extent) const override;

  // From here on the source's element, and what the store writes, are these expressions.
  void name_element(size_t source, std::string expression) { elements_[source] = std::move(expression); }
  void name_result(int32_t buffer, std::string expression) { results_[buffer] = std::move(expression); }

 private:
  std::map<size_t, std::string> elements_;
  std::map<int32_t, std::string> results_;
};

// "using Index = int32_t;", or int64_t where an offset of the nest, or a number up to `count`, needs it.
std::string index_alias(const LoopNest& nest, int64_t count);

}  // namespace stepc::cuda
