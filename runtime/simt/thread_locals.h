#pragma once

#include "runtime/simt/shared_memory.h"

#include <filesystem>
#include <vector>

namespace stepc::simt {

// The thread-local variables of a shared object (ELF, 64 bit, of this machine's byte order), by offset in its
// thread-local storage, with their names in the source. Empty where the object has no symbol table.
std::vector<SharedArray> thread_locals(const std::filesystem::path& object);

}  // namespace stepc::simt
