#pragma once

#include "tools/driver/data.h"
#include "tools/driver/io/files.h"

#include <vector>

namespace stepc {

// A file of little-endian token ids, cut into consecutive windows of seq + 1 tokens; the last incomplete one is
// dropped. Each epoch visits all windows in an order drawn from the seed. A window gives `seq` inputs and, one position
// later, their labels (with --shift the labels are the inputs themselves: the loss shifts).
class TokenData : public DataSource {
 public:
  TokenData(const std::string& path, const std::string& dtype, uint64_t seed, bool shift);
  Batch batch(const Graph& graph, int64_t index) const override;
  void check(const Graph& graph, const LossOptions& loss) const override;
  std::string describe() const override;

 private:
  int64_t token(int64_t position) const;
  int64_t tokens() const { return static_cast<int64_t>(file_.size()) / token_bytes_; }
  int64_t window_at(int64_t place, int64_t windows) const;  // in the order of its epoch

  std::string path_;
  MappedInput file_;
  int64_t token_bytes_;
  uint64_t seed_;
  bool shift_;
  mutable int64_t epoch_ = -1;
  mutable std::vector<int64_t> order_;  // of epoch_
};

}  // namespace stepc
