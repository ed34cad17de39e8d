#pragma once

#include "ir/cost/device_spec.h"
#include "ir/graph.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stepc {

// What a remat policy decides on: the storage blocks that the forward makes, each with what it is made from.
struct RematValue {
  // What makes it.
  enum class Maker : uint8_t {
    cheap,             // pointwise work, reductions, norms: memory-bound, a reader's kernel can have it inside
    moved,             // gather, concat, scans and the like: a kernel of its own
    product,           // contraction, convolution, attention: both operands computed
    weighted_product,  // the same with a parameter as an operand, through views and casts
  };

  ValueId value;     // the block's owner in the graph that the problem describes
  std::string name;  // as in the listing of saved tensors; need not be unique
  std::string scope;
  std::vector<std::string> onnx;
  Maker maker{};
  int64_t bytes = 0;
  int32_t layer = -1;             // -1: outside of the repeated layers
  int32_t read_by_layer = -1;     // another layer of the forward that reads it, the latest; -1 where none does
  bool is_read_outside = false;   // the forward reads it outside of layers
  std::vector<int32_t> operands;  // what its node reads, as indices of values; inputs, weights and constants are none
  bool needed = false;            // the backward reads it, or a view of it
  double recompute_us = 0;        // predicted, of its node
};

struct RematProblem {
  std::vector<RematValue> values;  // in the order of the forward: operands first
  int32_t layers = 0;
};

// Of a graph with a backward, before fusion. Linear in the graph.
RematProblem remat_problem(const Graph& graph, const DeviceSpec& device);

// Whether the backward keeps tensors for a node's sake. The gradients of a linear layer's loss come first in the
// backward, in one kernel with the loss where that can be: they read what the loss reads.
bool keeps_operands(const Node& node);

}  // namespace stepc
