#include "runtime/simt/thread_locals.h"

#include "ir/support/error.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

namespace stepc::simt {
namespace {

// Copies: nothing promises that the file's structures are aligned.
template <typename T>
T read_at(std::string_view file, uint64_t offset) {
  CHECK(offset <= file.size() && sizeof(T) <= file.size() - offset, "a shared object ends early");
  T value;
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

std::string demangled(const char* symbol) {
  int status = 0;
  char* const name = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string result = name != nullptr ? name : symbol;
  std::free(name);
  return result;
}

}  // namespace

std::vector<SharedArray> thread_locals(const std::filesystem::path& object) {
  std::ifstream stream(object, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(stream), {}};
  const std::string_view file = content;
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  CHECK(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64,
        "{} is not an ELF object of 64 bit", object.string());
  const auto section = [&](uint64_t index) {
    return read_at<Elf64_Shdr>(file, header.e_shoff + index * header.e_shentsize);
  };
  std::vector<SharedArray> result;
  for (uint64_t s = 0; s < header.e_shnum; ++s) {
    const Elf64_Shdr table = section(s);
    if (table.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr names = section(table.sh_link);
    for (uint64_t at = 0; at < table.sh_size; at += table.sh_entsize) {
      const auto symbol = read_at<Elf64_Sym>(file, table.sh_offset + at);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_TLS || symbol.st_shndx == SHN_UNDEF) continue;
      const uint64_t name = names.sh_offset + symbol.st_name;
      CHECK(file.find('\0', name) != std::string_view::npos, "a shared object ends early");
      result.push_back(
          {demangled(file.data() + name), static_cast<int64_t>(symbol.st_value), static_cast<int64_t>(symbol.st_size)});
    }
  }
  std::sort(result.begin(), result.end(),
            [](const SharedArray& a, const SharedArray& b) { return a.offset < b.offset; });
  return result;
}

}  // namespace stepc::simt
