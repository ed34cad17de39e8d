#include "passes/memory/arena.h"

#include "ir/support/error.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace stepc {
namespace {

constexpr size_t kQuadraticLimit = 8192;

std::vector<size_t> sorted_indices(size_t count, auto less) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, less);
  return order;
}

ArenaLayout largest_first(const std::vector<Tenant>& tenants) {
  ArenaLayout layout{std::vector<int64_t>(tenants.size(), 0), 0};
  std::vector<size_t> placed;  // by offset
  for (const size_t index :
       sorted_indices(tenants.size(), [&](size_t a, size_t b) { return tenants[a].bytes > tenants[b].bytes; })) {
    const Tenant& tenant = tenants[index];
    if (tenant.bytes == 0) continue;
    int64_t offset = 0;
    for (const size_t other : placed) {
      if (tenants[other].last < tenant.first || tenant.last < tenants[other].first) continue;
      if (layout.offsets[other] >= offset + aligned_bytes(tenant.bytes)) break;
      offset = std::max(offset, layout.offsets[other] + aligned_bytes(tenants[other].bytes));
    }
    layout.offsets[index] = offset;
    layout.bytes = std::max(layout.bytes, offset + aligned_bytes(tenant.bytes));
    placed.insert(std::ranges::upper_bound(placed, offset, {}, [&](size_t p) { return layout.offsets[p]; }), index);
  }
  return layout;
}

// Free gaps of an unbounded address space, by offset and by size.
class Gaps {
 public:
  Gaps() { add(0, kEndless); }

  int64_t take(int64_t bytes) {
    const auto best = by_size_.lower_bound({bytes, 0});
    const auto [size, offset] = *best;
    remove(offset, size);
    add(offset + bytes, size - bytes);
    return offset;
  }

  void give(int64_t offset, int64_t bytes) {
    const auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto [start, size] = *std::prev(next);
      if (start + size == offset) {
        remove(start, size);
        offset = start;
        bytes += size;
      }
    }
    if (const auto after = by_offset_.find(offset + bytes); after != by_offset_.end()) {
      const int64_t size = after->second;
      remove(offset + bytes, size);
      bytes += size;
    }
    add(offset, bytes);
  }

 private:
  static constexpr int64_t kEndless = int64_t{1} << 62;

  void add(int64_t offset, int64_t size) {
    if (size == 0) return;
    by_offset_[offset] = size;
    by_size_.emplace(size, offset);
  }
  void remove(int64_t offset, int64_t size) {
    by_offset_.erase(offset);
    by_size_.erase({size, offset});
  }

  std::map<int64_t, int64_t> by_offset_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
};

ArenaLayout in_order_of_time(const std::vector<Tenant>& tenants) {
  ArenaLayout layout{std::vector<int64_t>(tenants.size(), 0), 0};
  Gaps gaps;
  std::multimap<int32_t, size_t> alive;  // by last step
  for (const size_t index : sorted_indices(tenants.size(), [&](size_t a, size_t b) {
         return std::pair(tenants[a].first, -tenants[a].last) < std::pair(tenants[b].first, -tenants[b].last);
       })) {
    const Tenant& tenant = tenants[index];
    if (tenant.bytes == 0) continue;
    while (!alive.empty() && alive.begin()->first < tenant.first) {
      const size_t gone = alive.begin()->second;
      gaps.give(layout.offsets[gone], aligned_bytes(tenants[gone].bytes));
      alive.erase(alive.begin());
    }
    layout.offsets[index] = gaps.take(aligned_bytes(tenant.bytes));
    layout.bytes = std::max(layout.bytes, layout.offsets[index] + aligned_bytes(tenant.bytes));
    alive.emplace(tenant.last, index);
  }
  return layout;
}

}  // namespace

ArenaLayout lay_out_arena(const std::vector<Tenant>& tenants) {
  ArenaLayout by_time = in_order_of_time(tenants);
  if (tenants.size() > kQuadraticLimit) return by_time;
  ArenaLayout by_size = largest_first(tenants);
  return by_size.bytes <= by_time.bytes ? by_size : by_time;
}

int64_t max_live_bytes(const std::vector<Tenant>& tenants) {
  std::map<int32_t, int64_t> change;
  for (const Tenant& tenant : tenants) {
    change[tenant.first] += aligned_bytes(tenant.bytes);
    change[tenant.last + 1] -= aligned_bytes(tenant.bytes);
  }
  int64_t live = 0;
  int64_t most = 0;
  for (const auto& [step, bytes] : change) most = std::max(most, live += bytes);
  return most;
}

}  // namespace stepc
