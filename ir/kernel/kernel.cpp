#include "ir/kernel.h"

#include "ir/body_parts.h"
#include "ir/builder.h"
#include "ir/kernel/describe.h"
#include "ir/kernel/linear_cross_entropy.h"
#include "ir/kernel/loop_nest.h"
#include "ir/kernel/loops.h"
#include "ir/kernel/matmul.h"
#include "ir/op_def.h"
#include "ir/origin_name.h"
#include "ir/support/error.h"

#include <algorithm>
#include <tuple>

namespace stepc {
namespace {

constexpr size_t kLabelledOps = 4;

// The iteration shape and its reduced axes.
struct Space {
  Shape shape;
  std::vector<bool> reduced;
};

Space plain(const Shape& shape) { return {shape, std::vector<bool>(shape.rank(), false)}; }

// `kept` first, then the summed sizes.
Space with_summed(const Shape& kept, const Dims& summed) {
  Dims dims = kept.dims();
  dims.insert(dims.end(), summed.begin(), summed.end());
  std::vector<bool> reduced(dims.size(), false);
  std::fill(reduced.begin() + static_cast<std::ptrdiff_t>(kept.rank()), reduced.end(), true);
  return {Shape(std::move(dims)), std::move(reduced)};
}

Space reduction_space(const Graph& graph, const Node& node) {
  Space space = plain(graph.shape(node.inputs[0]));
  if (node.op == Op::arg_max || node.op == Op::arg_min)
    space.reduced[static_cast<size_t>(node.attrs.integer("axis"))] = true;
  else
    for (const int64_t axis : node.attrs.integers("axes")) space.reduced[static_cast<size_t>(axis)] = true;
  return space;
}

Space contraction_space(const Graph& graph, const Node& node) {
  const Shape& result = graph.shape(node.outputs[0]);
  Dims summed;
  if (node.op == Op::contraction) {
    const Einsum einsum =
        bind_einsum(parse_einsum(node.attrs.text("spec")), graph.shape(node.inputs[0]), graph.shape(node.inputs[1]));
    for (const EinsumLabel& label : einsum.labels)
      if (label.result_axis < 0) summed.push_back(label.size);
    return with_summed(result, summed);
  }
  const ConvolutionShapes shapes = convolution_shapes(graph, node);
  const Convolution conv = bind_convolution(node.attrs, shapes.input, shapes.weight);
  const Shape& spatial = node.op == Op::conv_backward_weight ? conv.output : conv.kernel;
  summed.push_back(node.op == Op::conv                  ? conv.in_channels
                   : node.op == Op::conv_backward_input ? conv.out_channels
                                                        : conv.batch);
  summed.insert(summed.end(), spatial.begin(), spatial.end());
  return with_summed(result, summed);
}

bool reduces_axes(Op op) {
  switch (op) {
    case Op::arg_max:
    case Op::arg_min:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::reduce_prod:
    case Op::reduce_sum: return true;
    default: return false;
  }
}

bool larger(const Shape& a, const Shape& b) {
  return std::tuple(a.numel(), a.rank(), a.dims()) > std::tuple(b.numel(), b.rank(), b.dims());
}

// Whether the last axis longer than 1 is reduced.
bool is_row(const Space& space) {
  for (size_t axis = space.shape.rank(); axis-- > 0;)
    if (space.shape[axis] != 1) return space.reduced[axis];
  return true;
}

bool better(const Space& a, const Space& b) {
  if (a.shape.numel() != b.shape.numel()) return a.shape.numel() > b.shape.numel();
  if (is_row(a) != is_row(b)) return is_row(a);
  return larger(a.shape, b.shape);
}

// The space of the reductions among some nodes, or else that of their results; of rows, if there are any. Columns of
// which every element is a result too are walked as rows. Where several shapes name the same points, the choice depends
// on the shapes alone, not on the order of nodes.
Space joint_space(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<ValueId>& results) {
  std::optional<Space> best;
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    if (!reduces_axes(node.op)) continue;
    Space space = reduction_space(graph, node);
    const bool reduces = graph.shape(node.outputs[0]).numel() != space.shape.numel();
    if (reduces && (!best || better(space, *best))) best = std::move(space);
  }
  if (best) {
    const auto is_everywhere = [&](ValueId result) { return graph.shape(result).numel() == best->shape.numel(); };
    if (!is_row(*best) && std::ranges::any_of(results, is_everywhere)) best->reduced.flip();
    return *best;
  }
  const Shape* shape = &graph.shape(results[0]);
  for (const ValueId result : results)
    if (larger(graph.shape(result), *shape)) shape = &graph.shape(result);
  return plain(*shape);
}

std::vector<ValueId> results_of(const Graph& body) {
  std::vector<ValueId> results;
  for (const GraphOutput& output : body.outputs()) results.push_back(output.value);
  return results;
}

Space body_space(const Graph& body) { return joint_space(body, body.order(), results_of(body)); }

Space space_of(const Graph& graph, const Node& node) {
  if (node.op == Op::fused) {
    for (NodeId id = node.body->first(); id.valid(); id = node.body->next(id))
      if (node.body->node(id).op == Op::contraction) return contraction_space(*node.body, node.body->node(id));
    return body_space(*node.body);
  }
  if (reduces_axes(node.op)) return reduction_space(graph, node);
  if (op_def(node.op).kind == OpKind::contraction) return contraction_space(graph, node);
  return plain(graph.shape(node.outputs[0]));
}

// The decomposition of a composite as a body over its operands; omitted operands and unused results are left out.
struct CompositeBody {
  Graph body;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;  // of the composite, as the body's outputs
};

CompositeBody body_of_composite(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  CompositeBody result;
  Builder b(result.body, node.origin);
  std::vector<ValueId> inputs;
  for (const ValueId operand : node.inputs) {
    inputs.push_back(kNoValue);
    if (!operand.valid()) continue;
    inputs.back() = result.body.add_input(graph.type(operand), InputRole::data, fmt::format("{}", inputs.size()));
    result.operands.push_back(operand);
  }
  const NodeId composite = b.make_node(node.op, inputs, node.attrs);
  const std::vector<ValueId> values = op_def(node.op).decompose(b, result.body, composite);
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].valid()) continue;
    result.body.add_output(values[i], OutputRole::output, fmt::format("{}", i));
    result.results.push_back(node.outputs[i]);
  }
  result.body.erase(composite);
  return result;
}

