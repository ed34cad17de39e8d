#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepc {

// An edge that fusion must join or must not: globs over "op %value" of its two ends, as verdicts print them.
struct FusionOverride {
  bool force = false;  // else forbidden
  std::string producer, consumer;
  std::string where;  // "FILE:LINE:COLUMN", for errors
};

// One override per line, blank lines and those that begin with '#' aside:
//
//   force  contraction %*/q/* -> add %*/q/*
//   forbid add %h -> *
//
// Throws UserError with FILE:LINE:COLUMN.
std::vector<FusionOverride> parse_fusion_overrides(std::string_view text, std::string_view file);

}  // namespace stepc
