#include "tools/driver/data_tokens.h"

#include "ir/support/error.h"
#include "tools/driver/id_limit.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>

namespace stepc {
namespace {

bool is_data(const GraphInput& input) { return input.role == InputRole::data; }

bool takes_labels(const GraphInput& input) {
  return input.role == InputRole::label || (is_data(input) && input.name == "labels");
}

// The input that takes the tokens: "input_ids", or the only integer matrix.
const GraphInput& token_input(const Graph& graph, const std::string& path) {
  const GraphInput* found = graph.find_input("input_ids");
  if (found == nullptr)
    for (const GraphInput& input : graph.inputs()) {
      if (!is_data(input) || !is_integer(graph.dtype(input.value)) || graph.shape(input.value).rank() != 2) continue;
      if (found != nullptr)
        user_error("{}: inputs '{}' and '{}' could both take the tokens; give an .npz with one array per input", path,
                   found->name, input.name);
      found = &input;
    }
  if (found == nullptr || graph.shape(found->value).rank() != 2 || !is_integer(graph.dtype(found->value)))
    user_error("{} holds tokens, but the model has no integer input [batch, seq]; give an .npz instead", path);
  return *found;
}

// What companions of the tokens hold when every position counts.
Tensor companion(const Graph& graph, const GraphInput& input, const std::string& path) {
  Tensor tensor(graph.type(input.value));
  const Shape& shape = tensor.type().shape;
  if (input.name == "attention_mask") {
    for (int64_t i = 0; i < shape.numel(); ++i) set_element(tensor, i, 1);
  } else if (input.name == "position_ids" && shape.rank() > 0) {
    const int64_t seq = shape[shape.rank() - 1];
    for (int64_t i = 0; i < shape.numel(); ++i) set_element(tensor, i, static_cast<double>(i % seq));
  } else if (input.name != "token_type_ids") {
    user_error("{} holds tokens, and nothing for input '{}'; give an .npz with one array per input", path, input.name);
  }
  return tensor;
}

}  // namespace

TokenData::TokenData(const std::string& path, const std::string& dtype, uint64_t seed, bool shift)
    : path_(path),
      file_(path),
      token_bytes_(dtype == "u32"   ? 4
                   : dtype == "u16" ? 2
                                    : 1),
      seed_(seed),
      shift_(shift) {
  if (file_.size() % static_cast<size_t>(token_bytes_) != 0)
    user_error("{}: {} bytes are no whole number of {} tokens", path, file_.size(), dtype);
}

int64_t TokenData::token(int64_t position) const {
  int64_t value = 0;
  for (int64_t i = token_bytes_; i-- > 0;)
    value = value << 8 | std::to_integer<int64_t>(file_.data()[position * token_bytes_ + i]);
  return value;
}

int64_t TokenData::window_at(int64_t place, int64_t windows) const {
  const int64_t epoch = place / windows;
  if (epoch != epoch_ || static_cast<int64_t>(order_.size()) != windows) {
    order_.resize(static_cast<size_t>(windows));
    std::iota(order_.begin(), order_.end(), int64_t{0});
    std::mt19937_64 random(seed_ * 0x9e3779b97f4a7c15U + static_cast<uint64_t>(epoch));
    for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random() % i]);  // Fisher-Yates
    epoch_ = epoch;
  }
  return order_[static_cast<size_t>(place % windows)];
}

Batch TokenData::batch(const Graph& graph, int64_t index) const {
  const GraphInput& ids = token_input(graph, path_);
  const int64_t batch = graph.shape(ids.value)[0];
  const int64_t seq = graph.shape(ids.value)[1];
  const int64_t windows = tokens() / (seq + 1);
  if (windows == 0) user_error("{} holds {} tokens; one window needs seq + 1 = {}", path_, tokens(), seq + 1);

  Batch result;
  Tensor inputs(graph.type(ids.value));
  Tensor labels(Type{Dtype::i64, graph.shape(ids.value)});
  for (int64_t row = 0; row < batch; ++row) {
    const int64_t start = window_at(index * batch + row, windows) * (seq + 1);
    for (int64_t column = 0; column < seq; ++column) {
      const int64_t id = token(start + column);
      const int64_t next = token(start + column + 1);
      set_element(inputs, row * seq + column, static_cast<double>(id));
      set_element(labels, row * seq + column, static_cast<double>(shift_ ? id : next));
    }
  }
  for (const GraphInput& input : graph.inputs()) {
    if (takes_labels(input)) {
      if (graph.type(input.value) != labels.type())
        user_error("{} holds tokens, but label '{}' is {}", path_, input.name, to_string(graph.type(input.value)));
      result.emplace(input.name, labels);
    } else if (is_data(input)) {
      result.emplace(input.name, input.value == ids.value ? inputs : companion(graph, input, path_));
    }
  }
  return result;
}

void TokenData::check(const Graph& graph, const LossOptions&) const {
  batch(graph, 0);
  const GraphInput& ids = token_input(graph, path_);
  std::optional<int64_t> limit = id_limit(graph, ids.value, Through::views);
  for (const GraphInput& input : graph.inputs()) {
    if (!takes_labels(input)) continue;
    const std::optional<int64_t> classes = id_limit(graph, input.value, Through::selects);
    if (classes) limit = std::min(*classes, limit.value_or(*classes));
  }
  if (!limit || *limit >= int64_t{1} << (8 * token_bytes_)) return;
  const int64_t window = graph.shape(ids.value)[1] + 1;
  const int64_t used = tokens() / window * window;
  for (int64_t position = 0; position < used; ++position)
    if (token(position) >= *limit)
      user_error("{}: token {} at position {} is past the vocabulary of {}", path_, token(position), position, *limit);
}

std::string TokenData::describe() const {
  return fmt::format("{} ({} tokens of {} byte{})", path_, tokens(), token_bytes_, token_bytes_ == 1 ? "" : "s");
}

}  // namespace stepc
