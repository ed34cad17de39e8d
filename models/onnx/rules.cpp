#include "models/onnx/rules.h"

#include "models/onnx/rule_lists.h"

#include <map>

namespace stepc::onnx_import {
namespace {

using RuleTable = std::map<std::string_view, LowerRule>;

RuleTable table_of(std::initializer_list<RuleList> lists) {
  RuleTable table;
  for (const RuleList list : lists)
    for (const NamedRule& rule : list) CHECK(table.emplace(rule.op_type, rule.lower).second, "{} twice", rule.op_type);
  return table;
}

}  // namespace

LowerRule find_rule(std::string_view domain, std::string_view op_type) {
  static const RuleTable standard = table_of({
      activation_rules(), arithmetic_rules(), attention_rules(), constant_rules(),  dropout_rules(),
      einsum_rules(),     indexing_rules(),   linear_rules(),    logic_rules(),     loss_rules(),
      movement_rules(),   norm_rules(),       pad_rules(),       reduction_rules(), rotary_rules(),
      scatter_rules(),    sequence_rules(),   shape_rules(),     softmax_rules(),
  });
  static const RuleTable training = table_of({training_rules()});
  static const RuleTable none;

  const RuleTable& table = domain.empty() ? standard : domain == "ai.onnx.preview.training" ? training : none;
  const auto found = table.find(op_type);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace stepc::onnx_import
