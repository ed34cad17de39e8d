#include "tools/driver/kernel_rows.h"

#include "codegen/launch_name.h"
#include "ir/cost/roofline.h"
#include "ir/support/error.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

namespace stepc {
namespace {

// "blocks.3.attn" → "blocks.*.attn": corresponding places of the layers.
std::string starred(const std::string& scope) {
  std::string result;
  for (size_t i = 0; i < scope.size();) {
    const size_t end = std::min(scope.find('.', i), scope.size());
    const std::string part = scope.substr(i, end - i);
    const bool number = !part.empty() && std::ranges::all_of(part, [](unsigned char c) { return std::isdigit(c); });
    result += number ? "*" : part;
    if (end < scope.size()) result += '.';
    i = end + 1;
  }
  return result;
}

}  // namespace

KernelRows::KernelRows(const Step& step, const std::vector<LaunchCode>& launches, int64_t accumulate_steps)
    : accumulate(accumulate_steps) {
  CHECK(launches.size() == step.plan->steps.size(), "{} launches for {} steps", launches.size(),
        step.plan->steps.size());
  std::map<std::tuple<std::string, Phase, std::string>, size_t> index;
  for (size_t i = 0; i < launches.size(); ++i) {
    const Kernel& kernel = *launches[i].kernel;
    const Origin& origin = step.graph.node(step.plan->steps[i].node).origin;
    const std::string& symbol = launches[i].symbol;
    const std::string scope = starred(origin.scope);
    const auto [entry, added] =
        index.try_emplace({symbol.empty() ? kernel.label : symbol, origin.phase, scope}, rows.size());
    if (added) {
      KernelRow row;
      row.name = layer_launch_name(i, kernel.label, origin);
      row.kind = kernel_kind_name(kernel.kind);
      row.scope = scope;
      row.phase = origin.phase;
      row.source = symbol;
      row.code = launches[i].code;
      rows.push_back(std::move(row));
    }
    KernelRow& row = rows[entry->second];
    for (const std::string& onnx : origin.onnx)
      if (std::ranges::find(row.onnx, onnx) == row.onnx.end()) row.onnx.push_back(onnx);
    const KernelTraffic traffic = traffic_on(step.graph, kernel, step.device);
    const Prediction prediction = predict(step.graph, kernel, step.device);
    row.count += runs(row) * launches[i].launches;
    row.flops += runs(row) * traffic.flops;
    row.read_bytes += runs(row) * traffic.read_bytes;
    row.write_bytes += runs(row) * traffic.write_bytes;
    row.ideal_bytes += runs(row) * traffic.ideal_bytes;
    row.predicted_us += static_cast<double>(runs(row)) * prediction.us;
    if (added) row.bound = prediction.bound;
    row_of_launch.push_back(entry->second);
  }
}

std::vector<KernelRow> KernelRows::measured(const std::vector<LaunchProfile>& profile) const {
  std::vector<KernelRow> result = rows;
  for (size_t i = 0; i < profile.size(); ++i) {
    if (profile[i].samples_us.empty()) continue;
    KernelRow& row = result[row_of_launch[i]];
    row.measured_us = row.measured_us.value_or(0) + static_cast<double>(runs(row)) * profile[i].median_us();
  }
  return result;
}

}  // namespace stepc
