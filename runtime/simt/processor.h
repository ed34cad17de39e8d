#pragma once

#include "runtime/simt/device/abi.h"
#include "runtime/simt/fiber.h"
#include "runtime/simt/finding.h"
#include "runtime/simt/global_memory.h"
#include "runtime/simt/module.h"
#include "runtime/simt/order.h"
#include "runtime/simt/shared_memory.h"

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace stepc::simt {

// A launch, as its blocks see it.
struct Work {
  const Entry* entry;
  std::string kernel;
  int64_t grid;
  int32_t threads;
  int64_t shared_bytes;
  void* const* arguments;
  std::span<const Extent> extents;
  Order order;
  uint64_t seed;
};

// Runs blocks one after the other on one OS thread. A thread of a block runs until it waits or ends. One that never
// waits leaves its fiber to the next; when none can go on, the warp operations and then the barrier that all have
// reached are done.
class Processor {
 public:
  Processor();
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;

  void begin(const Work& work);  // the blocks to come, on the calling OS thread
  void run(int64_t block);
  const FindingList& findings() const { return findings_; }

 private:
  friend struct EngineCalls;  // the table of engine.cpp

  enum class State : uint8_t { fresh, ready, at_barrier, in_warp, done };
  struct AsyncCopy {
    unsigned char* shared;
    const void* global;
    int bytes;
    int line;
    int group;  // how many commits came before
  };
  struct Thread {
    State state = State::fresh;
    int line = 0;  // where it waits
    uint32_t clock = 0;
    Fiber* fiber = nullptr;
    // The warp operation in which it waits, then the lanes that came.
    int operation = 0;
    unsigned mask = 0;
    std::array<unsigned char, kStepcLaneBytes> payload{};
    std::vector<AsyncCopy> copies;
    int groups = 0;
  };
  using WarpResult = std::array<unsigned char, size_t{kStepcLaneBytes} * kStepcWarpSize>;

  // The schedule.
  void order_threads();
  void go_on(int32_t index);  // until it waits, or ends and the next one waits or has begun before
  void make_current(int32_t index);
  void run_threads();  // on a fiber: a thread, and while they end without waiting the next
  void wait(State state, int line);
  bool release_warps();
  bool release_barrier();
  unsigned waiting_with(int32_t first, int32_t leader) const;
  void finish_exchange(int32_t first, unsigned lanes);

  // What threads ask for; `current_` is the one that asks.
  bool access_global(const void* base, const void* address, StepcSimtAccess access);
  bool access_shared(const void* base, const void* address, StepcSimtAccess access);
  const unsigned char* exchange(int operation, unsigned mask, const void* payload, unsigned bytes, int line,
                                unsigned* arrived);
  void copy_async(void* shared, const void* global, int bytes, int line);
  void wait_async(int newest);

  void report(FindingKind kind, int line, int32_t thread, const void* address, std::string text);
  void report_stuck();
  Extent extent_of(const void* base);
  const AsyncCopy* copy_under_way(const void* address, int bytes) const;
  std::string waiting_threads() const;
  SharedMemory::Thread shared_thread() const { return {current_, threads_[static_cast<size_t>(current_)].clock}; }

  const Work* work_ = nullptr;
  StepcSimtThread view_{};  // what the running thread sees
  SharedMemory shared_;
  std::vector<Thread> threads_;
  std::vector<int32_t> order_;
  std::vector<WarpResult> results_;  // by warp
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  std::mt19937_64 random_;
  size_t turn_ = 0;  // in order_
  int32_t current_ = 0;
  int32_t live_ = 0;
  FindingList findings_;
  // The extents of the pointers that were indexed last, by a hash of the pointer.
  struct Recent {
    const void* base = nullptr;
    Extent extent;
  };
  std::array<Recent, 16> recent_{};
};

}  // namespace stepc::simt
