#pragma once

#include "ir/ref_tensor.h"
#include "tools/driver/model.h"

#include <map>
#include <string>

namespace stepc::corpus {

// Values for the inputs of a model's graph at every stage. Weights have those of the file; what else an input is given
// is drawn when a graph first has that input, and stays: ids within their tables, labels within the classes and the
// first of them ignored, masks all ones but the last position of each row.
class InputValues {
 public:
  // `model` must outlive the object; its graph may be gone.
  explicit InputValues(const Model& model) : model_(model) {}

  const std::map<std::string, RefTensor>& of(const Graph& graph);

 private:
  RefTensor draw(const Graph& graph, const GraphInput& input) const;

  const Model& model_;
  std::map<std::string, RefTensor> values_;
};

}  // namespace stepc::corpus
