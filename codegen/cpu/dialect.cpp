#include "codegen/cpu/dialect.h"

#include <fmt/format.h>

namespace stepc::cpu {
namespace {

class CpuDialect final : public Dialect {
 public:
  std::string_view index_type() const override { return "int64_t"; }
  std::string element(size_t, int32_t buffer, const std::string& index) const override {
    return fmt::format("b{}[{}]", buffer, index);
  }
  std::string assignment(int32_t buffer, const std::string& index, const std::string& value) const override {
    return fmt::format("b{}[{}] = {};", buffer, index, value);
  }
  std::string checked_index(const std::string& raw, int64_t extent) const override {
    return fmt::format("checked_index(args, {}, {})", raw, extent);
  }
};

}  // namespace

const Dialect& dialect() {
  static const CpuDialect dialect;
  return dialect;
}

}  // namespace stepc::cpu
