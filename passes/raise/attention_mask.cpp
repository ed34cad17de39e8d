#include "passes/raise/attention_mask.h"

#include "ir/op_def.h"
#include "ir/support/checked.h"
#include "passes/raise/diagonal_mask.h"
#include "passes/rewrite.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace stepc {
namespace {

constexpr int kMaxDepth = 64;  // of expressions that masks are computed by

// Beyond it a number is huge: its sum with any score is itself, or nearly.
double huge_threshold(Dtype dtype) { return dtype == Dtype::f16 ? 1e4 : 1e30; }

Magnitude constant_magnitude(const Tensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.type().shape.numel(); ++i) {
    const double number = std::abs(element(tensor.view(), i));
    if (!std::isfinite(number)) return Magnitude::infinite;
    largest = std::max(largest, number);
  }
  if (largest <= 1) return Magnitude::unit;
  return largest < huge_threshold(tensor.type().dtype) ? Magnitude::moderate : Magnitude::huge;
}

Magnitude product_magnitude(Magnitude a, Magnitude b) {
  if (a > b) std::swap(a, b);
  if (a == Magnitude::unit || b == Magnitude::infinite) return b;
  return b == Magnitude::huge ? Magnitude::infinite : Magnitude::moderate;
}

Magnitude magnitude(const Graph& graph, ValueId v, int depth) {
  if (const GraphInput* input = graph.input_of(v))
    return input->role == InputRole::weight ? Magnitude::moderate : Magnitude::infinite;
  const Node& node = *graph.producer(v);
  if (depth > kMaxDepth) return Magnitude::infinite;
  const auto of = [&](size_t i) { return magnitude(graph, node.inputs[i], depth + 1); };
  switch (node.op) {
    case Op::constant: return constant_magnitude(*node.constant);
    case Op::reshape:
    case Op::transpose:
    case Op::expand:
    case Op::slice:
    case Op::gather: return of(0);
    case Op::cast: {
      const Dtype from = graph.dtype(node.inputs[0]);
      if (from == Dtype::boolean) return Magnitude::unit;
      return is_float(from) && graph.dtype(v) != Dtype::f16 ? of(0) : Magnitude::infinite;
    }
    case Op::select: return std::max(of(1), of(2));
    case Op::add:
    case Op::sub: return sum_of(of(0), of(1));
    case Op::mul: return product_magnitude(of(0), of(1));
    case Op::contraction:
      return std::max(of(0), of(1)) <= Magnitude::moderate ? Magnitude::moderate : Magnitude::infinite;
    default: return Magnitude::infinite;
  }
}

// The constant behind views that keep the last `axes` axes as they are.
const Tensor* constant_of(const Graph& graph, ValueId v, size_t axes) {
  const Node* node = graph.producer(v);
  while (node != nullptr && (node->op == Op::reshape || node->op == Op::expand)) {
    const Shape& to = graph.shape(node->outputs[0]);
    const Shape& from = graph.shape(node->inputs[0]);
    if (from.rank() < axes || to.rank() < axes) return nullptr;
    for (size_t i = 1; i <= axes; ++i)
      if (from[from.rank() - i] != to[to.rank() - i]) return nullptr;
    node = graph.producer(node->inputs[0]);
  }
  return node != nullptr && node->op == Op::constant && node->constant->type().shape.rank() >= axes
             ? node->constant.get()
             : nullptr;
}

// Whether an element of a mask lets its key through, or hides it for certain; nothing for what does neither.
std::optional<bool> attends(double number, Dtype dtype, bool attend) {
  if (dtype == Dtype::boolean) return (number != 0) == attend;
  if (number == 0) return true;
  if (number <= -huge_threshold(dtype)) return false;
  return std::nullopt;
}

std::optional<bool> attends(const Tensor& mask, int64_t index, bool attend) {
  return attends(element(mask.view(), index), mask.type().dtype, attend);
}

// The mask as key − query <= offset lets keys through, where it is computed so and each query has one.
std::optional<int64_t> computed_offset(const Graph& graph, ValueId mask, bool attend) {
  const std::optional<DiagonalMask> diagonal = diagonal_mask(graph, mask);
  if (!diagonal || diagonal->offset < 0 || graph.shape(mask).numel() == 0) return std::nullopt;
  const Dtype dtype = graph.dtype(mask);
  const bool causal =
      attends(diagonal->inside, dtype, attend) == true && attends(diagonal->outside, dtype, attend) == false;
  return causal ? std::optional(diagonal->offset) : std::nullopt;
}

}  // namespace

Magnitude sum_of(Magnitude a, Magnitude b) {
  if (a > b) std::swap(a, b);
  if (b <= Magnitude::moderate) return Magnitude::moderate;
  return a >= Magnitude::huge ? Magnitude::infinite : b;
}

Magnitude magnitude_of(const Graph& graph, ValueId v) { return magnitude(graph, v, 0); }

bool leaves_a_key(const Graph& graph, ValueId mask, bool attend) {
  if (computed_offset(graph, mask, attend)) return true;
  const Tensor* tensor = constant_of(graph, mask, 1);
  if (tensor == nullptr) return false;
  const Shape& shape = tensor->type().shape;
  const int64_t keys = shape[shape.rank() - 1];
  for (int64_t row = 0; keys > 0 && row < shape.numel() / keys; ++row) {
    int64_t key = 0;
    while (key < keys && (element(tensor->view(), row * keys + key) != 0) != attend) ++key;
    if (key == keys) return false;
  }
  return keys > 0;
}

std::optional<int64_t> causal_offset(const Graph& graph, ValueId mask, bool attend) {
  if (const std::optional<int64_t> offset = computed_offset(graph, mask, attend)) return offset;
  const Tensor* tensor = constant_of(graph, mask, 2);
  if (tensor == nullptr) return std::nullopt;
  const Shape& shape = tensor->type().shape;
  const int64_t keys = shape[shape.rank() - 1];
  const int64_t queries = shape[shape.rank() - 2];
  if (shape.numel() == 0 || queries == 1) return std::nullopt;
  int64_t offset = -1;
  while (offset + 1 < keys && attends(*tensor, offset + 1, attend) == true) ++offset;
  if (offset < 0) return std::nullopt;
  for (int64_t i = 0; i < shape.numel(); ++i)
    if (attends(*tensor, i, attend) != (i % keys <= i / keys % queries + offset)) return std::nullopt;
  return offset;
}

std::optional<int64_t> unmasked_pairs(const Graph& graph, const Attention& attention, ValueId mask) {
  if (!mask.valid()) return attention.pairs();
  const Tensor* tensor = constant_of(graph, mask, 2);
  if (tensor == nullptr) return std::nullopt;
  const Shape& shape = tensor->type().shape;
  const int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  if (shape.numel() == 0) return 0;
  const int64_t planes = shape.numel() / (rows * columns);
  int64_t count = 0;
  for (int64_t plane = 0; plane < planes; ++plane)
    for (int64_t query = 0; query < attention.queries; ++query) {
      const Attention::KeyRange range = attention.keys_of(query);
      const int64_t row = (plane * rows + (rows == 1 ? 0 : query)) * columns;
      for (int64_t key = range.begin; key < range.end; ++key)
        count += attends(*tensor, row + (columns == 1 ? 0 : key), true) != false ? 1 : 0;
    }
  return checked_mul(count, attention.batch * attention.heads / planes);  // views repeat each plane alike
}

}  // namespace stepc
