#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepc::cuda {

// What the assembler says of one function of a cubin.
struct FunctionFigures {
  std::string symbol;
  int32_t registers = 0;          // per thread
  int64_t stack_bytes = 0;        // per thread, local arrays and spills
  int64_t spill_store_bytes = 0;  // per thread
  int64_t spill_load_bytes = 0;
  int64_t shared_bytes = 0;    // per block, static
  int64_t constant_bytes = 0;  // parameters among them

  bool operator==(const FunctionFigures&) const = default;
};

// Code for one GPU architecture: an ELF file with its functions' figures, sorted by symbol.
struct Cubin {
  std::string image;
  std::vector<FunctionFigures> functions;
};

// `log` is the assembler's, with -v. Bytes of constants come from the sections .nv.constantN.SYMBOL of the image.
Cubin read_cubin(std::string image, std::string_view log);

// The figures of a function, in the cubin that has it.
const FunctionFigures& find_figures(std::span<const Cubin> cubins, std::string_view symbol);

// Name and size of each section of an ELF file of 64 bits; none where the bytes are not one.
struct ElfSection {
  std::string_view name;  // into the image
  uint64_t bytes = 0;
};
std::vector<ElfSection> elf_sections(std::string_view image);

}  // namespace stepc::cuda