NestRequest nest_request(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  Space space = space_of(graph, node);
  NestRequest request{{&graph, {id}, &graph, {}}, space.shape, space.reduced, node.outputs, node.outputs};
  if (node.op == Op::fused) {
    request.scope = {node.body.get(), {}, &graph, node.inputs};
    request.results = results_of(*node.body);
  }
  return request;
}

std::vector<int64_t> element_counts(const Graph& graph, const Kernel& kernel) {
  std::vector<int64_t> counts;
  for (const KernelBuffer& buffer : kernel.buffers) counts.push_back(graph.shape(buffer.value).numel());
  return counts;
}

std::string label_of(const Node& node) {
  if (node.op != Op::fused) return std::string(op_name(node.op));
  std::string label;
  size_t ops = 0;
  for (NodeId id = node.body->first(); id.valid(); id = node.body->next(id)) {
    const Node& inner = node.body->node(id);
    const OpKind kind = op_def(inner.op).kind;
    if (kind == OpKind::view || kind == OpKind::source) continue;
    if (ops++ == kLabelledOps) return label + "_etc";
    if (!label.empty()) label += '_';
    label += op_name(inner.op);
  }
  return label.empty() ? "copy" : label;
}

Kernel describe_as_nest(const Graph& graph, NodeId id, const LayoutOf& layouts) {
  Kernel kernel;
  if (op_def(graph.node(id).op).kind == OpKind::composite) {
    const CompositeBody composite = body_of_composite(graph, id);
    const Space space = body_space(composite.body);
    NestRequest request{{&composite.body, {}, &graph, composite.operands},
                        space.shape,
                        space.reduced,
                        results_of(composite.body),
                        composite.results};
    kernel = describe_nest(request, layouts);
  } else {
    kernel = describe_nest(nest_request(graph, id), layouts);
  }
  kernel.traffic = nest_traffic(kernel, element_counts(graph, kernel));
  return kernel;
}

