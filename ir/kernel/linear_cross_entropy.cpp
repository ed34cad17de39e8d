#include "ir/kernel/linear_cross_entropy.h"

#include "ir/cost/device_spec.h"
#include "ir/kernel/describe.h"
#include "ir/kernel/trace.h"
#include "ir/op_def.h"
#include "ir/ops/cross_entropy_rows.h"
#include "ir/support/checked.h"
#include "ir/support/error.h"
#include "ir/uniform_constant.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace stepc {
namespace {

using Work = LinearCrossEntropyWork;

constexpr bool is_loss(Op op) { return op == Op::linear_cross_entropy; }
constexpr bool is_backward(Op op) { return op == Op::linear_cross_entropy_backward; }

// The two nodes as they stand in the graph or in a fused node's body, and what their values are in the graph.
struct Parts {
  const Graph* home = nullptr;
  const Node* fused = nullptr;  // around them
  const Node* loss = nullptr;
  const Node* backward = nullptr;

  const Node& either() const { return loss != nullptr ? *loss : *backward; }

  // kNoValue for what is made inside the body.
  ValueId outside(ValueId value) const {
    if (fused == nullptr || !value.valid()) return value;
    for (size_t i = 0; i < fused->inputs.size(); ++i)
      if (home->inputs()[i].value == value) return fused->inputs[i];
    for (size_t i = 0; i < fused->outputs.size(); ++i)
      if (home->outputs()[i].value == value) return fused->outputs[i];
    return kNoValue;
  }
};

Parts parts_of(const Graph& graph, const Node& node) {
  Parts parts{&graph, nullptr, nullptr, nullptr};
  const auto note = [&](const Node& part) {
    if (is_loss(part.op)) parts.loss = &part;
    if (is_backward(part.op)) parts.backward = &part;
  };
  note(node);
  if (node.op != Op::fused) return parts;
  parts.home = node.body.get();
  parts.fused = &node;
  for (NodeId id = node.body->first(); id.valid(); id = node.body->next(id)) note(node.body->node(id));
  return parts;
}

LossReduction reduction_of(const std::string& text) {
  if (text == "none") return LossReduction::none;
  return text == "sum" ? LossReduction::sum : LossReduction::mean;
}

// The one stride of the axes [begin, end), nullopt where they do not walk as one.
std::optional<int64_t> joint_stride(const Shape& shape, const Dims& strides, size_t begin, size_t end) {
  std::optional<int64_t> stride;
  int64_t extent = 1;
  for (size_t axis = end; axis-- > begin;) {
    if (shape[axis] == 1) continue;
    if (!stride)
      stride = strides[axis];
    else if (strides[axis] != *stride * extent)
      return std::nullopt;
    extent *= shape[axis];
  }
  return stride.value_or(0);
}

class Description {
 public:
  Description(const Graph& graph, const Node& node, const LayoutOf& layouts)
      : graph_(graph), parts_(parts_of(graph, node)), layouts_(layouts) {}

  Kernel make() {
    const Node& node = parts_.either();
    const Shape& x = parts_.home->shape(node.inputs[0]);
    const Shape& w = parts_.home->shape(node.inputs[1]);
    refuse_what_is_not_carried(node, x, w);
    const CrossEntropyRules rules(node.attrs);
    rows_ = Shape(Dims(x.begin(), x.end() - 1));
    work_.rows = rows_.numel();
    work_.classes = w[0];
    work_.depth = w[1];
    work_.ignore_index = rules.ignore_index;
    work_.smoothing = rules.smoothing;
    work_.z_loss = rules.z_loss;
    work_.reduction = reduction_of(rules.reduction);
    kernel_.label = parts_.backward == nullptr ? "loss" : parts_.loss == nullptr ? "gradients" : "loss_and_gradients";
    add_operands(node);
    add_results();
    place_rows();
    schedule_linear_cross_entropy(work_);
    kernel_.kind = KernelKind::linear_cross_entropy;
    kernel_.scratch_bytes = checked_mul(work_.scratch.end, 4);
    kernel_.traffic = linear_cross_entropy_traffic(work_, kernel_.buffers, cpu_device().reuse_bytes);
    kernel_.work = std::move(work_);
    return std::move(kernel_);
  }

 private:
  void refuse_what_is_not_carried(const Node& node, const Shape& x, const Shape& w) const {
    const Dtype of_x = parts_.home->dtype(node.inputs[0]), of_w = parts_.home->dtype(node.inputs[1]);
    if (of_w != Dtype::f32 || of_x == Dtype::f64)
      throw Untraceable{fmt::format("linear cross-entropy of {} and {}", dtype_name(of_x), dtype_name(of_w))};
    if (w[0] == 0 || w[1] == 0) throw Untraceable{fmt::format("linear cross-entropy over weights {}", to_string(w))};
    constexpr int64_t kMost = int64_t{1} << 30;  // classes are counted in 32 bits
    if (w[0] > kMost || x.numel() / w[1] > kMost)
      throw Untraceable{"linear cross-entropy over too many classes or rows"};
  }

