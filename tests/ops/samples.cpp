#include "tests/ops/samples.h"

#include "ir/support/error.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace stepc::test {

RefTensor reals(Dtype dtype, const Shape& shape, std::vector<double> values) {
  RefTensor tensor(Type{dtype, shape});
  CHECK(tensor.is_real() && values.size() == tensor.real.size(), "{} values", values.size());
  tensor.real = std::move(values);
  return tensor;
}

RefTensor integers(Dtype dtype, const Shape& shape, std::vector<int64_t> values) {
  RefTensor tensor(Type{dtype, shape});
  CHECK(!tensor.is_real() && values.size() == tensor.integer.size(), "{} values", values.size());
  tensor.integer = std::move(values);
  return tensor;
}

// One value in each of numel equal cells, within the middle half of it, in shuffled order. mt19937's numbers are the
// same everywhere, the standard distributions are not.
RefTensor spread(const Shape& shape, double low, double high, uint32_t seed) {
  RefTensor tensor(Type{Dtype::f64, shape});
  std::mt19937 random(seed);
  std::vector<size_t> cells(tensor.real.size());
  std::iota(cells.begin(), cells.end(), size_t{0});
  for (size_t i = cells.size(); i > 1; --i) std::swap(cells[i - 1], cells[random() % i]);
  for (size_t i = 0; i < cells.size(); ++i) {
    const double within = 0.25 + 0.5 * static_cast<double>(random()) * 0x1p-32;
    tensor.real[i] = low + (high - low) * (static_cast<double>(cells[i]) + within) / static_cast<double>(cells.size());
  }
  return tensor;
}

namespace {

struct Table {
  std::vector<Sample> samples;
  std::vector<Refusal> refusals;
};

const Table& table() {
  static const Table all = [] {
    Table t;
    pointwise_samples(t.samples, t.refusals);
    movement_samples(t.samples, t.refusals);
    reduction_samples(t.samples, t.refusals);
    contraction_samples(t.samples, t.refusals);
    attention_samples(t.samples, t.refusals);
    loss_samples(t.samples, t.refusals);
    fused_samples(t.samples, t.refusals);
    return t;
  }();
  return all;
}

}  // namespace

const std::vector<Sample>& all_samples() { return table().samples; }
const std::vector<Refusal>& all_refusals() { return table().refusals; }

}  // namespace stepc::test
