#pragma once

#include "ir/graph.h"
#include "ir/layout.h"
#include "passes/options.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stepc {

// One tensor that the forward keeps for the backward (design: a value of phase forward or loss, or an input, that a
// node of phase backward or recompute uses).
struct SavedTensor {
  ValueId value;     // in the graph that was analysed
  std::string op;    // eager: the operation that saves it; compiled: the one that produces it, "input" without
  std::string name;  // of the value, or of the nearest named value that it is a view of
  std::vector<std::string> onnx;  // ONNX nodes of that operation
  std::string scope;
  Type type;
  std::string block;       // A..Z, AA..: equal letters are one storage block
  int64_t new_bytes = 0;   // what keeping it costs: the block's bytes, 0 for a reference
  bool reference = false;  // the block exists anyway: an input, a weight, a constant, or saved before
  std::string input;       // the graph input whose block it is, else empty
};

struct SavedListing {
  std::vector<SavedTensor> saved;
  std::vector<std::string> loads;  // blocks in the order in which the backward reads the saved tensors
  int64_t new_bytes() const;
};

// Compiled accounting: each saved value of this graph once, in the order of production (inputs first); each is loaded
// where the backward first reads it. Scalar constants do not count.
SavedListing saved_tensors(const Graph& graph, const Layouts& layouts);

// Eager accounting: what PyTorch would save for `imported`, the graph as it was imported: op by op in the order of the
// forward, for each differentiated operand in turn, the values that its derivative formula reads, each once per op.
SavedListing eager_saved_tensors(const Graph& imported, const TrainOptions& options);

}  // namespace stepc
