#pragma once

#include "ir/convolution.h"
#include "ir/kernel.h"
#include "ir/kernel/index_form.h"

#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace stepc {

// Why a value cannot be computed inside a loop nest.
struct Untraceable {
  std::string reason;
};

// The nest must be described anew with this dim split.
struct SplitRequest {
  DimSplit split;
};

// What one kernel computes: some nodes of a graph, or the body of a fused node.
struct KernelScope {
  const Graph* graph = nullptr;        // of the values inside
  std::vector<NodeId> nodes;           // sorted; empty for a body, whose nodes are all inside
  const Graph* outer = nullptr;        // of the operands
  std::vector<ValueId> body_operands;  // per body input: the operand; empty unless it is a body

  bool contains(NodeId producer) const;
  bool is_body() const { return nodes.empty(); }
};

// The index forms of a nest's iteration shape: one per axis, over the nest's dims.
struct IterationAxes {
  Coordinates forms;
  std::vector<bool> reduced;
  Shape shape;
};

// The operand and weight shapes of a convolution or of one of its gradients.
struct ConvolutionShapes {
  Shape input, weight;
};
ConvolutionShapes convolution_shapes(const Graph& graph, const Node& node);

Dtype accumulator_of(Dtype dtype);  // 16-bit floats accumulate in f32, the others in themselves

// Turns values into scalars of a loop nest, from a result backwards: the coordinates at which a value is needed tell at
// which coordinates its operands are needed. Throws Untraceable and SplitRequest.
class Tracer {
 public:
  Tracer(const KernelScope& scope, const LayoutOf& layouts, const IterationAxes& axes, LoopNest& nest,
         std::vector<KernelBuffer>& buffers)
      : scope_(scope), layouts_(layouts), axes_(axes), nest_(nest), buffers_(buffers) {}

  ScalarId value(ValueId id, const Coordinates& at, const std::vector<Guard>& guards);
  int32_t buffer(ValueId outer_value, bool written);
  size_t dims() const { return nest_.dims.size(); }
  // Coordinates of a value of shape `from` that is reshaped to `to`, at `at` of `to`.
  Coordinates reshaped(const Shape& from, const Shape& to, const Coordinates& at) const;

 private:
  using Guards = std::vector<Guard>;

  ScalarId compute(ValueId id, const Coordinates& at, const Guards& guards);
  ScalarId load(ValueId outer_value, const Coordinates& at, const Guards& guards);
  ScalarId pointwise(const Node& node, ValueId result, const Coordinates& at, const Guards& guards);
  ScalarId view(const Node& node, const Coordinates& at, const Guards& guards);
  ScalarId concat(const Node& node, const Coordinates& at, const Guards& guards);
  ScalarId pad(const Node& node, ValueId result, const Coordinates& at, const Guards& guards);
  ScalarId gather(const Node& node, const Coordinates& at, const Guards& guards);
  ScalarId gather_elements(const Node& node, const Coordinates& at, const Guards& guards);
  ScalarId gather_nd(const Node& node, const Coordinates& at, const Guards& guards);
  ScalarId random(const Node& node, const Shape& shape, const Coordinates& at, const Guards& guards);
  ScalarId reduction(const Node& node, const Coordinates& at);
  ScalarId contraction(const Node& node, const Coordinates& at);
  ScalarId convolution(const Node& node, const Coordinates& at);

  bool walks_only(const IndexForm& form, bool reduced) const;  // dims that are reduced, or kept
  void require_kept(const Coordinates& at) const;              // `at` are the axes that are not reduced
  ScalarId sum_of_products(ScalarId a, ScalarId b, Dtype accumulate);
  IndexForm divided(const IndexForm& form, int64_t divisor, bool remainder);
  IndexForm divided_coordinate(const IndexForm& at, int64_t divisor);  // by a division at run time
  Coordinates input_positions(const Convolution& conv, const Coordinates& out, const Coordinates& k,
                              Guards& inside) const;
  Coordinates output_positions(const Convolution& conv, const Coordinates& in, const Coordinates& k, Guards& inside);

  ScalarId source(Source source, Dtype dtype);
  ScalarId coordinate(const IndexForm& at);
  IndexForm index(ValueId indices, const Coordinates& at, const Guards& guards, int64_t extent);
  ScalarId reduce(Reduction reduction);
  ScalarId combine_rows(Reduction reduction);
  const Shape& shape(ValueId id) const { return scope_.graph->shape(id); }
  Dtype dtype(ValueId id) const { return scope_.graph->dtype(id); }
  [[noreturn]] static void cannot(std::string reason) { throw Untraceable{std::move(reason)}; }

  const KernelScope& scope_;
  const LayoutOf& layouts_;
  const IterationAxes& axes_;
  LoopNest& nest_;
  std::vector<KernelBuffer>& buffers_;
  std::map<std::vector<int64_t>, ScalarId> known_;
};

}  // namespace stepc
