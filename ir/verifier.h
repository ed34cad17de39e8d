#pragma once

#include "ir/graph.h"
#include "ir/support/error.h"

#include <string>

namespace stepc {

// A pass broke a rule of the IR.
class VerifyError : public InternalError {
 public:
  VerifyError(std::string rule, NodeId node, const std::string& message)
      : InternalError(message), rule_(std::move(rule)), node_(node) {}
  const std::string& rule() const { return rule_; }
  NodeId node() const { return node_; }  // kNoNode where the rule is about inputs, outputs or states

 private:
  std::string rule_;
  NodeId node_;
};

// Checks every rule that holds after each pass, bodies included; they are listed in verifier.cpp. Throws VerifyError.
void verify(const Graph& graph);

// Also checks what holds once the order is the order of execution: nothing reads a state after it was written.
void verify_scheduled(const Graph& graph);

}  // namespace stepc
