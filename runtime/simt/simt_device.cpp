#include "runtime/simt/simt_device.h"

#include "ir/support/error.h"
#include "runtime/simt/limits.h"

#include <exception>
#include <utility>

namespace stepc {

using simt::Finding;
using simt::FindingKind;

SimtDevice::SimtDevice(SimtOptions options) : options_(std::move(options)), pool_(options_.threads) {}

void SimtDevice::load(const std::vector<std::string>& texts, std::span<const std::string> symbols) {
  modules_.push_back(std::make_unique<simt::Module>(texts, symbols, options_.compile));
}

int SimtDevice::cache_hits() const {
  int hits = 0;
  for (const auto& module : modules_) hits += module->cache_hits();
  return hits;
}

const simt::Entry& SimtDevice::find(const std::string& symbol) const {
  for (const auto& module : modules_)
    if (const simt::Entry* const entry = module->find(symbol)) return *entry;
  CHECK(false, "no kernel {}", symbol);
  std::terminate();
}

void SimtDevice::check_limits(const Stage& stage) const {
  std::string text = simt::exceeded_limit(options_.architecture, stage.grid, stage.threads, stage.shared_bytes);
  if (text.empty()) return;
  Finding finding{.kind = FindingKind::launch_limit, .kernel = stage.symbol, .text = std::move(text)};
  throw simt::FindingsError({std::move(finding)});
}

std::unique_ptr<simt::Processor> SimtDevice::take_processor() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<simt::Processor>();
  auto processor = std::move(idle_.back());
  idle_.pop_back();
  return processor;
}

std::vector<Finding> SimtDevice::run_blocks(const simt::Work& work) {
  simt::FindingList findings;
  std::exception_ptr error;
  pool_.run(work.grid, 1, [&](int64_t begin, int64_t end) {
    try {
      std::unique_ptr<simt::Processor> processor = take_processor();
      processor->begin(work);
      for (int64_t i = begin; i < end; ++i)
        processor->run(work.order == simt::Order::descending ? work.grid - 1 - i : i);
      const std::lock_guard lock(mutex_);
      findings.merge(processor->findings());
      idle_.push_back(std::move(processor));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
  return findings.in_order();
}

void SimtDevice::launch(const Stage& stage, void* const* arguments, std::span<const simt::Extent> buffers) {
  check_limits(stage);
  const std::vector<simt::Extent> allocations = memory_.extents();
  const simt::Work work{.entry = &find(stage.symbol),
                        .kernel = stage.symbol,
                        .grid = stage.grid,
                        .threads = stage.threads,
                        .shared_bytes = stage.shared_bytes,
                        .arguments = arguments,
                        .extents = buffers.empty() ? std::span(allocations) : buffers,
                        .order = options_.order,
                        .seed = options_.seed};
  std::vector<Finding> findings = run_blocks(work);
  for (const simt::Extent& extent : memory_.damaged()) {
    findings.push_back({.kind = FindingKind::red_zone,
                        .kernel = stage.symbol,
                        .address = reinterpret_cast<uintptr_t>(extent.address),
                        .text = fmt::format("bytes around the buffer of {} bytes here changed", extent.bytes)});
  }
  if (!findings.empty()) throw simt::FindingsError(std::move(findings));
}

}  // namespace stepc