// The kernel of a fused node whose body is of several parts, if each is a loop nest that one task can run.
std::optional<Kernel> describe_parts(const Graph& graph, const Node& node, const LayoutOf& layouts) {
  if (node.op != Op::fused) return std::nullopt;
  const Graph& body = *node.body;
  const std::vector<std::vector<NodeId>> parts = body_parts(body);
  if (parts.size() < 2) return std::nullopt;
  Kernel kernel;
  PartsWork work;
  for (const std::vector<NodeId>& part : parts) {
    NestRequest request{{&body, {}, &graph, node.inputs}, {}, {}, {}, {}};
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (std::ranges::count(part, body.value(body.outputs()[i].value).producer) == 0) continue;
      request.results.push_back(body.outputs()[i].value);
      request.outputs.push_back(node.outputs[i]);
    }
    if (request.results.empty()) return std::nullopt;
    Space space = joint_space(body, part, request.results);
    request.iteration = std::move(space.shape);
    request.reduced = std::move(space.reduced);
    Kernel own = describe_nest(request, layouts);
    own.traffic = nest_traffic(own, element_counts(graph, own));
    const bool one_task = own.kind == KernelKind::map || own.kind == KernelKind::row_reduction;
    if (!one_task || own.scratch_bytes != 0 || (!work.parts.empty() && own.kind != kernel.kind)) return std::nullopt;
    kernel.kind = own.kind;
    kernel.buffers.insert(kernel.buffers.end(), own.buffers.begin(), own.buffers.end());
    kernel.traffic.read_bytes += own.traffic.read_bytes;
    kernel.traffic.write_bytes += own.traffic.write_bytes;
    kernel.traffic.ideal_bytes += own.traffic.ideal_bytes;
    kernel.traffic.flops += own.traffic.flops;
    work.parts.push_back(std::move(own));
  }
  kernel.work = std::move(work);
  return kernel;
}

Kernel library_kernel(const Graph& graph, const Node& node, KernelKind kind, KernelWork work,
                      const std::vector<ValueId>& operands) {
  Kernel kernel;
  kernel.kind = kind;
  kernel.work = std::move(work);
  for (const ValueId operand : operands)
    if (operand.valid()) kernel.buffers.push_back({operand, graph.dtype(operand), false});
  kernel.buffers.push_back({node.outputs[0], graph.dtype(node.outputs[0]), true});
  const Cost cost = node_cost(graph, node);
  kernel.traffic = {cost.read_bytes, cost.write_bytes, cost.read_bytes + cost.write_bytes, cost.flops};
  return kernel;
}

// The kernel of a contraction, alone or with what is added to it, or of a convolution, where a library carries it.
std::optional<Kernel> describe_library(const Graph& graph, NodeId id, const LayoutOf& layouts) {
  const Node& node = graph.node(id);
  if (const std::optional<Product> product = product_of(graph, id)) {
    std::optional<MatmulWork> work = plan_matmul(graph, *product, layouts);
    if (!work) return std::nullopt;
    std::vector<ValueId> operands{product->a, product->b};
    operands.insert(operands.end(), product->addends.begin(), product->addends.end());
    return library_kernel(graph, node, KernelKind::contraction, std::move(*work), operands);
  }
  const bool is_convolution = op_def(node.op).kind == OpKind::contraction && node.op != Op::contraction;
  const bool all_f32 =
      std::ranges::all_of(node.inputs, [&](ValueId v) { return !v.valid() || graph.dtype(v) == Dtype::f32; });
  if (!is_convolution || !all_f32) return std::nullopt;
  const std::optional<ConvolutionWork> work = plan_convolution(graph, node, layouts);
  if (!work) return std::nullopt;
  return library_kernel(graph, node, KernelKind::convolution, *work, node.inputs);
}

}  // namespace

