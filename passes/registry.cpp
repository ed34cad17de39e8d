#include "passes/registry.h"

#include "ir/support/error.h"

#include <array>
#include <string>

namespace stepc {

#define PASS(name) extern const Pass pass_##name;
#include "passes/passes.def"
#undef PASS

std::span<const Pass* const> all_passes() {
  static constexpr std::array kPasses{
#define PASS(name) &pass_##name,
#include "passes/passes.def"
#undef PASS
  };
  return kPasses;
}

const Pass& find_pass(std::string_view name) {
  std::string known;
  for (const Pass* pass : all_passes()) {
    if (pass->name == name) return *pass;
    known += known.empty() ? "" : ", ";
    known += pass->name;
  }
  user_error("unknown pass '{}'; the passes are {}", name, known);
}

std::vector<const Pass*> parse_pipeline(std::string_view text) {
  std::vector<const Pass*> pipeline;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    pipeline.push_back(&find_pass(text.substr(0, comma)));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return pipeline;
}

}  // namespace stepc