  void add_operands(const Node& node) {
    const bool backward = parts_.backward != nullptr && parts_.loss == nullptr;
    add(work_.x, node.inputs[0], false);
    add(work_.w, node.inputs[1], false);
    add(work_.labels, node.inputs[2], false);
    const size_t bias = backward ? 4 : 3;
    if (node.inputs.size() > bias) add(work_.bias, node.inputs[bias], false);
    if (parts_.backward == nullptr) return;
    const ValueId upstream = parts_.backward->inputs[3];
    if (const std::optional<double> number = uniform_constant(*parts_.home, upstream))
      work_.upstream_value = *number;
    else
      add(work_.upstream, upstream, false);
  }

  void add_results() {
    if (parts_.loss != nullptr && parts_.outside(parts_.loss->outputs[0]).valid())
      add(work_.loss, parts_.loss->outputs[0], true);
    if (parts_.backward == nullptr) return;
    size_t result = 0;
    const std::pair<const char*, Work::Tensor*> results[] = {
        {"dx", &work_.dx}, {"dw", &work_.dw}, {"dbias", &work_.dbias}};
    for (const auto& [wanted, tensor] : results) {
      if (!parts_.backward->attrs.flag(wanted)) continue;
      const ValueId value = parts_.backward->outputs[result++];
      if (parts_.outside(value).valid()) add(*tensor, value, true);
    }
  }

  void add(Work::Tensor& tensor, ValueId inside, bool written) {
    const ValueId value = parts_.outside(inside);
    if (!value.valid()) throw Untraceable{"linear cross-entropy whose operand is made in its body"};
    tensor.buffer = static_cast<int32_t>(kernel_.buffers.size());
    kernel_.buffers.push_back({value, graph_.dtype(value), written});
  }

  const Dims& strides_of(const Work::Tensor& tensor) const {
    return layouts_(kernel_.buffers[static_cast<size_t>(tensor.buffer)].value).strides;
  }

  // Where the rows of every tensor lie, over one split of their axes in two.
  void place_rows() {
    std::vector<Work::Tensor*> by_row{&work_.x, &work_.labels, &work_.dx};
    if (work_.reduction == LossReduction::none) by_row.insert(by_row.end(), {&work_.loss, &work_.upstream});
    std::erase_if(by_row, [](const Work::Tensor* tensor) { return tensor->buffer < 0; });
    const auto place = [&](size_t split) {
      for (Work::Tensor* tensor : by_row) {
        const Dims& strides = strides_of(*tensor);
        const std::optional<int64_t> outer = joint_stride(rows_, strides, 0, split);
        const std::optional<int64_t> inner = joint_stride(rows_, strides, split, rows_.rank());
        if (!outer || !inner) return false;
        tensor->outer_stride = *outer;
        tensor->row_stride = *inner;
        tensor->column_stride = strides.size() > rows_.rank() ? strides.back() : 0;
      }
      work_.inner_rows = 1;
      for (size_t axis = split; axis < rows_.rank(); ++axis) work_.inner_rows *= std::max<int64_t>(rows_[axis], 1);
      return true;
    };
    size_t split = 0;
    while (split <= rows_.rank() && !place(split)) ++split;
    if (split > rows_.rank()) throw Untraceable{"linear cross-entropy over rows of more than two strides"};
    for (Work::Tensor* tensor : {&work_.w, &work_.dw, &work_.bias, &work_.dbias}) {
      if (tensor->buffer < 0) continue;
      const Dims& strides = strides_of(*tensor);
      tensor->row_stride = strides[0];
      tensor->column_stride = strides.size() > 1 ? strides[1] : 0;
    }
  }

  const Graph& graph_;
  const Parts parts_;
  const LayoutOf& layouts_;
  Shape rows_;
  Work work_;
  Kernel kernel_;
};

}  // namespace

bool is_linear_cross_entropy(const Node& node) {
  if (node.op != Op::fused) return is_loss(node.op) || is_backward(node.op);
  for (NodeId id = node.body->first(); id.valid(); id = node.body->next(id))
    if (is_backward(node.body->node(id).op)) return true;
  return false;
}

Kernel describe_linear_cross_entropy(const Graph& graph, const Node& node, const LayoutOf& layouts) {
  return Description(graph, node, layouts).make();
}

}  // namespace stepc
