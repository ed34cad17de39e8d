#pragma once

#include "ir/builder.h"
#include "ir/op_def.h"

namespace stepc {

// An integers attribute with one entry per axis of `rank`. Throws UserError otherwise.
const Dims& per_axis(const InferArgs& args, std::string_view key, size_t rank);

// out[point] = in[offset + Σ point[i]·strides[i]]: what every view but reshape does.
void read_strided(RefTensor& out, const RefTensor& in, int64_t offset, const Dims& strides);

}  // namespace stepc
