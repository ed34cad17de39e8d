#include "ir/kernel/describe.h"
#include "ir/op_def.h"
#include "ir/uniform_constant.h"

#include <algorithm>

// Kernels that move or scan along axes: cumulative sums, top-k, scatters.
namespace stepc {
namespace {

template <typename T>
std::vector<T> without(std::vector<T> list, size_t index) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(index));
  return list;
}

KernelTraffic traffic_of(const Graph& graph, const Node& node) {
  const Cost cost = node_cost(graph, node);
  return {cost.read_bytes, cost.write_bytes, cost.read_bytes + cost.write_bytes, cost.flops};
}

KernelBuffer buffer(const Graph& graph, ValueId id, bool written) { return {id, graph.dtype(id), written}; }

// What scans and top-k share: one axis, and all the others.
template <typename Work>
Work axis_work(const Graph& graph, const Node& node, const LayoutOf& layouts) {
  const auto axis = static_cast<size_t>(node.attrs.integer("axis"));
  const Shape& shape = graph.shape(node.inputs[0]);
  const Dims& in = layouts(node.inputs[0]).strides;
  const Dims& out = layouts(node.outputs[0]).strides;
  Work work;
  work.extent = shape[axis];
  work.in_stride = in[axis];
  work.out_stride = out[axis];
  work.dims = without(shape.dims(), axis);
  work.in_strides = without(in, axis);
  work.out_strides = without(out, axis);
  return work;
}

ScatterMode mode_of(const Node& node) {
  if (node.op == Op::scatter_add) return ScatterMode::add;
  const std::string& reduction = node.attrs.text("reduction");
  if (reduction == "add") return ScatterMode::add;
  if (reduction == "mul") return ScatterMode::mul;
  if (reduction == "max") return ScatterMode::max;
  return reduction == "min" ? ScatterMode::min : ScatterMode::assign;
}

struct ScatterShapes {
  const Shape& data;
  const Shape& updates;
  const Dims& index_strides;
  Dims out;  // row-major
};

void add_dim(ScatterWork& work, const ScatterShapes& shapes, size_t update_axis, bool sequential, int64_t index_stride,
             int64_t out_stride) {
  work.dims.push_back({shapes.updates[update_axis], sequential});
  work.index_strides.push_back(index_stride);
  work.out_strides.push_back(out_stride);
}

// updates[pre.., i.., post..] are added at data[pre.., indices[i..], post..]
void scatter_at_axis(ScatterWork& work, const ScatterShapes& shapes, size_t axis) {
  const size_t index_rank = shapes.index_strides.size();
  for (size_t d = 0; d < shapes.updates.rank(); ++d) {
    const bool sequential = d >= axis && d < axis + index_rank;
    const size_t data_axis = d < axis ? d : d + 1 - index_rank;
    add_dim(work, shapes, d, sequential, sequential ? shapes.index_strides[d - axis] : 0,
            sequential ? 0 : shapes.out[data_axis]);
  }
  work.targets = {{shapes.data[axis], shapes.out[axis]}};
}

// updates[i][j][k] goes to data[i][indices[i][j][k]][k], for axis 1
void scatter_elements(ScatterWork& work, const ScatterShapes& shapes, size_t axis) {
  for (size_t d = 0; d < shapes.updates.rank(); ++d)
    add_dim(work, shapes, d, d == axis, shapes.index_strides[d], d == axis ? 0 : shapes.out[d]);
  work.targets = {{shapes.data[axis], shapes.out[axis]}};
}

// updates[i.., w..] goes to data[indices[i.., 0], indices[i.., 1], .., w..]
void scatter_tuples(ScatterWork& work, const ScatterShapes& shapes, size_t tuple_length) {
  const size_t index_dims = shapes.index_strides.size() - 1;
  for (size_t d = 0; d < shapes.updates.rank(); ++d) {
    const bool sequential = d < index_dims;
    add_dim(work, shapes, d, sequential, sequential ? shapes.index_strides[d] : 0,
            sequential ? 0 : shapes.out[d - index_dims + tuple_length]);
  }
  for (size_t c = 0; c < tuple_length; ++c) work.targets.push_back({shapes.data[c], shapes.out[c]});
  work.component_stride = shapes.index_strides[index_dims];
}

}  // namespace

