#pragma once

#include "codegen/dialect.h"

namespace stepc::cpu {

const Dialect& dialect();

}  // namespace stepc::cpu
