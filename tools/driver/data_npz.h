#pragma once

#include "tools/driver/data.h"
#include "tools/driver/io/npz.h"

namespace stepc {

// Arrays named like the inputs (a leading "in/" is accepted) and "label"; the same batch at every step.
class NpzData : public DataSource {
 public:
  explicit NpzData(const std::string& path) : path_(path), npz_(read_npz(path)) {}

  std::map<std::string, Dims> input_shapes() const override;
  Batch batch(const Graph& graph, int64_t index) const override;
  void check(const Graph& graph, const LossOptions& loss) const override;
  std::string describe() const override { return path_ + " (one batch, used at every step)"; }

 private:
  const Tensor& array_for(const GraphInput& input) const;
  Tensor converted(const Tensor& array, const Type& wanted, const std::string& name) const;
  void check_indices(const Graph& graph, const GraphInput& input, const Tensor& array) const;
  void check_labels(const Graph& graph, const GraphInput& input, const Tensor& array, int64_t ignored) const;
  void check_floats(const GraphInput& input, const Tensor& array) const;

  std::string path_;
  Npz npz_;
};

}  // namespace stepc
