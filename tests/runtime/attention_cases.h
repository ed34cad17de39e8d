#pragma once

#include "ir/builder.h"
#include "tests/runtime/run_graph.h"

#include <optional>
#include <string>

namespace stepc::test {

// Attributes of attention.
Attrs attention_rules(bool causal = false, int64_t offset = 0, int64_t left = -1, int64_t right = -1,
                      double softcap = 0, double scale = 0.125);

struct AttentionCase {
  struct Mask {
    Dtype dtype = Dtype::f32;
    Shape shape;
    std::optional<double> some = std::nullopt;  // a third of its numbers are that, the rest 0
    bool whole_rows = false;                    // of a third of the queries, all
  };

  std::string label;
  int64_t batch = 1, heads = 2, key_heads = 2, queries = 150, keys = 150, depth = 64, value_depth = 64;
  Attrs attrs = attention_rules();
  std::optional<Mask> mask = std::nullopt;
  double spread = 1;        // of q and k
  bool integers = false;    // q and k are integers: products of them are exact
  bool one_tensor = false;  // q, k and v are slices of one [B, S, 3·H·D]
  double dropout = 0;
  Dtype dtype = Dtype::f32;
};

// Graphs of attention with its gradients, that of a float mask too: outputs "<label>/o", lse, dq, dk, dv, dmask.
class AttentionCases {
 public:
  Graph graph;
  Tensors inputs;

  void add(const AttentionCase& c);

 private:
  struct Values {
    ValueId q, k, v;
  };

  ValueId input(const std::string& name, Tensor tensor);
  void output(const AttentionCase& c, const char* name, ValueId value);
  ValueId operand(const AttentionCase& c, const char* name, int64_t heads, int64_t rows, int64_t depth, uint32_t seed,
                  double spread);
  Values separate(const AttentionCase& c);
  Values slices_of_one(const AttentionCase& c);

  Builder b_{graph};
};

}  // namespace stepc::test
