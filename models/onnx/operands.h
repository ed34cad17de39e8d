#pragma once

#include "models/onnx/lowering.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// What many rules read alike: operands that older versions gave as attributes, axes in their spellings, sizes.
namespace stepc::onnx_import {

// Integers that attribute `key` gives before version `since` and operand `operand` from then on; nullopt when absent.
std::optional<std::vector<int64_t>> integers_since(const Lowering& l, const OnnxNode& n, int64_t since,
                                                   std::string_view key, size_t operand);

// Maps each axis into [0, rank) and sorts them. UserError when one is out of range or given twice.
std::vector<int64_t> normalize_axes(std::vector<int64_t> axes, size_t rank);

std::vector<int64_t> all_axes(size_t rank);

// The product of the dims [first, last).
int64_t numel_between(const Shape& shape, size_t first, size_t last);

// Consecutive parts of `x` along `axis`. UserError unless the sizes add up to its dim.
std::vector<ValueId> split_along(Builder& b, ValueId x, size_t axis, const std::vector<int64_t>& sizes);

// A rank-1 `v` of C elements made to broadcast along `axis` of tensors of rank `rank`: (C) → (C, 1, ..., 1).
ValueId along_axis(Builder& b, ValueId v, size_t axis, size_t rank);

// Throws UserError: attribute `key` has a value that is not supported.
[[noreturn]] void refuse_attribute(std::string_view key, std::string_view value, std::string_view supported);

}  // namespace stepc::onnx_import
