#pragma once

#include "ir/graph.h"

namespace stepc {

// Level pointwise of `fuse`: merges pointwise nodes of one shape, and the reduction that ends such a chain, into nodes
// that one kernel carries.
//
//   %1: f32[4,8] = mul %x, %x                      %s: f32[4] = fused %x {
//   %s: f32[4] = reduce_sum %1 {axes=[1]}    ->      %1: f32[4,8] = mul %x, %x
//                                                    %s: f32[4] = reduce_sum %1 {axes=[1]}
//                                                    return %s
//                                                  }
//
// A producer joins its consumer where both are pointwise, have the same result shape and run in the same part of the
// step (forward and loss, backward and recompute, optimizer), and no path through a third kernel joins them too. A
// reduction joins the pointwise kernel whose only result it reads. Scalar constants and iota cost nothing: each kernel
// gets its own. Nothing is computed twice. Bodies hold pointwise nodes, sources and at most one reduction, which comes
// last. Returns whether the graph changed. Near-linear in it (see fusion/clusters.h).
bool fuse_pointwise(Graph& graph);

}  // namespace stepc
