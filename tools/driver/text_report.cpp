#include "tools/driver/text_report.h"

#include "passes/memory/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace stepc {
namespace {

std::string scaled(double value, double base, std::span<const char* const> units) {
  size_t unit = 0;
  while (std::abs(value) >= base && unit + 1 < units.size()) {
    value /= base;
    ++unit;
  }
  return unit == 0 && value == std::floor(value) ? fmt::format("{:.0f} {}", value, units[0])
                                                 : fmt::format("{:.2f} {}", value, units[unit]);
}

std::string optional_bytes(const std::optional<int64_t>& bytes) { return bytes ? format_bytes(*bytes) : "-"; }

std::string shortened(const std::string& text, size_t most) {
  return text.size() <= most ? text : "..." + text.substr(text.size() - (most - 3));
}

}  // namespace

std::string format_bytes(int64_t bytes) {
  static constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  return scaled(static_cast<double>(bytes), 1024, kUnits);
}

std::string format_us(double microseconds) {
  static constexpr std::array kUnits{"us", "ms", "s"};
  return scaled(microseconds, 1000, kUnits);
}

std::string format_count(double count) {
  static constexpr std::array kUnits{"", "K", "M", "G", "T", "P"};
  return scaled(count, 1000, kUnits);
}

std::string pass_table(const Step& step) {
  std::string out = fmt::format("{:<16} {:>8} {:>9} {:>7} {:>8} {:>11} {:>11} {:>6} {:>11} {:>11}\n", "pass", "changed",
                                "time", "nodes", "kernels", "FLOPs", "traffic", "saved", "saved new", "peak");
  for (const PassRow& row : step.passes) {
    out += fmt::format("{:<16} {:>8} {:>9} {:>7} {:>8} {:>11} {:>11} {:>6} {:>11} {:>11}\n", row.name,
                       row.changed ? "yes" : "no", format_us(static_cast<double>(row.wall_us)), row.nodes, row.kernels,
                       format_count(static_cast<double>(row.flops)), format_bytes(row.traffic_bytes),
                       row.saved_tensors ? std::to_string(*row.saved_tensors) : "-", optional_bytes(row.saved_bytes),
                       optional_bytes(row.planned_peak_bytes));
    for (const std::string& note : row.notes) out += fmt::format("  {}\n", note);
  }
  return out;
}

std::string memory_table(const Step& step) {
  if (!step.plan) return {};
  const Plan& plan = *step.plan;
  const PeakUse peak = peak_use(plan);
  std::string out = fmt::format(
      "planned peak {} = persistent {} + arena {} (lower bound {}, ratio {:.3f})\n", format_bytes(plan.peak_bytes()),
      format_bytes(plan.persistent_bytes), format_bytes(plan.arena_bytes), format_bytes(plan.max_live_lower_bound),
      static_cast<double>(plan.arena_bytes) / static_cast<double>(std::max<int64_t>(plan.max_live_lower_bound, 1)));
  if (!plan.steps.empty()) {
    const Node& node = step.graph.node(plan.steps[static_cast<size_t>(peak.step)].node);
    out += fmt::format("at the peak ({} of phase {}{}): ", op_name(node.op), phase_name(node.origin.phase),
                       node.origin.scope.empty() ? "" : ", " + node.origin.scope);
  }
  out += fmt::format("W {}, G {}, O {}, A {}, T {}, fragmentation {}\n", format_bytes(peak.use.weights),
                     format_bytes(peak.use.gradients), format_bytes(peak.use.optimizer),
                     format_bytes(peak.use.activations), format_bytes(peak.use.temporaries),
                     format_bytes(peak.fragmentation_bytes));
  return out;
}

std::string saved_table(const SavedListing& listing, size_t most_rows) {
  std::string out = fmt::format("{:>5} {:<14} {:<22} {:<8} {:>5} {:>11} {:>11}  {}\n", "save", "op", "shape", "dtype",
                                "block", "bytes", "new", "value");
  for (size_t i = 0; i < std::min(most_rows, listing.saved.size()); ++i) {
    const SavedTensor& s = listing.saved[i];
    out += fmt::format("{:>5} {:<14} {:<22} {:<8} {:>5} {:>11} {:>11}  {}\n", i + 1, s.op, to_string(s.type.shape),
                       dtype_onnx_name(s.type.dtype), s.block, format_bytes(s.type.bytes()),
                       s.reference ? "-" : format_bytes(s.new_bytes), s.input.empty() ? s.name : "input " + s.input);
  }
  if (listing.saved.size() > most_rows) out += fmt::format("  ... {} more\n", listing.saved.size() - most_rows);
  out += fmt::format("{} saved, {} new; loads: {}\n", listing.saved.size(), format_bytes(listing.new_bytes()),
                     listing.loads.size() <= 40 ? fmt::format("{}", fmt::join(listing.loads, " "))
                                                : std::to_string(listing.loads.size()));
  return out;
}

std::string kernel_table(const std::vector<KernelRow>& kernels, size_t most_rows) {
  std::vector<const KernelRow*> rows;
  double total_us = 0;
  for (const KernelRow& row : kernels) {
    rows.push_back(&row);
    total_us += row.measured_us.value_or(0);
  }
  std::ranges::stable_sort(rows, std::greater<>(), [](const KernelRow* row) { return row->measured_us.value_or(0); });
  std::string out = fmt::format("{:>6} {:>10} {:>6} {:>10} {:>10} {:>9} {:<16} {:<10} {}\n", "share", "time", "count",
                                "FLOPs", "bytes", "rate", "kind", "phase", "kernel");
  for (size_t i = 0; i < std::min(most_rows, rows.size()); ++i) {
    const KernelRow& k = *rows[i];
    const double us = k.measured_us.value_or(0);
    const double bytes = static_cast<double>(k.read_bytes + k.write_bytes);
    const bool contraction = k.kind == "contraction";
    const std::string rate = us <= 0       ? "-"
                             : contraction ? fmt::format("{:.0f} GF/s", static_cast<double>(k.flops) / us / 1e3)
                                           : fmt::format("{:.1f} GB/s", bytes / us / 1e3);
    out += fmt::format("{:>5.1f}% {:>10} {:>6} {:>10} {:>10} {:>9} {:<16} {:<10} {}\n",
                       total_us > 0 ? 100 * us / total_us : 0, k.measured_us ? format_us(us) : "-", k.count,
                       format_count(static_cast<double>(k.flops)), format_bytes(k.read_bytes + k.write_bytes), rate,
                       k.kind, phase_name(k.phase), k.name);
  }
  if (rows.size() > most_rows) out += fmt::format("  ... {} more kernels\n", rows.size() - most_rows);
  return out;
}

std::string parameter_table(const ImportedModel& import) {
  std::string out = fmt::format("{:<44} {:<20} {:<9} {:<8} {}\n", "parameter", "shape", "dtype", "trained", "why");
  for (const Initializer& i : import.initializers) {
    const std::string name = i.name == i.initializer ? i.name : fmt::format("{} ({})", i.name, i.initializer);
    const std::string why = i.tied_to.empty() ? i.reason : fmt::format("{}; tied to {}", i.reason, i.tied_to);
    out += fmt::format("{:<44} {:<20} {:<9} {:<8} {}\n", shortened(name, 44), to_string(i.type.shape),
                       dtype_onnx_name(i.type.dtype), i.trainable ? "yes" : "no", why);
  }
  return out;
}

}  // namespace stepc
