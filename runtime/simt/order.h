#pragma once

#include <cstdint>

namespace stepc::simt {

// Which runnable thread of a block comes first. A kernel whose results differ between them has a race.
enum class Order : uint8_t { ascending, descending, random };

}  // namespace stepc::simt
