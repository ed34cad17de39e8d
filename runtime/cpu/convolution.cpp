#include "runtime/cpu/convolution.h"

#include "ir/support/error.h"

#include <dnnl.hpp>

#include <unordered_map>

namespace stepc {
namespace {

using Descriptor = dnnl::memory::desc;
using DnnlDims = dnnl::memory::dims;

Descriptor row_major(const Dims& dims) {
  return {DnnlDims(dims.begin(), dims.end()), dnnl::memory::data_type::f32, row_major_strides(Shape(dims))};
}

// oneDNN wants the group axis of a weight split off.
Descriptor weight_descriptor(const ConvolutionWork& work) {
  Dims dims = work.weight.dims();
  const int64_t groups = work.convolution.groups;
  if (groups == 1) return row_major(dims);
  dims[0] /= groups;
  dims.insert(dims.begin(), groups);
  return row_major(dims);
}

DnnlDims minus_one(Dims dims) {
  for (int64_t& dim : dims) --dim;  // oneDNN counts the elements between, so no dilation is 0
  return {dims.begin(), dims.end()};
}

DnnlDims plain(const Dims& dims) { return {dims.begin(), dims.end()}; }

struct Geometry {
  Descriptor input, weight, bias, output;
  DnnlDims strides, dilations, low, high;

  explicit Geometry(const ConvolutionWork& work)
      : input(row_major(work.input.dims())),
        weight(weight_descriptor(work)),
        bias(work.has_bias ? row_major({work.weight[0]}) : Descriptor()),
        output(row_major(work.output.dims())),
        strides(plain(work.convolution.strides)),
        dilations(minus_one(work.convolution.dilations)),
        low(plain(work.convolution.pad_low)),
        high(plain(work.convolution.pad_high)) {}
};

dnnl::engine& engine() {
  static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::convolution_forward::primitive_desc forward(const Geometry& g, dnnl::prop_kind kind) {
  return {{kind, kAlgorithm, g.input, g.weight, g.bias, g.output, g.strides, g.dilations, g.low, g.high},
          user_scratchpad(),
          engine()};
}

dnnl::convolution_backward_data::primitive_desc backward_input(const Geometry& g) {
  return {{kAlgorithm, g.input, g.weight, g.output, g.strides, g.dilations, g.low, g.high},
          user_scratchpad(),
          engine(),
          forward(g, dnnl::prop_kind::forward_training)};
}

dnnl::convolution_backward_weights::primitive_desc backward_weight(const Geometry& g) {
  return {{kAlgorithm, g.input, g.weight, g.output, g.strides, g.dilations, g.low, g.high},
          user_scratchpad(),
          engine(),
          forward(g, dnnl::prop_kind::forward_training)};
}

}  // namespace

struct ConvolutionLaunch::Primitive {
  dnnl::primitive primitive;
  Descriptor first, second, bias, result, scratch;
  int first_arg = DNNL_ARG_SRC, second_arg = DNNL_ARG_WEIGHTS, result_arg = DNNL_ARG_DST;
  bool has_bias = false;
};

ConvolutionLaunch::ConvolutionLaunch(const ConvolutionWork& work) : primitive_(std::make_unique<Primitive>()) {
  const Geometry g(work);
  Primitive& p = *primitive_;
  p.has_bias = work.has_bias;
  p.bias = g.bias;
  switch (work.kind) {
    case ConvolutionKind::forward: {
      const auto description = forward(g, dnnl::prop_kind::forward_training);
      p.primitive = dnnl::convolution_forward(description);
      p.scratch = description.scratchpad_desc();
      p.first = g.input, p.second = g.weight, p.result = g.output;
      break;
    }
    case ConvolutionKind::backward_input: {
      const auto description = backward_input(g);
      p.primitive = dnnl::convolution_backward_data(description);
      p.scratch = description.scratchpad_desc();
      p.first = g.output, p.second = g.weight, p.result = g.input;
      p.first_arg = DNNL_ARG_DIFF_DST, p.result_arg = DNNL_ARG_DIFF_SRC;
      break;
    }
    case ConvolutionKind::backward_weight: {
      const auto description = backward_weight(g);
      p.primitive = dnnl::convolution_backward_weights(description);
      p.scratch = description.scratchpad_desc();
      p.first = g.input, p.second = g.output, p.result = g.weight;
      p.second_arg = DNNL_ARG_DIFF_DST, p.result_arg = DNNL_ARG_DIFF_WEIGHTS;
      break;
    }
  }
}

ConvolutionLaunch::ConvolutionLaunch(ConvolutionLaunch&&) noexcept = default;
ConvolutionLaunch::~ConvolutionLaunch() = default;

int64_t ConvolutionLaunch::scratch_bytes() const { return static_cast<int64_t>(primitive_->scratch.get_size()); }

void ConvolutionLaunch::run(const void* first, const void* second, const void* bias, void* result,
                            void* scratch) const {
  const Primitive& p = *primitive_;
  const auto memory = [](const Descriptor& descriptor, const void* data) {
    return dnnl::memory(descriptor, engine(), const_cast<void*>(data));
  };
  std::unordered_map<int, dnnl::memory> arguments{{p.first_arg, memory(p.first, first)},
                                                  {p.second_arg, memory(p.second, second)},
                                                  {p.result_arg, memory(p.result, result)},
                                                  {DNNL_ARG_SCRATCHPAD, memory(p.scratch, scratch)}};
  if (p.has_bias) arguments.emplace(DNNL_ARG_BIAS, memory(p.bias, bias));
  dnnl::stream stream(engine());
  p.primitive.execute(stream, arguments);
  stream.wait();
}

}  // namespace stepc
