#include "passes/options.h"

#include "ir/support/error.h"
#include "ir/support/glob.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
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

constexpr std::array<NamedKind<Precision>, 4> kPrecisions{{
    {"fp32", Precision::fp32},
    {"bf16", Precision::bf16},
    {"fp16", Precision::fp16},
    {"tf32", Precision::tf32},
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

// A setting KEY=X and what may be written there. `what` leads messages.
template <typename Options>
struct NumberKey {
  std::string_view name;
  double Options::*field;
  double low, high;  // inclusive, exclusive
};
constexpr double kAny = 1e300;

template <typename Options>
void set_number(std::string_view what, const NumberKey<Options>& key, std::string_view setting, Options& options) {
  const size_t equals = setting.find('=');
  if (equals == std::string_view::npos) user_error("{}: '{}' needs a value, as in {}=0.1", what, key.name, key.name);
  const std::string_view text = setting.substr(equals + 1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    user_error("{}: '{}' is not a number for {}", what, text, key.name);
  if (!(value >= key.low && value < key.high))
    user_error("{}: {}={} is out of range; it must be at least {}{}", what, key.name, value, key.low,
               key.high == kAny ? std::string(" and finite") : fmt::format(" and below {}", key.high));
  options.*key.field = value;
}

// The keys that each optimizer reads.
struct OptimizerKey : NumberKey<OptimizerOptions> {
  std::array<bool, 4> read_by;  // by OptimizerKind
};
constexpr std::array<OptimizerKey, 6> kOptimizerKeys{{
    {{"lr", &OptimizerOptions::lr, 0, kAny}, {false, true, true, true}},
    {{"beta1", &OptimizerOptions::beta1, 0, 1}, {false, false, true, true}},
    {{"beta2", &OptimizerOptions::beta2, 0, 1}, {false, false, true, true}},
    {{"eps", &OptimizerOptions::eps, 0, kAny}, {false, false, true, true}},
    {{"weight_decay", &OptimizerOptions::weight_decay, 0, kAny}, {false, true, true, true}},
    {{"momentum", &OptimizerOptions::momentum, 0, kAny}, {false, true, false, false}},
}};

// Of settings KEY=X,KEY=X.
template <typename Visit>
void for_each_setting(std::string_view settings, Visit visit) {
  while (!settings.empty()) {
    const size_t comma = settings.find(',');
    visit(settings.substr(0, comma));
    settings = comma == std::string_view::npos ? std::string_view{} : settings.substr(comma + 1);
  }
}

void set_optimizer_key(OptimizerOptions& options, std::string_view setting) {
  const std::string_view name = setting.substr(0, setting.find('='));
  std::string known;
  for (const OptimizerKey& key : kOptimizerKeys) {
    if (!key.read_by[static_cast<size_t>(options.kind)]) continue;
    known += known.empty() ? "" : ", ";
    known += key.name;
    if (key.name != name) continue;
    set_number<OptimizerOptions>("optimizer", key, setting, options);
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
  if (colon != std::string_view::npos)
    for_each_setting(text.substr(colon + 1), [&](std::string_view setting) { set_optimizer_key(options, setting); });
  return options;
}

Precision parse_precision(std::string_view text) { return parse_kind(kPrecisions, "precision", text); }
std::string_view precision_name(Precision precision) { return kind_name(kPrecisions, precision); }

std::optional<Dtype> low_dtype(Precision precision) {
  if (precision == Precision::bf16) return Dtype::bf16;
  if (precision == Precision::fp16) return Dtype::f16;
  return std::nullopt;
}

LossScaleOptions parse_loss_scale(std::string_view text) {
  struct Values {
    double init, growth, backoff, interval;
  };
  constexpr std::array<NumberKey<Values>, 4> kKeys{{
      {"init", &Values::init, 0x1p-126, 0x1p127},
      {"growth", &Values::growth, 1, kAny},
      {"backoff", &Values::backoff, 0x1p-126, 1.0000001},
      {"interval", &Values::interval, 1, 0x1p53},
  }};
  const LossScaleOptions standard;
  Values values{standard.init, standard.growth, standard.backoff, static_cast<double>(standard.interval)};
  for_each_setting(text, [&](std::string_view setting) {
    const auto key = std::ranges::find(kKeys, setting.substr(0, setting.find('=')), &NumberKey<Values>::name);
    if (key == kKeys.end())
      user_error("loss scale: no key '{}'; its keys are init, growth, backoff, interval", setting);
    set_number("loss scale", *key, setting, values);
  });
  if (values.interval != std::floor(values.interval))
    user_error("loss scale: interval={} is no whole number", values.interval);
  return {values.init, values.growth, values.backoff, static_cast<int64_t>(values.interval)};
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
