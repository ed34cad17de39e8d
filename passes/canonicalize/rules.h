#pragma once

#include "ir/graph.h"

namespace stepc {

// A rule looks at one node and rewrites it, or answers false and leaves the graph alone. Every rule keeps every bit of
// every result. That rules out what fails on NaN (x*0 → 0, x-x → 0), on infinities (x/x → 1) and on the sign of zero
// (x+0 → x turns -0 into -0 where the sum is +0; only x+(-0) and x-(+0) are identities of floats). The one liberty: the
// sum over a single element is that element, where 0 + (-0) would be +0.
using CanonicalRule = bool (*)(Graph& graph, NodeId id);

// views.cpp
bool drop_identity(Graph& graph, NodeId id);          // views, casts, concat, pad and reductions that change nothing
bool merge_views(Graph& graph, NodeId id);            // reshape of reshape, transpose of transpose, expand, slice
bool merge_casts(Graph& graph, NodeId id);            // where the inner cast loses nothing
bool reshape_for_transpose(Graph& graph, NodeId id);  // a transpose that moves axes of size 1 only
bool reshape_for_reduction(Graph& graph, NodeId id);  // a reduction over axes of size 1 only

// arithmetic.cpp
bool drop_expansion(Graph& graph, NodeId id);          // of a pointwise operand: pointwise operations broadcast
bool constant_to_right(Graph& graph, NodeId id);       // c+x → x+c
bool drop_neutral(Graph& graph, NodeId id);            // x*1, x/1, x+(-0), x-0, x^1, x && true, x || false
bool drop_involution(Graph& graph, NodeId id);         // neg of neg, not of not
bool multiply_for_division(Graph& graph, NodeId id);   // x / 2^k → x * 2^-k
bool multiply_for_square(Graph& graph, NodeId id);     // x^2 → x*x
bool choose_constant_select(Graph& graph, NodeId id);  // select with a constant condition or equal branches

// contraction.cpp
bool absorb_operand_transpose(Graph& graph, NodeId id);  // into the labels of a contraction
bool absorb_result_transpose(Graph& graph, NodeId id);   // of a contraction that only this transpose reads

}  // namespace stepc
