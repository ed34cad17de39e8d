#include "runtime/simt/processor.h"

#include "runtime/simt/engine.h"

#include <algorithm>
#include <utility>

namespace stepc::simt {

Processor::Processor() {
  view_.engine = &engine();
  view_.block = this;
}

void Processor::begin(const Work& work) {
  work_ = &work;
  findings_ = {};
  recent_ = {};
  std::vector<SharedArray> arrays = work.entry->arrays;
  SharedArray& arena = arrays[work.entry->arena_index];
  unsigned char* const base = work.entry->arena() - arena.offset;
  arena.bytes = work.shared_bytes;
  arena.name = "the dynamic shared memory";
  shared_.bind(base, std::move(arrays));
  const auto count = static_cast<size_t>(work.threads);
  threads_.resize(count);
  results_.resize((count + kStepcWarpSize - 1) / kStepcWarpSize);
  order_.resize(count);
  for (int32_t i = 0; i < work.threads; ++i)
    order_[static_cast<size_t>(i)] = work.order == Order::descending ? work.threads - 1 - i : i;
  view_.threads = static_cast<unsigned>(work.threads);
  view_.blocks = static_cast<unsigned>(work.grid);
}

void Processor::run(int64_t block) {
  view_.block_index = static_cast<unsigned>(block);
  random_.seed(work_->seed + static_cast<uint64_t>(block));
  uint32_t latest = 0;
  for (const Thread& thread : threads_) latest = std::max(latest, thread.clock);
  const uint32_t start = shared_.begin_block(latest);
  for (Thread& thread : threads_) {
    thread.state = State::fresh;
    thread.clock = start;
    thread.fiber = nullptr;
    thread.copies.clear();
    thread.groups = 0;
  }
  live_ = work_->threads;
  while (live_ > 0) {
    order_threads();
    for (turn_ = 0; turn_ < order_.size(); ++turn_) {
      const State state = threads_[static_cast<size_t>(order_[turn_])].state;
      if (state == State::fresh || state == State::ready) go_on(order_[turn_]);
    }
    if (live_ == 0 || release_warps() || release_barrier()) continue;
    report_stuck();
    break;
  }
  for (Thread& thread : threads_)  // of a block that is given up
    if (thread.fiber != nullptr) idle_.push_back(thread.fiber);
}

void Processor::order_threads() {
  if (work_->order != Order::random) return;
  for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_() % i]);
}

void Processor::go_on(int32_t index) {
  Thread& thread = threads_[static_cast<size_t>(index)];
  if (thread.state == State::fresh) {
    if (idle_.empty()) {
      fibers_.push_back(std::make_unique<Fiber>());
      idle_.push_back(fibers_.back().get());
    }
    thread.fiber = idle_.back();
    idle_.pop_back();
    thread.fiber->start([](void* processor) { static_cast<Processor*>(processor)->run_threads(); }, this);
  }
  make_current(index);
  thread.fiber->resume();
  Thread& last = threads_[static_cast<size_t>(current_)];
  if (last.state == State::done) idle_.push_back(std::exchange(last.fiber, nullptr));
}

void Processor::make_current(int32_t index) {
  threads_[static_cast<size_t>(index)].state = State::ready;
  current_ = index;
  view_.thread_index = static_cast<unsigned>(index);
}

void Processor::run_threads() {
  for (;;) {
    work_->entry->run(&view_, work_->arguments);
    Thread& thread = threads_[static_cast<size_t>(current_)];
    thread.state = State::done;
    --live_;
    if (turn_ + 1 == order_.size()) return;
    Thread& next = threads_[static_cast<size_t>(order_[turn_ + 1])];
    if (next.state != State::fresh) return;
    next.fiber = std::exchange(thread.fiber, nullptr);
    make_current(order_[++turn_]);
  }
}

void Processor::wait(State state, int line) {
  Thread& thread = threads_[static_cast<size_t>(current_)];
  thread.state = state;
  thread.line = line;
  thread.fiber->suspend();
}

// The lanes of the warp that begins at thread `first` which wait in the same operation as `leader`.
unsigned Processor::waiting_with(int32_t first, int32_t leader) const {
  const Thread& of = threads_[static_cast<size_t>(leader)];
  unsigned lanes = 0;
  for (int32_t lane = 0; lane < kStepcWarpSize && first + lane < work_->threads; ++lane) {
    const Thread& thread = threads_[static_cast<size_t>(first + lane)];
    if (thread.state == State::in_warp && thread.line == of.line && thread.operation == of.operation &&
        thread.mask == of.mask)
      lanes |= 1U << lane;
  }
  return lanes;
}

void Processor::finish_exchange(int32_t first, unsigned lanes) {
  WarpResult& result = results_[static_cast<size_t>(first / kStepcWarpSize)];
  uint32_t latest = 0;
  for (int32_t lane = 0; lane < kStepcWarpSize; ++lane) {
    if ((lanes >> lane & 1U) == 0) continue;
    Thread& thread = threads_[static_cast<size_t>(first + lane)];
    std::copy(thread.payload.begin(), thread.payload.end(), result.begin() + lane * kStepcLaneBytes);
    latest = std::max(latest, thread.clock);
  }
  for (int32_t lane = 0; lane < kStepcWarpSize; ++lane) {
    if ((lanes >> lane & 1U) == 0) continue;
    Thread& thread = threads_[static_cast<size_t>(first + lane)];
    thread.state = State::ready;
    thread.mask = lanes;
    if (thread.operation == kStepcSyncWarp) thread.clock = latest + 1;  // the only one that orders memory
  }
}

// Does every warp operation whose lanes have all come. True where there was one.
bool Processor::release_warps() {
  bool released = false;
  for (int32_t index = 0; index < work_->threads; ++index) {
    const Thread& thread = threads_[static_cast<size_t>(index)];
    if (thread.state != State::in_warp) continue;
    const int32_t first = index / kStepcWarpSize * kStepcWarpSize;
    const unsigned lanes = waiting_with(first, index);
    if (thread.mask != 0 && lanes != thread.mask) continue;
    finish_exchange(first, lanes);
    released = true;
  }
  return released;
}

// Lets everyone go on where all that live wait at the same barrier.
bool Processor::release_barrier() {
  int32_t first = -1;
  uint32_t latest = 0;
  for (int32_t index = 0; index < work_->threads; ++index) {
    const Thread& thread = threads_[static_cast<size_t>(index)];
    if (thread.state == State::done) continue;
    if (thread.state != State::at_barrier) return false;
    if (first < 0) first = index;
    if (thread.line != threads_[static_cast<size_t>(first)].line) {
      report(FindingKind::divergent_barrier, thread.line, index, nullptr,
             "threads of the block wait at different barriers: " + waiting_threads());
      return false;
    }
    latest = std::max(latest, thread.clock);
  }
  if (live_ < work_->threads)
    report(FindingKind::abandoned_barrier, threads_[static_cast<size_t>(first)].line, first, nullptr,
           "some threads wait at a barrier to which others never come: " + waiting_threads());
  const uint32_t now = shared_.barrier(latest);
  for (Thread& thread : threads_) {
    if (thread.state == State::done) continue;
    thread.state = State::ready;
    thread.clock = now;
  }
  return true;
}

}  // namespace stepc::simt
