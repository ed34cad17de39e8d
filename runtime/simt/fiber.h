#pragma once

#include <boost/context/detail/fcontext.hpp>

#include <cstddef>

namespace stepc::simt {

// A function on a stack of its own that can stop in its middle and go on later, on the same OS thread. The stack is
// used again by the next function; below it lies a page that nothing may touch.
class Fiber {
 public:
  using Body = void (*)(void* argument);

  Fiber();  // throws UserError where the system gives no memory
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Prepares body(argument); whatever ran before and has not ended is forgotten, without destructors.
  void start(Body body, void* argument);
  void resume();   // runs it until it suspends itself or ends
  void suspend();  // from within: back to where resume was called

 private:
  static void enter(boost::context::detail::transfer_t transfer);

  std::byte* memory_;
  boost::context::detail::fcontext_t own_ = nullptr;
  boost::context::detail::fcontext_t caller_ = nullptr;
  Body body_ = nullptr;
  void* argument_ = nullptr;
  // What AddressSanitizer has to be told about the two stacks.
  void* own_fake_stack_ = nullptr;
  void* caller_fake_stack_ = nullptr;
  const void* caller_stack_ = nullptr;
  size_t caller_stack_bytes_ = 0;
};

}  // namespace stepc::simt
