#include "runtime/simt/engine.h"

#include "runtime/simt/processor.h"

namespace stepc::simt {

// The functions of the table, each a member function of the thread's processor.
struct EngineCalls {
  static Processor& processor(StepcSimtThread* thread) { return *static_cast<Processor*>(thread->block); }

  static bool global(StepcSimtThread* thread, const void* base, const void* address, StepcSimtAccess access) {
    return processor(thread).access_global(base, address, access);
  }
  static bool shared(StepcSimtThread* thread, const void* base, const void* address, StepcSimtAccess access) {
    return processor(thread).access_shared(base, address, access);
  }
  static bool atomic(StepcSimtThread* thread, const void* address, StepcSimtAccess access) {
    Processor& p = processor(thread);
    return p.shared_.contains(address) ? p.access_shared(address, address, access)
                                       : p.access_global(address, address, access);
  }
  static void barrier(StepcSimtThread* thread, int line) { processor(thread).wait(Processor::State::at_barrier, line); }
  static const unsigned char* exchange(StepcSimtThread* thread, int operation, unsigned mask, const void* payload,
                                       unsigned bytes, int line, unsigned* arrived) {
    return processor(thread).exchange(operation, mask, payload, bytes, line, arrived);
  }
  static void inactive_source(StepcSimtThread* thread, int lane, unsigned mask, int line) {
    Processor& p = processor(thread);
    p.report(FindingKind::inactive_source, line, p.current_, nullptr,
             fmt::format("a shuffle from lane {}, which is not in its mask {:#x}", lane, mask));
  }
  static void copy_async(StepcSimtThread* thread, void* shared, const void* global, unsigned bytes, int line) {
    processor(thread).copy_async(shared, global, bytes, line);
  }
  static void commit_async(StepcSimtThread* thread) {
    Processor& p = processor(thread);
    ++p.threads_[static_cast<size_t>(p.current_)].groups;
  }
  static void wait_async(StepcSimtThread* thread, int newest) { processor(thread).wait_async(newest); }
};

const StepcSimtEngine& engine() {
  static constexpr StepcSimtEngine kEngine = {
      &EngineCalls::global,     &EngineCalls::shared,       &EngineCalls::atomic,
      &EngineCalls::barrier,    &EngineCalls::exchange,     &EngineCalls::inactive_source,
      &EngineCalls::copy_async, &EngineCalls::commit_async, &EngineCalls::wait_async};
  return kEngine;
}

}  // namespace stepc::simt
