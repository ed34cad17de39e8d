#pragma once

#include "ir/kernel.h"

#include <cstdint>
#include <memory>

namespace stepc {

// A convolution or one of its gradients as a oneDNN primitive over row-major tensors, made once.
class ConvolutionLaunch {
 public:
  explicit ConvolutionLaunch(const ConvolutionWork& work);
  ConvolutionLaunch(ConvolutionLaunch&&) noexcept;
  ~ConvolutionLaunch();

  int64_t scratch_bytes() const;
  // `first`, `second`, `bias`: the node's operands (bias may be null).
  void run(const void* first, const void* second, const void* bias, void* result, void* scratch) const;

 private:
  struct Primitive;
  std::unique_ptr<Primitive> primitive_;
};

}  // namespace stepc
