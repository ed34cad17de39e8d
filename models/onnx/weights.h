#pragma once

#include "ir/builder.h"
#include "models/onnx/import.h"
#include "models/onnx/load.h"
#include "models/onnx/parameter_names.h"
#include "models/onnx/ties.h"
#include "models/onnx/trainable.h"

#include <string>
#include <vector>

namespace stepc::onnx_import {

// The initializers on their way into the graph: which are weights and which constants, under what name, what is tied,
// what is trained.
class Weights {
 public:
  // Throws UserError where a glob of the options matches nothing or something that cannot be trained.
  Weights(const ModelFile& file, const ImportOptions& options);

  // Adds weight inputs and constants; the value of each initializer, in file order.
  std::vector<ValueId> add_to(Builder& builder);

  // After the graph is complete: which candidates are really trained, and what nobody reads. Removes unused weight
  // inputs.
  void settle(Graph& graph);

  std::vector<Initializer> describe() const;
  void add_notes(std::vector<std::string>& notes) const;

 private:
  struct Entry {
    const StoredTensor* tensor = nullptr;
    ParameterIdentity identity;
    Tie tie;
    Decision decision;
    bool candidate = false;  // trained unless the options or the graph say otherwise
    bool forced = false;     // by --trainable
    Type type;               // in the graph
    ValueId value;           // in the graph; for a tied copy the value of its first
  };

  void apply_globs(const ImportOptions& options);
  bool is_weight(const Entry& entry) const;
  ValueId add_entry(Builder& builder, Entry& entry) const;
  std::string input_name(const Graph& graph, const Entry& entry) const;

  std::vector<Entry> entries_;
};

}  // namespace stepc::onnx_import
