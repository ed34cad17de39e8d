#pragma once

#include "tools/driver/report.h"

#include <string>

namespace stepc {

std::string format_bytes(int64_t bytes);     // "12.5 MiB"
std::string format_us(double microseconds);  // "3.21 ms"
std::string format_count(double count);      // "1.71 T"

// Tables for the terminal, each ending in a line break.
std::string pass_table(const Step& step);
std::string memory_table(const Step& step);
std::string saved_table(const SavedListing& listing, size_t most_rows);
std::string kernel_table(const std::vector<KernelRow>& kernels, size_t most_rows);
std::string parameter_table(const ImportedModel& import);

}  // namespace stepc
