#include "tools/driver/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace stepc {

Progress::Progress(const DriverOptions& options, int64_t steps)
    : shown_(options.progress && !options.quiet && isatty(STDERR_FILENO) != 0),
      steps_(steps),
      begin_(std::chrono::steady_clock::now()),
      last_(begin_ - std::chrono::seconds(1)) {}

void Progress::step(int64_t done, const RunFigures& figures) {
  const auto now = std::chrono::steady_clock::now();
  if (!shown_ || (now - last_ < std::chrono::milliseconds(200) && done != steps_)) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const double left = seconds / static_cast<double>(done) * static_cast<double>(steps_ - done);
  fmt::print(stderr, "\rstep {}/{}", done, steps_);
  if (!figures.losses.empty()) fmt::print(stderr, "  loss {:.4f}", figures.losses.back());
  fmt::print(stderr, "  {:.0f} s left   ", left);
  std::fflush(stderr);
}

void Progress::finish() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

}  // namespace stepc
