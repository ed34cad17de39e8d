#pragma once

#include "models/onnx/load.h"
#include "models/onnx/parameter_names.h"

#include <string>
#include <vector>

namespace stepc::onnx_import {

// What an initializer is a copy of.
struct Tie {
  int first = -1;           // index of the initializer that it repeats; -1: none
  bool transposed = false;  // it holds the transpose of `first`
};

// Finds weights that were one parameter before the export and are several tensors in the file: training the copies
// independently would be silently wrong. Two tensors are tied when their payloads are equal, or transposed-equal, and
// either they have the same recovered name, or one is an embedding table and the other the matrix of a linear layer
// (the language-model head). Equal payloads alone prove nothing: fresh models start with equal layers and constant
// norms.
//
// A recovered name that stays on two different tensors is taken back from both.
std::vector<Tie> find_ties(const std::vector<StoredTensor>& tensors, const Readers& readers,
                           std::vector<ParameterIdentity>& identities);

}  // namespace stepc::onnx_import
