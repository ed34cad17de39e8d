#include "runtime/simt/module.h"

#include "ir/support/error.h"
#include "runtime/simt/thread_locals.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace stepc {

extern const std::string_view simt_device_source[];
extern const std::string_view* const simt_device_source_end;

}  // namespace stepc

namespace stepc::simt {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Whether the text has a function of this name.
bool defines(std::string_view text, const std::string& symbol) {
  for (size_t at = text.find(symbol + "("); at != std::string_view::npos; at = text.find(symbol + "(", at + 1))
    if (at > 0 && !is_word(text[at - 1])) return true;
  return false;
}

std::vector<std::string> host_texts(const std::vector<std::string>& texts, std::span<const std::string> symbols) {
  std::vector<std::string> result;
  for (const std::string& text : texts) result.push_back(host_text(text, symbols));
  return result;
}

// The shared arrays of the object that holds `function`.
std::vector<SharedArray> shared_arrays(const void* function) {
  Dl_info info;
  CHECK(dladdr(function, &info) != 0);
  std::vector<SharedArray> arrays = thread_locals(info.dli_fname);
  std::erase_if(arrays, [](const SharedArray& array) { return array.name == "stepc_simt_thread"; });
  return arrays;
}

}  // namespace

std::string host_text(const std::string& text, std::span<const std::string> symbols) {
  std::string result;
  for (const std::string_view* part = simt_device_source; part != simt_device_source_end; ++part) result += *part;
  result += "#line 1 \"kernels\"\n" + text + "\n#line 1 \"entries\"\n";
  for (const std::string& symbol : symbols)
    if (defines(text, symbol)) result += "STEPC_SIMT_ENTRY(" + symbol + ")\n";
  return result;
}

Module::Module(const std::vector<std::string>& texts, std::span<const std::string> symbols,
               const CompileOptions& options)
    : library_(host_texts(texts, symbols), options) {
  for (const std::string& symbol : symbols) {
    void* const run = library_.address("stepc_simt_" + symbol);
    Entry entry;
    entry.run = reinterpret_cast<StepcSimtEntry>(run);
    entry.arena = reinterpret_cast<StepcSimtArena>(library_.address("stepc_simt_arena_" + symbol));
    entry.arrays = shared_arrays(run);
    const auto arena = std::find_if(entry.arrays.begin(), entry.arrays.end(),
                                    [](const SharedArray& array) { return array.name == "stepc_shared"; });
    if (arena == entry.arrays.end())
      user_error("the C++ compiler strips symbols, which the SIMT target needs; leave -s out of CXX");
    entry.arena_index = static_cast<size_t>(arena - entry.arrays.begin());
    entries_[symbol] = std::move(entry);
  }
}

const Entry* Module::find(const std::string& symbol) const {
  const auto entry = entries_.find(symbol);
  return entry == entries_.end() ? nullptr : &entry->second;
}

}  // namespace stepc::simt
