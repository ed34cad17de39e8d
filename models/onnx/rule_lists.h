#pragma once

#include "models/onnx/lowering.h"

#include <span>
#include <string_view>

namespace stepc::onnx_import {

struct NamedRule {
  std::string_view op_type;
  LowerRule lower;
};
using RuleList = std::span<const NamedRule>;

// The rules of domain "", one list per file lower_<topic>.cpp.
RuleList activation_rules();
RuleList arithmetic_rules();
RuleList attention_rules();
RuleList constant_rules();
RuleList dropout_rules();
RuleList einsum_rules();
RuleList indexing_rules();
RuleList linear_rules();
RuleList logic_rules();
RuleList loss_rules();
RuleList movement_rules();
RuleList norm_rules();
RuleList pad_rules();
RuleList reduction_rules();
RuleList rotary_rules();
RuleList scatter_rules();
RuleList sequence_rules();
RuleList shape_rules();
RuleList softmax_rules();

// The rules of domain "ai.onnx.preview.training".
RuleList training_rules();

}  // namespace stepc::onnx_import
