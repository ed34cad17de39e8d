#pragma once

#include "ir/support/error.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stepc::simt {

enum class FindingKind {
  out_of_bounds,      // an access outside the buffer or shared array that its pointer belongs to
  misaligned,         // an address that is no multiple of the access's size
  uninitialised,      // a read of shared memory that the block never wrote
  copy_not_awaited,   // a read of shared memory where a copy_async is still under way
  race,               // two threads at one place of shared memory without a barrier between, one of them storing
  divergent_barrier,  // threads of a block wait at different barriers
  abandoned_barrier,  // some threads ended, others wait at a barrier
  incomplete_warp,    // a warp operation that lanes of its mask never come to
  inactive_source,    // a shuffle from a lane that is not in the mask
  red_zone,           // bytes around an allocation changed, by an access that no check saw
  launch_limit,       // more threads, blocks or shared memory than the architecture has
};

// A fault of a kernel. Lines are those of the text that the compiler for CUDA gets. `count` says how often the same
// kind met the same line; place and text are those of the first time, by block.
struct Finding {
  FindingKind kind;
  std::string kernel;
  int line = 0;  // 0: of the launch as a whole
  int64_t block = 0;
  int32_t thread = 0;
  uint64_t address = 0;  // 0: not about memory
  std::string text;
  int64_t count = 1;

  std::string message() const;  // one line
};

// What a launch found, in the order of blocks and within a block in that of its execution. The message is one line: the
// first finding, and how many more.
class FindingsError : public UserError {
 public:
  explicit FindingsError(std::vector<Finding> findings);
  const std::vector<Finding>& findings() const { return findings_; }

 private:
  std::vector<Finding> findings_;
};

// Findings of some blocks, one per kind and line.
class FindingList {
 public:
  void add(Finding finding);
  void merge(const FindingList& other);
  bool empty() const { return findings_.empty(); }
  std::vector<Finding> in_order() const;

 private:
  struct Entry {
    Finding finding;
    size_t serial;  // of its first occurrence within its block
  };
  void join(const Entry& entry);

  std::map<std::pair<FindingKind, int>, Entry> findings_;
  size_t serial_ = 0;
};

}  // namespace stepc::simt
