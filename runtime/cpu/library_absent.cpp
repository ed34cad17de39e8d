#include "ir/support/error.h"
#include "runtime/cpu/library.h"

namespace stepc {

std::optional<std::string> onednn_version() { return std::nullopt; }

std::unique_ptr<LibraryLaunch> make_library_launch(const Kernel& kernel) {
  CHECK(false, "a {} for a library, in a build without one", kernel_kind_name(kernel.kind));
  return nullptr;
}

}  // namespace stepc
