#pragma once

#include "ir/constant_store.h"
#include "ir/graph.h"

#include <string>
#include <string_view>

namespace stepc {

struct ParseOptions {
  std::string file = "<text>";                // for messages
  const ConstantSource* constants = nullptr;  // where constants named by hash come from
};

// Reads the text form of one graph (grammar in ir/README.md). The result obeys every rule of the verifier.
// Throws UserError "file:line:column: message" for whatever does not.
Graph parse(std::string_view text, const ParseOptions& options = {});

}  // namespace stepc
