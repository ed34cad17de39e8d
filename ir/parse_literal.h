#pragma once

#include "ir/attrs.h"
#include "ir/lexer.h"
#include "ir/tensor.h"

#include <cstdint>
#include <string_view>

namespace stepc {

// Literals of the text form. Each throws UserError, without position, where the token is none of its kind.
int64_t integer_literal(const Token& token);
double real_literal(const Token& token);
AttrValue attr_literal(const Token& token, AttrKind kind, std::string_view key);  // all kinds but lists
// Writes element `index`; integers must fit the dtype, reals are rounded to it.
void element_literal(const Token& token, Tensor& tensor, int64_t index);

}  // namespace stepc
