#pragma once

#include "ir/graph.h"
#include "ir/tensor.h"
#include "tools/driver/options.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace stepc {

using Batch = std::map<std::string, Tensor>;  // by input name, labels included

inline bool is_in_batch(const GraphInput& input) {
  return input.role == InputRole::data || input.role == InputRole::label;
}

// Where training data comes from (run --data).
class DataSource {
 public:
  virtual ~DataSource() = default;
  // Shapes of inputs by name, as far as the data determines them.
  virtual std::map<std::string, Dims> input_shapes() const { return {}; }
  // Batch number `index` (micro-steps count one each), a function of the index and the seed alone, so that a resumed
  // run sees what an uninterrupted one would. Throws UserError where the data does not fit the graph's inputs.
  virtual Batch batch(const Graph& graph, int64_t index) const = 0;
  // Throws UserError where some batch would not fit the graph, as far as that can be told before a step runs: shapes,
  // indices past a table, labels that are no class. Called before kernels are compiled.
  virtual void check(const Graph& graph, const LossOptions& loss) const = 0;
  virtual std::string describe() const = 0;
};

// --data: an .npz with one batch, a token file (.u8 .u16 .u32 or --token-dtype), or any other file as text; without it,
// random inputs of --seed.
std::unique_ptr<DataSource> open_data(const DriverOptions& options);

}  // namespace stepc