std::string_view kernel_kind_name(KernelKind kind) {
  switch (kind) {
    case KernelKind::map: return "map";
    case KernelKind::row_reduction: return "row_reduction";
    case KernelKind::column_reduction: return "column_reduction";
    case KernelKind::inner_outer: return "inner_outer";
    case KernelKind::scan: return "scan";
    case KernelKind::top_k: return "top_k";
    case KernelKind::scatter: return "scatter";
    case KernelKind::contraction: return "contraction";
    case KernelKind::convolution: return "convolution";
    case KernelKind::attention: return "attention";
    case KernelKind::linear_cross_entropy: return "linear_cross_entropy";
  }
  return "";
}

int64_t launches_of(const Kernel& kernel) {
  const auto* attention = std::get_if<AttentionWork>(&kernel.work);
  return kernel.schedule.two_stage || (attention != nullptr && attention->two_phases) ? 2 : 1;
}

LayoutOf layouts_of(const Plan& plan) {
  return [&plan](ValueId id) -> const Layout& { return plan.layout_of_value[static_cast<size_t>(id.index)]; };
}

LayoutOf layouts_of(const Layouts& layouts) {
  return [&layouts](ValueId id) -> const Layout& { return layouts.of(id); };
}

namespace {

Kernel describe(const Graph& graph, NodeId id, const LayoutOf& layouts) {
  const Node& node = graph.node(id);
  if (is_linear_cross_entropy(node)) return describe_linear_cross_entropy(graph, node, layouts);
  Kernel kernel;
  switch (node.op) {
    case Op::attention:
    case Op::attention_backward: kernel = describe_attention(graph, node, layouts); break;
    case Op::cumsum: kernel = describe_scan(graph, node, layouts); break;
    case Op::top_k: kernel = describe_top_k(graph, node, layouts); break;
    case Op::scatter_add:
    case Op::scatter_elements:
    case Op::scatter_nd: kernel = describe_scatter(graph, node, layouts); break;
    default: {
      std::optional<Kernel> special = describe_library(graph, id, layouts);
      if (!special) special = describe_parts(graph, node, layouts);
      kernel = special ? std::move(*special) : describe_as_nest(graph, id, layouts);
    }
  }
  kernel.label = label_of(node);
  return kernel;
}

// Errors of `describe`, as of a size that does not fit 64 bits, say of which node.
template <typename Describe>
auto placed(const Graph& graph, NodeId node, Describe describe) {
  try {
    return describe();
  } catch (const UserError& error) {
    user_error("{}: {}", node_name(graph, graph.node(node)), error.what());
  }
}

// Likewise, and that `describe` cannot.
template <typename Describe>
Kernel carried(const Graph& graph, NodeId node, Describe describe) {
  return placed(graph, node, [&] {
    try {
      return describe();
    } catch (const Untraceable& why) {
      user_error("no kernel carries it: {}", why.reason);
    }
  });
}

}  // namespace

Kernel describe_kernel(const Graph& graph, NodeId id, const LayoutOf& layouts) {
  return carried(graph, id, [&] { return describe(graph, id, layouts); });
}

Kernel describe_loops(const Graph& graph, NodeId id, const LayoutOf& layouts) {
  return carried(graph, id, [&] {
    Kernel kernel = describe_as_nest(graph, id, layouts);
    kernel.label = label_of(graph.node(id));
    return kernel;
  });
}

std::optional<std::string> why_no_kernel(const Graph& graph, NodeId id, const LayoutOf& layouts) {
  return placed(graph, id, [&]() -> std::optional<std::string> {
    try {
      describe(graph, id, layouts);
      return std::nullopt;
    } catch (const Untraceable& why) {
      return why.reason;
    }
  });
}

std::variant<Kernel, std::string> describe_region(const Graph& graph, const Region& region, const LayoutOf& layouts) {
  const Space space = joint_space(graph, region.nodes, region.results);
  const NestRequest request{
      {&graph, region.nodes, &graph, {}}, space.shape, space.reduced, region.results, region.results};
  return placed(graph, region.nodes.front(), [&]() -> std::variant<Kernel, std::string> {
    try {
      Kernel kernel = describe_nest(request, layouts);
      kernel.traffic = nest_traffic(kernel, element_counts(graph, kernel));
      return kernel;
    } catch (const Untraceable& why) {
      return why.reason;
    }
  });
}

}  // namespace stepc
