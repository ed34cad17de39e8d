#include "tools/driver/device_spec.h"

#include "ir/support/error.h"
#include "ir/support/quote.h"
#include "tools/driver/io/files.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <vector>

namespace stepc {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "stepc-device/1";
constexpr size_t kLargestFile = 1 << 16;
constexpr double kUsPerSecond = 1e6;

// A number of the file and where it goes. Rates are per second there and per µs here.
template <typename T>
struct Key {
  const char* name;
  T DeviceSpec::*field;
  double scale;
  double least, most;
  bool required;
};

constexpr double kFastest = 1e24;  // of anything, per second
constexpr std::array<Key<double>, 4> kRates{{
    {"bytes_per_s", &DeviceSpec::bytes_per_us, kUsPerSecond, 1, kFastest, true},
    {"flops_per_s", &DeviceSpec::flops_per_us, kUsPerSecond, 1, kFastest, true},
    {"launch_us", &DeviceSpec::launch_us, 1, 0, 1e9, true},
    {"contraction_fraction", &DeviceSpec::contraction_fraction, 1, 1e-6, 1, false},
}};
constexpr std::array<Key<int64_t>, 4> kSizes{{
    {"memory_bytes", &DeviceSpec::memory_bytes, 1, 0, 1e18, false},
    {"last_level_bytes", &DeviceSpec::last_level_bytes, 1, 0, 1e18, false},
    {"reuse_bytes", &DeviceSpec::reuse_bytes, 1, 0, 1e18, false},
    {"processors", &DeviceSpec::processors, 1, 1, 1e9, false},
}};

struct PeakKey {
  const char* name;
  double ContractionPeaks::*field;
};
constexpr std::array<PeakKey, 5> kPeaks{{
    {"float64", &ContractionPeaks::f64},
    {"float32", &ContractionPeaks::f32},
    {"tf32", &ContractionPeaks::tf32},
    {"float16", &ContractionPeaks::f16},
    {"bfloat16", &ContractionPeaks::bf16},
}};

// The members of an object of the file, each taken once; `finish` refuses what nobody took.
class Members {
 public:
  Members(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) user_error("{}: expected an object", where_);
  }

  const Json* take(const char* name) {
    known_.emplace_back(name);
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }

  std::string text(const char* name) {
    const Json* value = take(name);
    if (value == nullptr) return {};
    if (!value->is_string()) user_error("{}: '{}' must be text", where_, name);
    return value->get<std::string>();
  }

  std::optional<double> number(const char* name, double least, double most) {
    const Json* value = take(name);
    if (value == nullptr) return std::nullopt;
    const double number = value->is_number() ? value->get<double>() : NAN;
    if (!(number >= least && number <= most))
      user_error("{}: '{}' must be a number from {} to {}", where_, name, least, most);
    return number;
  }

  template <typename T>
  void read(DeviceSpec& spec, const Key<T>& key) {
    const std::optional<double> value = number(key.name, key.least, key.most);
    if (value)
      spec.*key.field = static_cast<T>(*value / key.scale);
    else if (key.required)
      user_error("{}: '{}' is missing", where_, key.name);
  }

  void finish() const {
    for (const auto& [name, value] : object_.items())
      if (std::ranges::find(known_, name) == known_.end())
        user_error("{}: unknown key {}; the keys are {}", where_, in_quotes(name), fmt::join(known_, ", "));
  }

 private:
  const Json& object_;
  const std::string where_;
  std::vector<std::string> known_;
};

}  // namespace

DeviceSpec parse_device_spec(std::string_view text, const std::string& file) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) user_error("{}: not JSON", file);
  Members members(document, file);
  const std::string schema = members.text("schema");
  if (schema != kSchema) user_error("{}: 'schema' must be \"{}\"", file, kSchema);
  DeviceSpec spec;
  spec.name = members.text("name");
  if (spec.name.empty()) user_error("{}: 'name' is missing", file);
  spec.source = members.text("source");
  spec.processors = 1;
  spec.contraction_fraction = 1;
  for (const auto& key : kRates) members.read(spec, key);
  for (const auto& key : kSizes) members.read(spec, key);
  if (const Json* peaks = members.take("contraction_flops_per_s")) {
    Members dtypes(*peaks, file + ": contraction_flops_per_s");
    for (const PeakKey& key : kPeaks)
      spec.contraction.*key.field = dtypes.number(key.name, 1, kFastest).value_or(0) / kUsPerSecond;
    dtypes.finish();
  }
  members.finish();
  return spec;
}

std::string device_spec_text(const DeviceSpec& spec) {
  Json document{{"schema", kSchema}, {"name", spec.name}, {"source", spec.source}};
  for (const auto& key : kRates) document[key.name] = spec.*key.field * key.scale;
  for (const auto& key : kSizes) document[key.name] = spec.*key.field;
  Json& peaks = document["contraction_flops_per_s"] = Json::object();
  for (const PeakKey& key : kPeaks)
    if (const double peak = spec.contraction.*key.field; peak > 0) peaks[key.name] = peak * kUsPerSecond;
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

DeviceSpec load_device_spec(const std::string& name_or_file) {
  if (const DeviceSpec* spec = find_device_spec(name_or_file)) return *spec;
  std::error_code error;
  if (!std::filesystem::exists(name_or_file, error)) {
    std::vector<std::string> names;
    for (const DeviceSpec& spec : device_specs()) names.push_back(spec.name);
    user_error("--device-spec {}: no such file, and none of the built-in devices {}", in_quotes(name_or_file),
               fmt::join(names, ", "));
  }
  return parse_device_spec(read_text_file(name_or_file, kLargestFile), name_or_file);
}

}  // namespace stepc
