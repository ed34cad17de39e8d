#pragma once

#include "tools/driver/io/tensor_source.h"

#include <map>
#include <string>
#include <vector>

namespace stepc {

// An .npz archive in memory: NumPy arrays by name, in C order whatever the file's. Arrays of strings are kept apart.
struct Npz {
  std::map<std::string, Tensor> arrays;
  std::map<std::string, std::vector<std::string>> texts;

  const Tensor* find(const std::string& name) const;
};

// Throws UserError for a file that is no .npz, damaged, or holds a dtype that the IR lacks.
Npz read_npz(const std::string& path);

// Written beside its place and renamed. bfloat16, which NumPy lacks, becomes float32.
void write_npz(const std::string& path, const std::vector<TensorSource>& arrays);

}  // namespace stepc
