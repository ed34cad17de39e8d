#include "ir/builder.h"
#include "ir/einsum.h"
#include "ir/op_def.h"
#include "ir/ops/index_space.h"
#include "ir/support/checked.h"

namespace stepc {

namespace {

// contraction(a, b): result[r] = Σ a[..]·b[..] over the labels of `spec` missing in the result (ir/einsum.h).
// Products are summed in `accumulate`, or in the operands' dtype where that is wider or an integer, and rounded once.
// `tf32` lets a kernel round f32 operands to TF32 (8 bits of exponent, 10 of mantissa); evaluation does not.

Einsum bound_spec(const Graph& graph, const Node& node) {
  return bind_einsum(parse_einsum(node.attrs.text("spec")), graph.shape(node.inputs[0]), graph.shape(node.inputs[1]));
}

std::vector<Type> infer(const InferArgs& args) {
  if (args.in(0).dtype != args.in(1).dtype || args.in(0).dtype == Dtype::boolean)
    user_error("operands {} and {} have no common number type", to_string(args.in(0)), to_string(args.in(1)));
  const Dtype accumulate = args.attrs.dtype("accumulate");
  if (accumulate != Dtype::f32 && accumulate != Dtype::f64)
    user_error("cannot accumulate in {}; use f32 or f64", dtype_name(accumulate));
  if (args.attrs.has("tf32") && args.in(0).dtype != Dtype::f32)
    user_error("tf32 is for operands in f32, not {}", dtype_name(args.in(0).dtype));
  const Einsum einsum = bind_einsum(parse_einsum(args.attrs.text("spec")), args.in(0).shape, args.in(1).shape);
  return {{args.in(0).dtype, einsum.result_shape()}};
}

// The gradient of the operand with labels `own`: contraction(left, right, "..->own"), where labels that only `own` has
// do not come out of it: every element along them has the same gradient, so they are expanded.
ValueId operand_gradient(VjpArgs& args, ValueId left, ValueId right, const std::string& left_labels,
                         const std::string& right_labels, const std::string& own, const Shape& shape) {
  std::string kept;
  Dims unexpanded;
  for (size_t i = 0; i < own.size(); ++i) {
    const bool present =
        left_labels.find(own[i]) != std::string::npos || right_labels.find(own[i]) != std::string::npos;
    if (present) kept += own[i];
    unexpanded.push_back(present ? shape[i] : 1);
  }
  const std::string spec = to_string(EinsumSpec{left_labels, right_labels, kept});
  const ValueId gradient = args.b.make(Op::contraction, {left, right}, with_spec(args.node().attrs, spec));
  return args.b.expand(args.b.reshape(gradient, Shape(unexpanded)), shape);
}

// y = Σ a·b  ⇒  da = Σ dy·b over the labels of y and b that a lacks; db likewise.
void vjp(VjpArgs& args) {
  const EinsumSpec spec = parse_einsum(args.node().attrs.text("spec"));
  const ValueId dy = args.grad();
  const Graph& graph = args.graph();
  if (args.needs(0))
    args.set(0, operand_gradient(args, dy, args.in(1), spec.result, spec.b, spec.a, graph.shape(args.in(0))));
  if (args.needs(1))
    args.set(1, operand_gradient(args, args.in(0), dy, spec.a, spec.result, spec.b, graph.shape(args.in(1))));
}

int64_t flops(const Graph& graph, const Node& node) { return checked_mul(2, bound_spec(graph, node).volume()); }

// Strides of one operand over the labels of the loop nest, 0 where it lacks the label.
Dims label_strides(const std::vector<EinsumLabel>& labels, int EinsumLabel::*axis, const Shape& shape) {
  const Dims own = row_major_strides(shape);
  Dims strides;
  for (const EinsumLabel& label : labels)
    strides.push_back(label.*axis < 0 ? 0 : own[static_cast<size_t>(label.*axis)]);
  return strides;
}

// Integers wrap around, as they do on machines.
double multiply_add(double a, double b, double sum) { return sum + a * b; }
int64_t multiply_add(int64_t a, int64_t b, int64_t sum) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b) + static_cast<uint64_t>(sum));
}

template <typename T>
void contract(const std::vector<T>& a, const std::vector<T>& b, std::vector<T>& result, const Dims& dims,
              const std::array<Dims, 3>& strides) {
  for_each_offset<3>(dims, strides, [&](const std::array<int64_t, 3>& at) {
    T& sum = result[static_cast<size_t>(at[2])];
    sum = multiply_add(a[static_cast<size_t>(at[0])], b[static_cast<size_t>(at[1])], sum);
  });
}

void eval(const EvalArgs& args) {
  const RefTensor &a = args.in(0), &b = args.in(1);
  const Einsum einsum = bind_einsum(parse_einsum(args.node.attrs.text("spec")), a.type.shape, b.type.shape);
  RefTensor& result = args.outputs[0];
  Dims dims;
  for (const EinsumLabel& label : einsum.labels) dims.push_back(label.size);
  const std::array<Dims, 3> strides = {label_strides(einsum.labels, &EinsumLabel::a_axis, a.type.shape),
                                       label_strides(einsum.labels, &EinsumLabel::b_axis, b.type.shape),
                                       label_strides(einsum.labels, &EinsumLabel::result_axis, result.type.shape)};
  if (result.is_real())
    contract(a.real, b.real, result.real, dims, strides);
  else
    contract(a.integer, b.integer, result.integer, dims, strides);
}

}  // namespace

constinit const OpDef op_contraction = {
    .name = "contraction",
    .kind = OpKind::contraction,
    .min_inputs = 2,
    .max_inputs = 2,
    .attrs = {{{"spec", AttrKind::text},
               {"accumulate", AttrKind::dtype, false, static_cast<double>(Dtype::f32)},
               {.key = "tf32", .kind = AttrKind::boolean, .required = false, .filled_in = false}}},
    .infer = infer,
    .vjp = vjp,
    .flops = flops,
    .eval = eval,
};

}  // namespace stepc
