#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <array>

namespace stepc::onnx_import {
namespace {

int64_t axis_attribute(const Lowering& l, const OnnxNode& n, int64_t missing) {
  return static_cast<int64_t>(normalize_axis(n.integer("axis", missing), l.shape(0).rank()));
}

void gather(Lowering& l, const OnnxNode& n) {
  l.set(0, l.b.gather(l.in(0), l.in(1), static_cast<size_t>(axis_attribute(l, n, 0))));
}

void gather_elements(Lowering& l, const OnnxNode& n) {
  l.set(0, l.b.make(Op::gather_elements, {l.in(0), l.in(1)}, {{"axis", axis_attribute(l, n, 0)}}));
}

void gather_nd(Lowering& l, const OnnxNode& n) {
  l.set(0, l.b.make(Op::gather_nd, {l.in(0), l.in(1)}, {{"batch_dims", n.integer("batch_dims", 0)}}));
}

// `largest` and `sorted` exist since version 11.
void top_k(Lowering& l, const OnnxNode& n) {
  const int64_t k = n.opset >= 10 ? l.known_integer(1, "k of TopK") : n.integer("k", 0);
  const NodeId node = l.b.make_node(Op::top_k, {l.in(0)},
                                    {{"axis", axis_attribute(l, n, -1)},
                                     {"k", k},
                                     {"largest", n.flag("largest", true)},
                                     {"sorted", n.flag("sorted", true)}});
  l.set(0, l.b.graph().node(node).outputs[0]);
  l.set(1, l.b.graph().node(node).outputs[1]);
}

// values = [off, on]; indices in [-depth, depth) select, others leave a row of `off`.
void one_hot(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  const double given_depth = l.known_number(1, "the depth of OneHot");
  if (!(given_depth >= 0 && given_depth <= 0x1p40)) user_error("a depth of {}", given_depth);
  const auto depth = static_cast<int64_t>(given_depth);
  const size_t rank = l.shape(0).rank();
  const size_t axis = normalize_axis(n.integer("axis", -1), rank + 1);
  if (l.shape(2) != Shape{2}) user_error("values are {} where [off, on] is expected", to_string(l.shape(2)));
  const auto value = [&](int64_t at) { return b.reshape(b.slice_axis(l.in(2), 0, at, 1), Shape{}); };

  const ValueId given = b.cast(l.in(0), Dtype::i64);
  const ValueId negative = b.binary(Op::less, given, b.scalar(0, Dtype::i64));
  const ValueId index = b.select(negative, b.add(given, static_cast<double>(depth)), given);
  Dims along(rank + 1, 1);
  along[axis] = depth;
  const ValueId hot = b.binary(Op::equal, b.unsqueeze(index, axis), b.iota(Dtype::i64, Shape(along), axis));
  l.set(0, b.select(hot, value(1), value(0)));
}

// Keeps the elements of the last two axes with column >= row + k (upper) or column <= row + k.
void trilu(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  const Shape& shape = l.shape(0);
  if (shape.rank() < 2) user_error("the operand is {} where a matrix is expected", to_string(shape));
  const Shape matrix{shape[shape.rank() - 2], shape[shape.rank() - 1]};
  const ValueId column = b.iota(Dtype::i64, matrix, 1);
  ValueId diagonal = b.iota(Dtype::i64, matrix, 0);
  if (l.has(1)) diagonal = b.add(diagonal, b.reshape(b.cast(l.in(1), Dtype::i64), Shape{}));
  const ValueId kept =
      n.flag("upper", true) ? b.binary(Op::less_equal, diagonal, column) : b.binary(Op::less_equal, column, diagonal);
  l.set(0, b.select(kept, l.in(0), b.scalar_like(0, l.in(0))));
}

void cumsum(Lowering& l, const OnnxNode& n) {
  const auto axis = normalize_axis(l.known_integer(1, "the axis of CumSum"), l.shape(0).rank());
  l.set(0, l.b.make(Op::cumsum, {l.in(0)},
                    {{"axis", static_cast<int64_t>(axis)},
                     {"exclusive", n.flag("exclusive", false)},
                     {"reverse", n.flag("reverse", false)}}));
}

// The coordinates (rank, count) of the elements that are not 0. Their number decides a shape, so the operand must be
// known.
void non_zero(Lowering& l, const OnnxNode&) {
  const Tensor* x = l.known(0);
  if (x == nullptr) user_error("the operand must be known when the model is imported, since it decides a shape");
  const Shape& shape = x->type().shape;
  std::vector<int64_t> found;
  for (int64_t i = 0; i < shape.numel(); ++i)
    if (element(x->view(), i) != 0) found.push_back(i);
  const Dims strides = row_major_strides(shape);
  std::vector<int64_t> coordinates;
  for (size_t axis = 0; axis < shape.rank(); ++axis)
    for (const int64_t i : found) coordinates.push_back(i / strides[axis] % shape[axis]);
  const Shape result{static_cast<int64_t>(shape.rank()), static_cast<int64_t>(found.size())};
  l.set(0, l.b.constant(Tensor::of_i64(coordinates, result)));
}

constexpr auto kRules = std::to_array<NamedRule>({
    {"CumSum", cumsum},
    {"Gather", gather},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"NonZero", non_zero},
    {"OneHot", one_hot},
    {"TopK", top_k},
    {"Trilu", trilu},
});

}  // namespace

RuleList indexing_rules() { return kRules; }

}  // namespace stepc::onnx_import
