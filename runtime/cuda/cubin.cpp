#include "runtime/cuda/cubin.h"

#include "ir/support/error.h"

#include <elf.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <optional>

namespace stepc::cuda {
namespace {

// A T at an offset of the image.
template <typename T>
std::optional<T> at(std::string_view image, uint64_t offset) {
  if (offset > image.size() || image.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, image.data() + offset, sizeof(T));
  return value;
}

// The number that stands before `what` in a line, as in "Used 32 registers, 512 bytes smem".
std::optional<int64_t> number_before(std::string_view line, std::string_view what) {
  const size_t end = line.find(what);
  if (end == std::string_view::npos) return std::nullopt;
  size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1]))) --begin;
  int64_t number = 0;
  if (std::from_chars(line.data() + begin, line.data() + end, number).ec != std::errc()) return std::nullopt;
  return number;
}

void read_line(std::string_view line, FunctionFigures& figures) {
  const auto take = [&](std::string_view what, auto& to) {
    if (const auto number = number_before(line, what)) to = static_cast<std::decay_t<decltype(to)>>(*number);
  };
  take(" registers", figures.registers);
  take(" bytes stack frame", figures.stack_bytes);
  take(" bytes spill stores", figures.spill_store_bytes);
  take(" bytes spill loads", figures.spill_load_bytes);
  take(" bytes smem", figures.shared_bytes);
}

// ptxas info    : Compiling entry function 'NAME' for 'sm_90', and then lines about it.
std::vector<FunctionFigures> read_log(std::string_view log) {
  constexpr std::string_view kEntry = "Compiling entry function '";
  std::vector<FunctionFigures> functions;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(log.size(), line.size() + 1));
    if (const size_t entry = line.find(kEntry); entry != std::string_view::npos) {
      const std::string_view name = line.substr(entry + kEntry.size());
      functions.emplace_back().symbol = name.substr(0, name.find('\''));
    } else if (!functions.empty()) {
      read_line(line, functions.back());
    }
  }
  return functions;
}

// .nv.constant0.SYMBOL
std::string_view symbol_of_constants(std::string_view section) {
  constexpr std::string_view kPrefix = ".nv.constant";
  if (!section.starts_with(kPrefix)) return {};
  section.remove_prefix(kPrefix.size());
  const size_t dot = section.find('.');
  return dot == std::string_view::npos ? std::string_view() : section.substr(dot + 1);
}

}  // namespace

std::vector<ElfSection> elf_sections(std::string_view image) {
  const auto header = at<Elf64_Ehdr>(image, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  const auto section = [&](uint64_t index) {
    return at<Elf64_Shdr>(image, header->e_shoff + index * sizeof(Elf64_Shdr));
  };
  const auto names = section(header->e_shstrndx);
  if (!names) return {};
  std::vector<ElfSection> sections;
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto entry = section(i);
    if (!entry || names->sh_offset + entry->sh_name >= image.size()) return {};
    std::string_view name = image.substr(names->sh_offset + entry->sh_name);
    sections.push_back({name.substr(0, name.find('\0')), entry->sh_size});
  }
  return sections;
}

Cubin read_cubin(std::string image, std::string_view log) {
  Cubin cubin{std::move(image), read_log(log)};
  std::sort(cubin.functions.begin(), cubin.functions.end(),
            [](const FunctionFigures& a, const FunctionFigures& b) { return a.symbol < b.symbol; });
  for (const ElfSection& section : elf_sections(cubin.image)) {
    const std::string_view symbol = symbol_of_constants(section.name);
    for (FunctionFigures& figures : cubin.functions)
      if (!symbol.empty() && figures.symbol == symbol) figures.constant_bytes += static_cast<int64_t>(section.bytes);
  }
  return cubin;
}

const FunctionFigures& find_figures(std::span<const Cubin> cubins, std::string_view symbol) {
  for (const Cubin& cubin : cubins) {
    const auto found =
        std::lower_bound(cubin.functions.begin(), cubin.functions.end(), symbol,
                         [](const FunctionFigures& f, std::string_view name) { return f.symbol < name; });
    if (found != cubin.functions.end() && found->symbol == symbol) return *found;
  }
  throw InternalError(fmt::format("no kernel {}", symbol));
}

}  // namespace stepc::cuda
