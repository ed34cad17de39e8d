#pragma once

#include "ir/builder.h"
#include "tests/runtime/run_graph.h"

#include <string>
#include <vector>

namespace stepc::test {

// Attributes of linear cross-entropy.
Attrs loss_rules(const char* reduction = "mean", double smoothing = 0, double z_loss = 0);

struct LossCase {
  std::string label;
  Shape rows{150};
  int64_t depth = 40, classes = 200;
  Attrs attrs = loss_rules();
  bool bias = false;
  bool transposed = false;  // w is stored [K, classes]
  bool shifted = false;     // rows and labels are slices that leave one out at the end and the beginning
  bool constant = true;     // the gradient of the loss is a constant
  bool ignored = false;     // every label
  double spread = 1;        // of x
  Dtype label_dtype = Dtype::i64;
  Dtype x_dtype = Dtype::f32;
};

// Graphs of a loss and its gradients, each a kernel of its own ("<label>/apart") and one for both ("<label>/joint"):
// outputs "<label>/<form>/loss", dx, dw, dbias.
class LossCases {
 public:
  Graph graph;
  Tensors inputs;

  void add(const LossCase& c);

 private:
  ValueId input(const std::string& name, Tensor tensor);
  ValueId rows_of(const LossCase& c);
  ValueId weights_of(const LossCase& c);
  ValueId labels_of(const LossCase& c);
  void add_results(const LossCase& c, const char* form, const std::vector<ValueId>& results);

  Builder b_{graph};
};

}  // namespace stepc::test
