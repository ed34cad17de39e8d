#pragma once

#include <string>
#include <string_view>

namespace stepc::cuda {

// The numbered lines of a source around those that a compiler's log names as errors ("stepc.cu(12): error: ..."), which
// are marked; empty where it names none. Ends in a newline.
std::string lines_around_errors(std::string_view source, std::string_view log);

}  // namespace stepc::cuda
