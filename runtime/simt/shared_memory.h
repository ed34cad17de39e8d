#pragma once

#include "runtime/simt/device/abi.h"
#include "runtime/simt/finding.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stepc::simt {

// `alignment` is a power of two.
inline bool is_aligned(const void* address, int alignment) {
  return (reinterpret_cast<uintptr_t>(address) & static_cast<uintptr_t>(alignment - 1)) == 0;
}

// A shared array of a compiled text: a static one, or the dynamic arena, whose size each launch says.
struct SharedArray {
  std::string name;
  int64_t offset = 0;  // from the begin of the text's shared memory
  int64_t bytes = 0;
};

// The shared memory of the block that runs, and who touched which byte of it since the last barrier.
//
// Time is a clock per thread (Lamport 1978): a barrier sets those of the block, a __syncwarp those of its lanes, past
// all clocks of the threads that meet. So a thread may touch what another touched at time c if c lies before the last
// barrier, or if both are of one warp and c lies before its own time. Orders among lanes that synchronised with others
// only may be overlooked; no two accesses that are ordered are taken for a race.
class SharedMemory {
 public:
  // The running thread.
  struct Thread {
    int index;
    uint32_t clock;
  };
  struct Problem {
    FindingKind kind;
    std::string text;
    bool refused;  // the access itself may not be made
  };

  // For the blocks to come: `base` is where the arrays lie on this OS thread.
  void bind(unsigned char* base, std::vector<SharedArray> arrays);
  // Poisons everything. No clock of the block before exceeds `latest`. Gives the time at which the block's threads
  // start.
  uint32_t begin_block(uint32_t latest);
  // All clocks are past: gives the time after a barrier at which no thread's clock exceeds `latest`.
  uint32_t barrier(uint32_t latest);

  bool contains(const void* address) const;
  // Notes an access, through a pointer that belongs to the array of `base`.
  std::optional<Problem> access(const void* base, const void* address, StepcSimtAccess access, Thread thread);
  // From now on the bytes are as if never written, until a store (an asynchronous copy is under way).
  void forget(void* address, int64_t bytes);
  // What an asynchronous copy brings.
  void fill(void* address, const void* source, int64_t bytes, Thread thread, int line);

 private:
  // Who touched a byte last: a thread, or several of one warp, or several.
  struct Touch {
    uint32_t clock = 0;
    uint16_t who = 0;
    uint16_t line = 0;
    bool operator==(const Touch&) const = default;
  };
  struct Byte {
    Touch write;
    Touch read;
    bool operator==(const Byte&) const = default;
  };

  const SharedArray* array_of(const void* address);
  bool is_ordered(Touch earlier, Thread thread) const;
  void join(Touch& touch, Thread thread, int line) const;
  enum class Conflict { none, unwritten, written, read };
  Conflict conflict(const Byte& byte, StepcSimtAccessKind kind, Thread thread) const;
  void note(Byte& byte, StepcSimtAccess access, Thread thread) const;
  static Problem problem_of(Conflict conflict, const Byte& byte);
  std::string place(const SharedArray& array, const void* address) const;

  unsigned char* base_ = nullptr;
  std::vector<SharedArray> arrays_;
  int64_t extent_ = 0;  // the end of the last array
  size_t recent_ = 0;   // index of the array that the last access belonged to
  std::vector<Byte> bytes_;
  uint32_t clock_ = 1;        // past everything that happened
  uint32_t block_start_ = 1;  // what is older was another block's
  uint32_t epoch_ = 1;        // the time of the last barrier
};

}  // namespace stepc::simt
