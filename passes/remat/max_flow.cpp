#include "passes/remat/max_flow.h"

#include <algorithm>
#include <tuple>

namespace stepc {

void MaxFlow::add_edge(int32_t from, int32_t to, int64_t capacity) {
  for (const auto& [tail, head, left] : {std::tuple{from, to, capacity}, std::tuple{to, from, int64_t{0}}}) {
    edges_.push_back({head, first_[static_cast<size_t>(tail)], left});
    first_[static_cast<size_t>(tail)] = static_cast<int32_t>(edges_.size()) - 1;
  }
}

std::vector<bool> MaxFlow::source_side(int32_t source, int32_t sink) {
  while (find_levels(source, sink)) {
    current_ = first_;
    while (push_path(source, sink) > 0)
      ;
  }
  std::vector<bool> reached;
  for (const int32_t level : level_) reached.push_back(level >= 0);
  return reached;
}

bool MaxFlow::find_levels(int32_t source, int32_t sink) {
  level_.assign(first_.size(), -1);
  level_[static_cast<size_t>(source)] = 0;
  std::vector<int32_t> queue{source};
  for (size_t i = 0; i < queue.size(); ++i)
    for (int32_t e = first_[static_cast<size_t>(queue[i])]; e >= 0; e = edges_[static_cast<size_t>(e)].next) {
      const Edge& edge = edges_[static_cast<size_t>(e)];
      if (edge.left == 0 || level_[static_cast<size_t>(edge.to)] >= 0) continue;
      level_[static_cast<size_t>(edge.to)] = level_[static_cast<size_t>(queue[i])] + 1;
      queue.push_back(edge.to);
    }
  return level_[static_cast<size_t>(sink)] >= 0;
}

// One path of the level graph, without recursion: paths are as long as the forward is deep.
bool MaxFlow::push_path(int32_t source, int32_t sink) {
  std::vector<int32_t> path;  // edges
  int32_t node = source;
  while (node != sink) {
    int32_t& e = current_[static_cast<size_t>(node)];
    while (e >= 0) {
      const Edge& edge = edges_[static_cast<size_t>(e)];
      if (edge.left > 0 && level_[static_cast<size_t>(edge.to)] == level_[static_cast<size_t>(node)] + 1) break;
      e = edge.next;
    }
    if (e >= 0) {
      path.push_back(e);
      node = edges_[static_cast<size_t>(e)].to;
      continue;
    }
    if (path.empty()) return false;
    node = edges_[static_cast<size_t>(path.back() ^ 1)].to;  // a dead end: the edge into it carries nothing more
    path.pop_back();
    current_[static_cast<size_t>(node)] = edges_[static_cast<size_t>(current_[static_cast<size_t>(node)])].next;
  }
  int64_t flow = kUnlimited;
  for (const int32_t edge : path) flow = std::min(flow, edges_[static_cast<size_t>(edge)].left);
  for (const int32_t edge : path) {
    edges_[static_cast<size_t>(edge)].left -= flow;
    edges_[static_cast<size_t>(edge ^ 1)].left += flow;
  }
  return true;
}

}  // namespace stepc