Kernel describe_scan(const Graph& graph, const Node& node, const LayoutOf& layouts) {
  auto work = axis_work<ScanWork>(graph, node, layouts);
  work.exclusive = node.attrs.flag("exclusive");
  work.reverse = node.attrs.flag("reverse");
  Kernel kernel;
  kernel.kind = KernelKind::scan;
  kernel.buffers = {buffer(graph, node.inputs[0], false), buffer(graph, node.outputs[0], true)};
  kernel.work = std::move(work);
  kernel.traffic = traffic_of(graph, node);
  return kernel;
}

Kernel describe_top_k(const Graph& graph, const Node& node, const LayoutOf& layouts) {
  auto work = axis_work<TopKWork>(graph, node, layouts);
  work.k = node.attrs.integer("k");
  work.largest = node.attrs.flag("largest");
  Kernel kernel;
  kernel.kind = KernelKind::top_k;
  kernel.buffers = {buffer(graph, node.inputs[0], false), buffer(graph, node.outputs[0], true),
                    buffer(graph, node.outputs[1], true)};
  kernel.work = std::move(work);
  kernel.traffic = traffic_of(graph, node);
  return kernel;
}

Kernel describe_scatter(const Graph& graph, const Node& node, const LayoutOf& layouts) {
  const ValueId base = node.inputs[0], indices = node.inputs[1], updates = node.inputs[2];
  const Shape& data = graph.shape(base);
  const ScatterShapes shapes{data, graph.shape(updates), layouts(indices).strides, row_major_strides(data)};
  ScatterWork work;
  work.mode = mode_of(node);
  work.result = data;
  work.base_number = uniform_constant(graph, base);
  work.base_strides = layouts(base).strides;
  work.update_strides = layouts(updates).strides;
  if (node.op == Op::scatter_nd)
    scatter_tuples(work, shapes, static_cast<size_t>(graph.shape(indices).dims().back()));
  else if (node.op == Op::scatter_elements)
    scatter_elements(work, shapes, static_cast<size_t>(node.attrs.integer("axis")));
  else
    scatter_at_axis(work, shapes, static_cast<size_t>(node.attrs.integer("axis")));

  Kernel kernel;
  kernel.kind = KernelKind::scatter;
  kernel.buffers = {buffer(graph, indices, false), buffer(graph, updates, false), buffer(graph, node.outputs[0], true)};
  if (!work.base_number) kernel.buffers.push_back(buffer(graph, base, false));
  kernel.work = std::move(work);
  kernel.traffic = traffic_of(graph, node);
  return kernel;
}

std::optional<ConvolutionWork> plan_convolution(const Graph& graph, const Node& node, const LayoutOf& layouts) {
  for (const ValueId id : node.inputs)
    if (id.valid() && !is_row_major(layouts(id), graph.shape(id))) return std::nullopt;
  const ValueId result = node.outputs[0];
  const auto shape_of = [&](size_t input) { return graph.shape(node.inputs[input]); };
  ConvolutionWork work;
  if (node.op == Op::conv) work = {ConvolutionKind::forward, shape_of(0), shape_of(1), graph.shape(result), {}};
  if (node.op == Op::conv_backward_input)
    work = {ConvolutionKind::backward_input, graph.shape(result), shape_of(1), shape_of(0), {}};
  if (node.op == Op::conv_backward_weight)
    work = {ConvolutionKind::backward_weight, shape_of(0), graph.shape(result), shape_of(1), {}};
  work.convolution = bind_convolution(node.attrs, work.input, work.weight);
  const size_t spatial = work.convolution.kernel.rank();
  if (spatial < 1 || spatial > 3 || work.convolution.multiply_adds() == 0) return std::nullopt;
  work.has_bias = node.inputs.size() > 2 && node.inputs[2].valid();
  return work;
}

}  // namespace stepc
