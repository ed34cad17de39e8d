#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace stepc {

// The number of threads that an option asks for; 0: one per processor.
inline size_t thread_count(int asked) {
  return asked > 0 ? static_cast<size_t>(asked) : std::max(std::thread::hardware_concurrency(), 1U);
}

// Calls f(0) .. f(count - 1) on several threads and rethrows what the lowest index threw. For work that takes
// milliseconds: threads are started for it.
template <typename F>
void parallel_for_each(size_t count, size_t threads, F&& f) {
  std::atomic<size_t> next{0};
  std::vector<std::exception_ptr> errors(count);
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) try {
        f(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
  };
  std::vector<std::thread> pool;
  for (size_t t = 1; t < std::min(threads, count); ++t) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace stepc
