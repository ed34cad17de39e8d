#pragma once

#include <string>
#include <string_view>

namespace stepc {

// Which remat policy, as --remat says it: "none", "block:2", "names:h.*,out".
struct RematOptions {
  std::string policy{};    // empty: none
  std::string argument{};  // what follows the colon
  // As it is written.
  std::string text() const;
};

// Throws UserError naming the policies, or where `text` has an argument that the policy does not take.
RematOptions parse_remat(std::string_view text);
// How the policies besides none are written: "min-cut, block[:E], ...".
std::string remat_usages();

}  // namespace stepc
