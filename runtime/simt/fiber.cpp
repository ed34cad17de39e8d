#include "runtime/simt/fiber.h"

#include "ir/support/error.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#define STEPC_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STEPC_ASAN 1
#endif
#endif

#ifdef STEPC_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace stepc::simt {
namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

constexpr size_t kStackBytes = size_t{256} << 10;  // address space; memory as far as it is used

size_t page_bytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

void leave_stack([[maybe_unused]] void** fake, [[maybe_unused]] const void* stack, [[maybe_unused]] size_t bytes) {
#ifdef STEPC_ASAN
  __sanitizer_start_switch_fiber(fake, stack, bytes);
#endif
}

void reach_stack([[maybe_unused]] void* fake, [[maybe_unused]] const void** from, [[maybe_unused]] size_t* bytes) {
#ifdef STEPC_ASAN
  __sanitizer_finish_switch_fiber(fake, from, bytes);
#endif
}

}  // namespace

Fiber::Fiber() {
  const size_t bytes = kStackBytes + page_bytes();
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, page_bytes(), PROT_NONE) != 0)
    user_error("no memory for the stack of a SIMT thread: {}; use fewer --threads", std::strerror(errno));
  memory_ = static_cast<std::byte*>(memory);
}

Fiber::~Fiber() { munmap(memory_, kStackBytes + page_bytes()); }

void Fiber::start(Body body, void* argument) {
  body_ = body;
  argument_ = argument;
  own_fake_stack_ = nullptr;
#ifdef STEPC_ASAN
  ASAN_UNPOISON_MEMORY_REGION(memory_ + page_bytes(), kStackBytes);
#endif
  own_ = make_fcontext(memory_ + page_bytes() + kStackBytes, kStackBytes, &Fiber::enter);
}

void Fiber::enter(transfer_t transfer) {
  Fiber& fiber = *static_cast<Fiber*>(transfer.data);
  fiber.caller_ = transfer.fctx;
  reach_stack(nullptr, &fiber.caller_stack_, &fiber.caller_stack_bytes_);
  fiber.body_(fiber.argument_);
  leave_stack(nullptr, fiber.caller_stack_, fiber.caller_stack_bytes_);
  jump_fcontext(fiber.caller_, nullptr);  // never comes back
}

void Fiber::resume() {
  leave_stack(&caller_fake_stack_, memory_ + page_bytes(), kStackBytes);
  own_ = jump_fcontext(own_, this).fctx;
  reach_stack(caller_fake_stack_, nullptr, nullptr);
}

void Fiber::suspend() {
  leave_stack(&own_fake_stack_, caller_stack_, caller_stack_bytes_);
  caller_ = jump_fcontext(caller_, nullptr).fctx;
  reach_stack(own_fake_stack_, &caller_stack_, &caller_stack_bytes_);
}

}  // namespace stepc::simt
