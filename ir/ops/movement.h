#pragma once

#include "ir/op_def.h"

#include <functional>

// Rules that indexed reads and writes share.
namespace stepc {

// The attribute `axis`, in [0, rank). Throws UserError otherwise.
size_t axis_of(const InferArgs& args, size_t rank);
void require_indices(const Type& indices);  // i32 or i64

// Maps an index in [-size, size) to [0, size). Throws UserError when it is out of range.
int64_t resolve_index(int64_t index, int64_t size, size_t axis);

// A slice at `axis` per index: data.shape[:axis] + indices.shape + data.shape[axis+1:].
Shape gather_shape(const Shape& data, const Shape& indices, size_t axis);

// For every element of `indices`, in order: f(k, offset) with k its linear index and `offset` the linear index in
// `data` of the element at the same coordinates, but with the index's value on `axis`.
void for_each_indexed_element(const Shape& data, const RefTensor& indices, size_t axis,
                              const std::function<void(int64_t, int64_t)>& f);
// The shape rule that goes with it. Throws UserError.
void check_element_indices(const Type& data, const Type& indices, size_t axis);

// For every index tuple (the last axis of `indices`), in order: f(k, offset) with k the tuple's linear index and
// `offset` the linear index in `data` where the slice data[batch..., tuple...] begins. The first `batch_dims` axes run
// together.
void for_each_indexed_slice(const Shape& data, const RefTensor& indices, size_t batch_dims,
                            const std::function<void(int64_t, int64_t)>& f);
// indices.shape[:-1] + data.shape[batch_dims + tuple length:]. Throws UserError.
Shape indexed_slices_shape(const Type& data, const Type& indices, size_t batch_dims);

// What a scatter does with an element that was there: none overwrites it (the last of several wins).
using Combine = std::function<void(RefTensor& out, int64_t index, const RefTensor& updates, int64_t update)>;
Combine combine_of(const std::string& reduction, Dtype dtype);
// The attribute `reduction`: none, add, mul, max or min, which numbers have. Throws UserError otherwise.
void check_reduction(const InferArgs& args);

// Bytes of reading selected elements: never more of the data than there is, nor than is taken.
Cost gather_bytes(const Graph& graph, const Node& node);
// One operation per update, unless it only overwrites.
int64_t scatter_flops(const Graph& graph, const Node& node);

}  // namespace stepc
