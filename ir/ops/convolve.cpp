#include "ir/ops/convolve.h"

#include "ir/support/error.h"

namespace stepc {

Attrs attrs_for(const Node& node, std::string_view result_shape, const Shape& shape) {
  Attrs attrs;
  for (const AttrSpec& spec : convolution_attrs())
    if (!spec.key.empty()) attrs.set(spec.key, *node.attrs.find(spec.key));
  if (!result_shape.empty()) attrs.set(result_shape, shape.dims());
  return attrs;
}

Dtype convolved_dtype(const InferArgs& args) {
  const Type &a = args.in(0), &b = args.in(1);
  if (!is_float(a.dtype) || a.dtype != b.dtype)
    user_error("operands {} and {} have no common float type", to_string(a), to_string(b));
  return a.dtype;
}

void check_result_gradient(const InferArgs& args, const Shape& x, const Shape& w, const Shape& dy) {
  const Shape y = bind_convolution(args.attrs, x, w).output_shape();
  if (dy != y) user_error("a gradient {} for a result {}", to_string(dy), to_string(y));
}

}  // namespace stepc
