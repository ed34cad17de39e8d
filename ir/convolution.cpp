#include "ir/convolution.h"

#include "ir/support/checked.h"

namespace stepc {

namespace {

Shape spatial(const Shape& shape) { return Shape(Dims(shape.begin() + 2, shape.end())); }

// Integers of an attribute, `count` of them, none below `lowest`.
const Dims& sizes(const Attrs& attrs, std::string_view key, size_t count, int64_t lowest) {
  const Dims& values = attrs.integers(key);
  if (values.size() != count) user_error("{} has {} values, expected {}", key, values.size(), count);
  for (const int64_t value : values)
    if (value < lowest) user_error("{} [{}]: values below {} are not supported", key, fmt::join(values, ","), lowest);
  return values;
}

int64_t output_size(const Convolution& conv, size_t axis) {
  const int64_t padded = checked_add(conv.input[axis], checked_add(conv.pad_low[axis], conv.pad_high[axis]));
  const int64_t reach = checked_add(checked_mul(conv.dilations[axis], conv.kernel[axis] - 1), 1);
  if (conv.kernel[axis] < 1 || padded < reach)
    user_error("a kernel of {} with dilation {} does not fit the padded input of {}", conv.kernel[axis],
               conv.dilations[axis], padded);
  return (padded - reach) / conv.strides[axis] + 1;
}

}  // namespace

Convolution bind_convolution(const Attrs& attrs, const Shape& x, const Shape& w) {
  if (x.rank() < 3 || w.rank() != x.rank())
    user_error("input {} and weight {}: [N,C,..] and [M,C/group,..] with equal ranks are needed", to_string(x),
               to_string(w));
  const size_t rank = x.rank() - 2;
  const int64_t groups = attrs.integer("group");
  if (groups < 1 || x[1] % groups != 0 || w[0] % groups != 0 || w[1] != x[1] / groups)
    user_error("input {} and weight {} do not fit {} group(s)", to_string(x), to_string(w), groups);
  const Dims& pads = sizes(attrs, "pads", 2 * rank, 0);
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank);
  Convolution conv{.batch = x[0],
                   .groups = groups,
                   .in_channels = w[1],
                   .out_channels = w[0] / groups,
                   .input = spatial(x),
                   .kernel = spatial(w),
                   .output = {},
                   .strides = sizes(attrs, "strides", rank, 1),
                   .dilations = sizes(attrs, "dilations", rank, 1),
                   .pad_low = Dims(pads.begin(), middle),
                   .pad_high = Dims(middle, pads.end())};
  Dims output;
  for (size_t i = 0; i < rank; ++i) output.push_back(output_size(conv, i));
  conv.output = Shape(std::move(output));
  return conv;
}

Shape Convolution::output_shape() const {
  Dims dims = {batch, groups * out_channels};
  dims.insert(dims.end(), output.begin(), output.end());
  return Shape(std::move(dims));
}

int64_t Convolution::multiply_adds() const {
  const int64_t channels = checked_mul(checked_mul(groups, out_channels), in_channels);
  return checked_mul(checked_mul(batch, channels), checked_mul(output.numel(), kernel.numel()));
}

int64_t Convolution::input_offset(const Dims& out, const Dims& k) const {
  int64_t offset = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t position = out[i] * strides[i] + k[i] * dilations[i] - pad_low[i];
    if (position < 0 || position >= input[i]) return -1;
    offset = offset * input[i] + position;
  }
  return offset;
}

}  // namespace stepc
