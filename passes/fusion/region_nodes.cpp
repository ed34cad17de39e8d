#include "passes/fusion/region_nodes.h"

#include "ir/op_def.h"

namespace stepc {

bool may_join(const Node& node) {
  switch (op_def(node.op).kind) {
    case OpKind::pointwise:
    case OpKind::view:
    case OpKind::reduction: return node.op != Op::cumsum && node.op != Op::top_k;
    case OpKind::source: return node.op == Op::random;
    case OpKind::movement:
      return node.op == Op::concat || node.op == Op::pad || node.op == Op::gather || node.op == Op::gather_elements ||
             node.op == Op::gather_nd;
    default: return false;
  }
}

bool is_cheap(const Node& node) {
  const OpKind kind = op_def(node.op).kind;
  return kind == OpKind::pointwise || kind == OpKind::view || node.op == Op::concat || node.op == Op::pad;
}

}  // namespace stepc
