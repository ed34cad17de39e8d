// precision: mixed precision. Products and what flows between them become 16-bit, by casts that anyone can see.
// With tf32 everything stays f32, and contractions say that their operands may be rounded.
//
//   input weight "w" %w: f32                            %w16 = cast %w {to=bf16}
//   %y: f32 = contraction %x, %w    (--precision bf16)  %y: bf16 = contraction %x, %w16     (%x: bf16)
//   %z: f32 = add %y, %b                   ->           %z: bf16 = add %y, (cast %b)
//   %g: f32 = gelu %z                                   %g: bf16 = cast (gelu (cast %z {to=f32})) {to=bf16}
//   %s: f32 = reduce_sum %g                             %s: f32 = reduce_sum (cast %g {to=f32})
//
//   %y: f32 = contraction %x, %w    (--precision tf32)  %y: f32 = contraction %x, %w {tf32=true}
//
// How each operation is treated, `treatment_of` says, and docs/precision.md beside what PyTorch's autocast does. It
// runs before autodiff, so that gradients have the dtypes of their values: those of products are 16-bit, those of
// weights come back to f32 through the cast of the weight. Weights, masks and what integers alone lead to stay f32, and
// so do products whose results are ranked, as a router's are: a rounding there picks another expert, which no small
// bound on errors survives (Fedus et al. 2021, section 2.4; routers of mixtures of experts in f32).

#include "ir/builder.h"
#include "ir/einsum.h"
#include "ir/op_def.h"
#include "ir/ref_tensor.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace stepc {
namespace {

enum class Treatment : uint8_t {
  product,  // 16-bit operands and result, sums in f32
  carried,  // as its operands are: 16-bit where all can be
  rows,     // takes 16-bit operands, computes in f32, rounds once: has the statistics dtype inside
  inside,   // likewise, by casts around it
  f32,      // operands and result
  cast,     // of what its operand is by now
};

Treatment treatment_of(const Node& node) {
  const OpKind kind = op_def(node.op).kind;
  switch (node.op) {
    case Op::contraction:
    case Op::conv:
    case Op::attention:
    case Op::linear_cross_entropy: return Treatment::product;
    case Op::softmax:
    case Op::layer_norm:
    case Op::rms_norm:
    case Op::cross_entropy: return Treatment::rows;
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::neg:
    case Op::abs:
    case Op::relu:
    case Op::maximum:
    case Op::minimum:
    case Op::select: return node.origin.phase == Phase::loss ? Treatment::f32 : Treatment::carried;
    case Op::gelu:
    case Op::silu:
    case Op::sigmoid:
    case Op::tanh:
    case Op::erf:
    case Op::rotary: return Treatment::inside;
    case Op::concat:
    case Op::pad:
    case Op::gather:
    case Op::gather_elements:
    case Op::gather_nd: return Treatment::carried;
    case Op::cast: return Treatment::cast;
    default: return kind == OpKind::view ? Treatment::carried : Treatment::f32;
  }
}

// The operands of a product that become 16-bit: a mask is none of them, nor are the weights of linear cross-entropy,
// whose kernels sum their gradient over chunks of rows in place.
bool is_multiplied(const Node& node, size_t operand) {
  if (node.op == Op::linear_cross_entropy) return operand == 0;
  return node.op != Op::attention || operand < 3;
}

bool ranks(const Node& node) { return node.op == Op::top_k || node.op == Op::arg_max || node.op == Op::arg_min; }

// The value that views are taken of.
ValueId behind_views(const Graph& graph, ValueId value) {
  const Node* node = graph.producer(value);
  while (node != nullptr && op_def(node->op).kind == OpKind::view) {
    value = node->inputs[0];
    node = graph.producer(value);
  }
  return value;
}

bool is_weight(const Graph& graph, ValueId value) {
  const GraphInput* input = graph.input_of(behind_views(graph, value));
  return input != nullptr && input->role == InputRole::weight;
}

// Which products may have rounded operands.
class Products {
 public:
  explicit Products(const Graph& graph) : graph_(graph) {
    find_learned();
    find_ranked();
  }

  bool may_round(NodeId id) const { return multiplies_learned(graph_.node(id)) && !ranked_.contains(id); }

 private:
  // What is computed from weights, constants or float inputs. Everything else comes of integers alone: positions,
  // masks.
  void find_learned() {
    for (const GraphInput& input : graph_.inputs())
      if (is_float(graph_.dtype(input.value)) && input.role != InputRole::label) learned_.insert(input.value);
    for (NodeId id = graph_.first(); id.valid(); id = graph_.next(id)) {
      const Node& node = graph_.node(id);
      if (node.op == Op::constant || std::ranges::any_of(node.inputs, [&](ValueId v) { return learned_.contains(v); }))
        learned_.insert(node.outputs.begin(), node.outputs.end());
    }
  }

