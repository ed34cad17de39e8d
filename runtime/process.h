#pragma once

#include <string>
#include <vector>

namespace stepc {

struct ProcessResult {
  bool started = false;  // false: no such program
  int exit_status = 0;   // of exit(); 128 + signal where a signal ended it
  std::string output;    // standard output and error together
};

// Runs a program, found through PATH, and waits for it. Safe to call from several threads.
ProcessResult run_process(const std::vector<std::string>& arguments);

}  // namespace stepc
