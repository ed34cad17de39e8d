#include "passes/options.h"

#include "ir/support/error.h"
#include "ir/support/glob.h"

#include <array>
#include <charconv>
#include <span>
#include <utility>

namespace stepc {
namespace {

template <typename Kind>
using NamedKind = std::pair<std::string_view, Kind>;

constexpr std::array<NamedKind<LossKind>, 7> kLossKinds{{
    {"automatic", LossKind::automatic},
    {"cross-entropy", LossKind::cross_entropy},
    {"mse", LossKind::mse},
    {"mean", LossKind::mean},
    {"sum", LossKind::sum},
    {"mean-square", LossKind::mean_square},
    {"output", LossKind::output},
}};

constexpr std::array<NamedKind<OptimizerKind>, 4> kOptimizerKinds{{
    {"none", OptimizerKind::none},
    {"sgd", OptimizerKind::sgd},
    {"adam", OptimizerKind::adam},
    {"adamw", OptimizerKind::adamw},
}};

constexpr std::array<NamedKind<FuseLevel>, 3> kFuseLevels{{
    {"off", FuseLevel::off},
    {"pointwise", FuseLevel::pointwise},
    {"full", FuseLevel::full},
}};

template <typename Kind, size_t N>
Kind parse_kind(const std::array<NamedKind<Kind>, N>& kinds, std::string_view what, std::string_view text) {
  std::string known;
  for (const auto& [name, kind] : kinds) {
    if (name == text) return kind;
    known += known.empty() ? "" : ", ";
    known += name;
  }
  user_error("unknown {} '{}'; the choices are {}", what, text, known);
}

template <typename Kind, size_t N>
std::string_view kind_name(const std::array<NamedKind<Kind>, N>& kinds, Kind kind) {
  for (const auto& [name, value] : kinds)
    if (value == kind) return name;
  CHECK(false, "kind {}", static_cast<int>(kind));
  return {};
}

double parse_number(std::string_view key, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    user_error("optimizer: '{}' is not a number for {}", text, key);
  return value;
}

// The keys that each optimizer reads, and what may be written there.
struct OptimizerKey {
  std::string_view name;
  double OptimizerOptions::*field;
  std::array<bool, 4> read_by;  // by OptimizerKind
  double low, high;             // inclusive, exclusive
};
constexpr double kAny = 1e300;
constexpr std::array<OptimizerKey, 6> kOptimizerKeys{{
    {"lr", &OptimizerOptions::lr, {false, true, true, true}, 0, kAny},
    {"beta1", &OptimizerOptions::beta1, {false, false, true, true}, 0, 1},
    {"beta2", &OptimizerOptions::beta2, {false, false, true, true}, 0, 1},
    {"eps", &OptimizerOptions::eps, {false, false, true, true}, 0, kAny},
    {"weight_decay", &OptimizerOptions::weight_decay, {false, true, true, true}, 0, kAny},
    {"momentum", &OptimizerOptions::momentum, {false, true, false, false}, 0, kAny},
}};

void set_optimizer_key(OptimizerOptions& options, std::string_view setting) {
  const size_t equals = setting.find('=');
  const std::string_view name = setting.substr(0, equals);
  std::string known;
  for (const OptimizerKey& key : kOptimizerKeys) {
    if (!key.read_by[static_cast<size_t>(options.kind)]) continue;
    known += known.empty() ? "" : ", ";
    known += key.name;
    if (key.name != name) continue;
    if (equals == std::string_view::npos) user_error("optimizer: '{}' needs a value, as in {}=0.1", name, name);
    const double value = parse_number(name, setting.substr(equals + 1));
    if (!(value >= key.low && value < key.high))
      user_error("optimizer: {}={} is out of range; it must be at least {}{}", name, value, key.low,
                 key.high == kAny ? std::string(" and finite") : fmt::format(" and below {}", key.high));
    options.*key.field = value;
    return;
  }
  user_error("optimizer {} has no key '{}'; its keys are {}", optimizer_kind_name(options.kind), name,
             known.empty() ? "none" : known);
}

}  // namespace

LossKind parse_loss_kind(std::string_view text) { return parse_kind(kLossKinds, "loss", text); }
std::string_view loss_kind_name(LossKind kind) { return kind_name(kLossKinds, kind); }
std::string_view optimizer_kind_name(OptimizerKind kind) { return kind_name(kOptimizerKinds, kind); }
FuseLevel parse_fuse_level(std::string_view text) { return parse_kind(kFuseLevels, "fusion level", text); }
std::string_view fuse_level_name(FuseLevel level) { return kind_name(kFuseLevels, level); }

OptimizerOptions parse_optimizer(std::string_view text) {
  const size_t colon = text.find(':');
  OptimizerOptions options;
  options.kind = parse_kind(kOptimizerKinds, "optimizer", text.substr(0, colon));
  if (options.kind != OptimizerKind::adamw) options.weight_decay = 0;
  std::string_view settings = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  while (!settings.empty()) {
    const size_t comma = settings.find(',');
    set_optimizer_key(options, settings.substr(0, comma));
    settings = comma == std::string_view::npos ? std::string_view{} : settings.substr(comma + 1);
  }
  return options;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  while (true) {
    const size_t comma = pattern.find(',');
    if (glob_matches(pattern.substr(0, comma), text)) return true;
    if (comma == std::string_view::npos) return false;
    pattern = pattern.substr(comma + 1);
  }
}

}  // namespace stepc
