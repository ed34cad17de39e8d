#pragma once

#include "runtime/simt/device/abi.h"

namespace stepc::simt {

// What compiled texts call; a StepcSimtThread's `block` is its Processor.
const StepcSimtEngine& engine();

}  // namespace stepc::simt
