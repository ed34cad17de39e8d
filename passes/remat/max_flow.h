#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stepc {

// The minimum cut between two nodes of a directed graph with capacities, by Dinic's algorithm (1970): O(V²E), far less
// on the shallow graphs that come here.
class MaxFlow {
 public:
  static constexpr int64_t kUnlimited = int64_t{1} << 62;

  explicit MaxFlow(int32_t nodes) : first_(static_cast<size_t>(nodes), -1) {}
  // 0 <= capacity <= kUnlimited; the capacities of a finite cut add up to less than kUnlimited.
  void add_edge(int32_t from, int32_t to, int64_t capacity);
  // The nodes on the source's side of the cut of least capacity that lies nearest to the source.
  std::vector<bool> source_side(int32_t source, int32_t sink);

 private:
  struct Edge {
    int32_t to;
    int32_t next;  // of the same node, -1 at the end
    int64_t left;  // capacity; the edge back is at index ^ 1
  };
  bool find_levels(int32_t source, int32_t sink);
  bool push_path(int32_t source, int32_t sink);  // false where none is left

  std::vector<int32_t> first_;
  std::vector<Edge> edges_;
  std::vector<int32_t> level_;    // distance from the source, -1 where it is not reached
  std::vector<int32_t> current_;  // per node: the first edge that may still carry more
};

}  // namespace stepc
