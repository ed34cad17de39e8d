#pragma once

#include "tools/driver/data.h"

namespace stepc {

// Inputs drawn from a seed, for profiling without data: floats normal, integers uniform over the ids that every table
// they index has, masks all ones, labels uniform over the classes.
class RandomData : public DataSource {
 public:
  explicit RandomData(uint64_t seed) : seed_(seed) {}
  Batch batch(const Graph& graph, int64_t index) const override;
  void check(const Graph& graph, const LossOptions& loss) const override;
  std::string describe() const override;

 private:
  uint64_t seed_;
};

}  // namespace stepc