  // Products whose results reach a top-k or an arg-max through operations that are no products.
  void find_ranked() {
    std::set<NodeId> behind;
    for (NodeId id = graph_.last(); id.valid(); id = graph_.previous(id)) {
      const Node& node = graph_.node(id);
      if (!ranks(node) && !behind.contains(id)) continue;
      if (treatment_of(node) == Treatment::product) {
        ranked_.insert(id);
        continue;
      }
      for (const ValueId input : node.inputs)
        if (const NodeId producer = input.valid() ? graph_.value(input).producer : kNoNode; producer.valid())
          behind.insert(producer);
    }
  }

  // A product of positions alone has more digits than are left.
  bool multiplies_learned(const Node& node) const {
    if (node.op == Op::attention) return true;
    return learned_.contains(node.inputs[0]) && learned_.contains(node.inputs[1]);
  }

  const Graph& graph_;
  std::set<ValueId> learned_;
  std::set<NodeId> ranked_;
};

// A gradient's contractions have the attributes of the one whose they are.
bool allow_tf32(Graph& graph) {
  const Products products(graph);
  bool changed = false;
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
    const Node& node = graph.node(id);
    if (node.op != Op::contraction || graph.dtype(node.inputs[0]) != Dtype::f32 || allows_tf32(node.attrs) ||
        node.attrs.dtype("accumulate") != Dtype::f32 || !products.may_round(id))
      continue;
    graph.set_attr(id, "tf32", true);
    changed = true;
  }
  return changed;
}

class MixedPrecision {
 public:
  MixedPrecision(Graph& graph, Dtype low) : graph_(graph), low_(low), products_(graph) {}

  bool run() {
    for (const GraphInput& input : graph_.inputs())
      if (input.role == InputRole::data && graph_.dtype(input.value) == Dtype::f32 && is_activation(input.value))
        now_[input.value] = narrowed(input.value);
    for (const NodeId id : graph_.order()) treat(id);
    for (const GraphOutput& output : std::vector(graph_.outputs()))
      if (const ValueId value = current(output.value); value != output.value)
        graph_.redirect_output(output.name, widened(value));
    for (auto id = replaced_.rbegin(); id != replaced_.rend(); ++id)
      if (graph_.alive(*id)) erase_if_dead(graph_, *id);
    return changed_;
  }

 private:
  // Whether a product or a norm reads an input: a mask or a target is none, and stays what it is.
  bool is_activation(ValueId value) const {
    return std::ranges::any_of(graph_.value(value).uses, [&](const Use& use) {
      const Node& reader = graph_.node(use.node);
      if (op_def(reader.op).kind == OpKind::view) return is_activation(reader.outputs[0]);
      const Treatment treatment = treatment_of(reader);
      return (treatment == Treatment::product && is_multiplied(reader, static_cast<size_t>(use.operand))) ||
             (treatment == Treatment::rows && use.operand == 0);
    });
  }

  // What a value of the graph as it was is by now.
  ValueId current(ValueId value) const {
    const auto found = now_.find(value);
    return found == now_.end() ? value : found->second;
  }

  bool is_low(ValueId value) const { return value.valid() && graph_.dtype(value) == low_; }
  bool is_f32(ValueId value) const { return value.valid() && graph_.dtype(value) == Dtype::f32; }

  // The cast of a value that a reader has already, or a new one behind its producer.
  ValueId cast_of(ValueId value, Dtype to) {
    for (const Use& use : graph_.value(value).uses) {
      const Node& reader = graph_.node(use.node);
      if (reader.op == Op::cast && graph_.dtype(reader.outputs[0]) == to && made_.contains(reader.outputs[0]))
        return reader.outputs[0];
    }
    const NodeId producer = graph_.value(value).producer;
    Builder b(graph_, producer.valid() ? graph_.node(producer).origin : Origin{},
              producer.valid() ? graph_.next(producer) : graph_.first());
    const ValueId result = b.cast(value, to);
    made_.insert(result);
    changed_ = true;
    return result;
  }

  // A value in 16 bits: what was widened, or a view of the rounded value, or a cast.
  ValueId narrowed(ValueId value) {
    if (is_low(value)) return value;
    const Node* producer = graph_.producer(value);
    if (producer != nullptr && producer->op == Op::cast && is_low(producer->inputs[0])) return producer->inputs[0];
    if (producer == nullptr || op_def(producer->op).kind != OpKind::view) return cast_of(value, low_);
    if (const auto found = views_.find(value); found != views_.end()) return found->second;
    const ValueId operand = narrowed(producer->inputs[0]);
    const NodeId id = graph_.value(value).producer;
    Builder b(graph_, graph_.node(id).origin, graph_.next(id));
    const ValueId view = b.make(graph_.node(id).op, {operand}, graph_.node(id).attrs);
    graph_.set_name(view, graph_.value(value).name);
    replaced_.push_back(id);
    return views_[value] = view;
  }

  ValueId widened(ValueId value) { return is_low(value) ? cast_of(value, Dtype::f32) : value; }

