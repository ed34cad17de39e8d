#include "runtime/simt/finding.h"

#include <algorithm>

namespace stepc::simt {
namespace {

std::string summary(const std::vector<Finding>& findings) {
  CHECK(!findings.empty());
  const std::string first = findings[0].message();
  if (findings.size() == 1) return first;
  return fmt::format("{} (and {} more finding{})", first, findings.size() - 1, findings.size() == 2 ? "" : "s");
}

}  // namespace

std::string Finding::message() const {
  std::string where = fmt::format("kernel {}", kernel);
  if (line > 0) where += fmt::format(", line {}, block {}, thread {}", line, block, thread);
  if (address != 0) where += fmt::format(", address {:#x}", address);
  return fmt::format("{}: {}{}", where, text, count > 1 ? fmt::format(" ({} times)", count) : "");
}

FindingsError::FindingsError(std::vector<Finding> findings)
    : UserError(summary(findings)), findings_(std::move(findings)) {}

void FindingList::add(Finding finding) { join({std::move(finding), serial_++}); }

void FindingList::merge(const FindingList& other) {
  for (const auto& [key, entry] : other.findings_) join(entry);
}

void FindingList::join(const Entry& entry) {
  const auto [place, is_new] = findings_.try_emplace({entry.finding.kind, entry.finding.line}, entry);
  if (is_new) return;
  Entry& known = place->second;
  const int64_t count = known.finding.count + entry.finding.count;
  if (entry.finding.block < known.finding.block) known = entry;
  known.finding.count = count;
}

std::vector<Finding> FindingList::in_order() const {
  std::vector<const Entry*> entries;
  for (const auto& [key, entry] : findings_) entries.push_back(&entry);
  std::stable_sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) {
    return std::pair(a->finding.block, a->serial) < std::pair(b->finding.block, b->serial);
  });
  std::vector<Finding> result;
  for (const Entry* entry : entries) result.push_back(entry->finding);
  return result;
}

}  // namespace stepc::simt
