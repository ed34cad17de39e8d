// What the assembler's log and a cubin's sections say.
#include "runtime/cuda/cubin.h"

#include <gtest/gtest.h>

#include <elf.h>

#include <cstring>

namespace stepc::test {
namespace {

using cuda::FunctionFigures;

constexpr const char* kLog =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'k2' for 'sm_90'\n"
    "ptxas info    : Function properties for k2\n"
    "ptxas         .     512 bytes stack frame, 12 bytes spill stores, 24 bytes spill loads\n"
    "ptxas info    : Used 32 registers, used 0 barriers, 512 bytes cumulative stack size, 48 bytes smem\n"
    "ptxas info    : Compile time = 35.555 ms\n"
    "ptxas info    : Compiling entry function 'k1' for 'sm_90'\n"
    "ptxas info    : Function properties for k1\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 14 registers, used 1 barriers";

// An ELF file of a header, its sections' names, and one header per section.
std::string elf_with_sections(const std::vector<std::pair<std::string, uint64_t>>& sections) {
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> headers(1);
  for (const auto& [name, bytes] : sections) {
    Elf64_Shdr header{};
    header.sh_name = static_cast<uint32_t>(names.size());
    header.sh_size = bytes;
    headers.push_back(header);
    names += name + '\0';
  }
  headers[0].sh_offset = sizeof(Elf64_Ehdr);
  Elf64_Ehdr elf{};
  std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
  elf.e_ident[EI_CLASS] = ELFCLASS64;
  elf.e_shoff = sizeof elf + names.size();
  elf.e_shnum = static_cast<uint16_t>(headers.size());
  std::string image(reinterpret_cast<const char*>(&elf), sizeof elf);
  image += names;
  return image.append(reinterpret_cast<const char*>(headers.data()), headers.size() * sizeof(Elf64_Shdr));
}

TEST(CubinTest, FiguresAreReadFromTheLog) {
  const cuda::Cubin cubin = cuda::read_cubin("", kLog);
  const FunctionFigures k1{.symbol = "k1", .registers = 14};
  const FunctionFigures k2{.symbol = "k2",
                           .registers = 32,
                           .stack_bytes = 512,
                           .spill_store_bytes = 12,
                           .spill_load_bytes = 24,
                           .shared_bytes = 48};
  EXPECT_EQ(cubin.functions, (std::vector<FunctionFigures>{k1, k2}));
}

TEST(CubinTest, ConstantsAreReadFromTheSections) {
  const cuda::Cubin cubin = cuda::read_cubin(
      elf_with_sections(
          {{".nv.constant0.k1", 560}, {".nv.constant2.k1", 8}, {".nv.constant0.k2", 544}, {".text.k1", 9}}),
      kLog);
  EXPECT_EQ(cubin.functions[0].constant_bytes, 568);
  EXPECT_EQ(cubin.functions[1].constant_bytes, 544);
}

TEST(CubinTest, WhatIsNoElfFileHasNoSections) {
  EXPECT_TRUE(cuda::elf_sections("").empty());
  EXPECT_TRUE(cuda::elf_sections(std::string(200, 'x')).empty());
  const std::string image = elf_with_sections({{".nv.constant0.k1", 560}});
  ASSERT_EQ(cuda::elf_sections(image).size(), 2U);
  for (size_t bytes = 0; bytes < image.size(); ++bytes)
    EXPECT_TRUE(cuda::elf_sections(std::string_view(image).substr(0, bytes)).empty()) << bytes;
}

}  // namespace
}  // namespace stepc::test