  // Whether a value means the same in 16 bits: a weight does, a constant if it keeps within the range.
  bool adapts(ValueId value) const {
    if (is_weight(graph_, value)) return true;
    const Node* node = graph_.producer(behind_views(graph_, value));
    if (node == nullptr || node->op != Op::constant) return false;
    const RefTensor tensor(node->constant->view());
    return std::ranges::all_of(tensor.real, [&](double x) {
      const double rounded = round_to(low_, x);
      return std::isfinite(x) == std::isfinite(rounded) && (x == 0) == (rounded == 0);
    });
  }

  void treat(NodeId id) {
    const Node& node = graph_.node(id);
    if (made_.contains(node.outputs[0])) return;
    std::vector<ValueId> operands;
    for (const ValueId input : node.inputs) operands.push_back(current(input));
    Treatment treatment = treatment_of(node);
    const bool mixes = std::ranges::all_of(
        operands, [&](ValueId v) { return !v.valid() || !is_float(graph_.dtype(v)) || is_low(v) || is_f32(v); });
    if (!mixes && treatment != Treatment::cast) treatment = Treatment::f32;
    if (treatment == Treatment::product && !products_.may_round(id)) treatment = Treatment::f32;
    const bool low_first = is_low(operands.empty() ? kNoValue : operands[0]);
    switch (treatment) {
      case Treatment::product:
        for (size_t i = 0; i < operands.size(); ++i)
          if (is_f32(operands[i]) && is_multiplied(node, i)) operands[i] = narrowed(operands[i]);
        break;
      case Treatment::carried: carry(operands); break;
      case Treatment::rows:
      case Treatment::cast: break;
      case Treatment::inside:
      case Treatment::f32:
        for (ValueId& operand : operands)
          if (operand.valid()) operand = widened(operand);
        break;
    }
    rebuild(id, operands, (treatment == Treatment::inside && low_first) || is_row_of_table(node));
  }

  // 16-bit where one operand is and all others can be, else f32.
  void carry(std::vector<ValueId>& operands) {
    if (std::ranges::none_of(operands, [&](ValueId v) { return is_low(v); })) return;
    const bool all = std::ranges::all_of(operands, [&](ValueId v) { return !is_f32(v) || adapts(v); });
    for (ValueId& operand : operands) {
      if (all && is_f32(operand)) operand = narrowed(operand);
      if (!all && operand.valid()) operand = widened(operand);
    }
  }

  // An embedding is looked up in f32, so that its gradient is summed there, and what it yields is an activation.
  bool is_row_of_table(const Node& node) const {
    const bool looks_up = node.op == Op::gather || node.op == Op::gather_nd;
    if (!looks_up || !is_f32(node.outputs[0]) || !is_weight(graph_, node.inputs[0])) return false;
    return !std::ranges::all_of(graph_.value(node.outputs[0]).uses, [&](const Use& use) {
      const Node& reader = graph_.node(use.node);
      return reader.op == Op::cast && is_low(reader.outputs[0]);
    });
  }

  void rebuild(NodeId id, const std::vector<ValueId>& operands, bool rounds) {
    NodeId made = id;
    if (operands != graph_.node(id).inputs) {
      const Node& node = graph_.node(id);
      Builder b(graph_, node.origin, id);
      made = b.make_node(node.op, operands, node.attrs);
      replaced_.push_back(id);
      changed_ = true;
    }
    for (size_t i = 0; i < graph_.node(id).outputs.size(); ++i) {
      const ValueId old = graph_.node(id).outputs[i];
      ValueId value = graph_.node(made).outputs[i];
      if (made != id) graph_.set_name(value, graph_.value(old).name);
      if (rounds && i == 0) {
        value = narrowed(value);
        graph_.set_name(value, graph_.value(old).name);
      }
      if (value == old) continue;
      if (graph_.type(value) == graph_.type(old)) graph_.replace_uses(old, value);
      now_[old] = value;
    }
  }

  Graph& graph_;
  const Dtype low_;
  const Products products_;           // of the graph as it was
  std::set<ValueId> made_;            // by casts of ours
  std::map<ValueId, ValueId> views_;  // of f32 values → of the rounded ones
  std::map<ValueId, ValueId> now_;
  std::vector<NodeId> replaced_;  // in order
  bool changed_ = false;
};

bool run(Graph& graph, PassContext& context) {
  if (context.options.precision == Precision::tf32) return allow_tf32(graph);
  const std::optional<Dtype> low = low_dtype(context.options.precision);
  return low && MixedPrecision(graph, *low).run();
}

constexpr Fact kRefuses[] = {Fact::has_backward, Fact::has_fused};
constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};
constexpr std::string_view kForbidsAfter[] = {"loss", "raise-aten", "raise-composites", "fuse-loss"};

}  // namespace

extern const Pass pass_precision;
const Pass pass_precision{
    .name = "precision",
    .summary = "stores what products read and write in 16 bits (--precision bf16, fp16), or lets them round to TF32",
    .contract = {.refuses = kRefuses,
                 .breaks = kBreaks,
                 .forbids_after = kForbidsAfter,
                 .preserves = Preserves::tolerance,
                 .relative_tolerance = 0.05,
                 .required = true},
    .run = run,
};

}  // namespace stepc
