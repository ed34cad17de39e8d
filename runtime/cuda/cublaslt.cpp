#include "runtime/cuda/cublaslt.h"

#include "ir/support/error.h"
#include "runtime/cuda/shared_library.h"

namespace stepc::cuda {

std::optional<CublasLtApi> load_cublaslt() {
  const auto library = open_toolkit_library("cublasLt", "STEPC_CUBLASLT");
  if (!library) return std::nullopt;
  CublasLtApi table;
#define CUBLASLT_FUNCTION(result, name, ...) library->bind(table.name, #name);
#include "runtime/cuda/cublaslt.def"
#undef CUBLASLT_FUNCTION
  return table;
}

CublasLt::CublasLt(CublasLtApi table, const CudaDevice& device) : api(std::move(table)), device_(device) {
  check(api.cublasLtCreate(&handle_), "starting cuBLASLt");
}

CublasLt::~CublasLt() { api.cublasLtDestroy(handle_); }

void CublasLt::check(int status, std::string_view doing) const {
  if (status == 0) return;
  const char* const text = api.cublasLtGetStatusString(status);
  user_error("cuBLASLt {}: {}: {}", version(), doing, text != nullptr ? text : fmt::format("status {}", status));
}

}  // namespace stepc::cuda
