#pragma once

#include "runtime/cpu/kernel_library.h"
#include "runtime/simt/device/abi.h"
#include "runtime/simt/shared_memory.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace stepc::simt {

// A kernel that is ready to run.
struct Entry {
  StepcSimtEntry run = nullptr;
  StepcSimtArena arena = nullptr;
  // Of its text, by offset; the arena stands among them with the offset that arena() has, and as large as it can be.
  std::vector<SharedArray> arrays;
  size_t arena_index = 0;
};

// CUDA texts compiled for the host. A text is complete with device functions and includes nothing; what CUDA's compiler
// knows by itself is put in front of it.
class Module {
 public:
  // `symbols`: the kernels, `extern "C" __global__` functions of the texts. Compiles what the cache lacks. Throws
  // UserError as KernelLibrary does, InternalError where a text does not compile (it calls something unknown).
  Module(const std::vector<std::string>& texts, std::span<const std::string> symbols, const CompileOptions& options);

  const Entry* find(const std::string& symbol) const;  // null where it has no such kernel
  int cache_hits() const { return library_.cache_hits(); }

 private:
  KernelLibrary library_;
  std::map<std::string, Entry, std::less<>> entries_;
};

// What Module compiles: the text between CUDA's language and the entries of its kernels. Lines count from the text's
// own.
std::string host_text(const std::string& text, std::span<const std::string> symbols);

}  // namespace stepc::simt
