#include "ir/parse_literal.h"

#include "ir/support/error.h"
#include "ir/support/quote.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace stepc {
namespace {

bool boolean_literal(const Token& token) {
  if (token.kind != TokenKind::word || (token.text != "true" && token.text != "false"))
    user_error("expected true or false, found {}", in_quotes(token.text));
  return token.text == "true";
}

// Digits after "0x", all of them, as an unsigned number.
uint64_t bits_literal(std::string_view text) {
  uint64_t bits = 0;
  const bool prefixed = text.starts_with("0x");
  const auto [end, error] = std::from_chars(text.data() + 2 * prefixed, text.data() + text.size(), bits, 16);
  if (!prefixed || error != std::errc() || end != text.data() + text.size())
    user_error("{} is no bit pattern", in_quotes(text));
  return bits;
}

void store(Tensor& tensor, int64_t index, uint64_t bits) {
  const auto i = static_cast<size_t>(index);
  switch (dtype_bytes(tensor.type().dtype)) {
    case 1: tensor.as<uint8_t>()[i] = static_cast<uint8_t>(bits); return;
    case 2: tensor.as<uint16_t>()[i] = static_cast<uint16_t>(bits); return;
    case 4: tensor.as<uint32_t>()[i] = static_cast<uint32_t>(bits); return;
    default: tensor.as<uint64_t>()[i] = bits; return;
  }
}

// nan(0x7fc00001): a NaN with these bits.
void nan_literal(std::string_view text, Tensor& tensor, int64_t index) {
  const uint64_t bits = bits_literal(text.substr(4, text.size() - 5));
  const int64_t width = 8 * dtype_bytes(tensor.type().dtype);
  if (width < 64 && (bits >> width) != 0) user_error("{} has more than {} bits", in_quotes(text), width);
  store(tensor, index, bits);
  if (!std::isnan(element(tensor.view(), index))) user_error("{} is not a NaN", in_quotes(text));
}

struct Range {
  int64_t low;
  int64_t high;
};

Range range(Dtype dtype) {
  switch (dtype) {
    case Dtype::i8: return {-128, 127};
    case Dtype::u8: return {0, 255};
    case Dtype::i32: return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    default: return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  }
}

}  // namespace

int64_t integer_literal(const Token& token) {
  int64_t value = 0;
  const char* end = token.text.data() + token.text.size();
  const auto [stop, error] = std::from_chars(token.text.data(), end, value);
  if (error == std::errc::result_out_of_range) user_error("{} does not fit 64 bits", in_quotes(token.text));
  if (token.kind != TokenKind::number || error != std::errc() || stop != end)
    user_error("expected an integer, found {}", in_quotes(token.text));
  return value;
}

double real_literal(const Token& token) {
  const bool number = token.kind == TokenKind::number;
  if (!number && !(token.kind == TokenKind::word && (token.text == "inf" || token.text == "nan")))
    user_error("expected a number, found {}", in_quotes(token.text));
  std::string_view text = token.text;
  const bool negative = text.starts_with('-');
  text.remove_prefix(negative);
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  text.remove_prefix(hex ? 2 : 0);
  double value = 0;
  const auto format = hex ? std::chars_format::hex : std::chars_format::general;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, format);
  if (error == std::errc::result_out_of_range) user_error("{} does not fit a double", in_quotes(token.text));
  if (error != std::errc() || stop != text.data() + text.size() || text.starts_with('-'))
    user_error("expected a number, found {}", in_quotes(token.text));
  return negative ? -value : value;
}

AttrValue attr_literal(const Token& token, AttrKind kind, std::string_view key) {
  switch (kind) {
    case AttrKind::boolean: return boolean_literal(token);
    case AttrKind::integer: return integer_literal(token);
    case AttrKind::real: return real_literal(token);
    case AttrKind::text:
      if (token.kind != TokenKind::text) user_error("attribute '{}' is a text in quotes", key);
      return token.text;
    case AttrKind::dtype: {
      const std::optional<Dtype> dtype = dtype_from_name(token.text);
      if (token.kind != TokenKind::word || !dtype) user_error("attribute '{}' is a dtype like f32", key);
      return *dtype;
    }
    case AttrKind::integers: break;
  }
  CHECK(false, "attribute '{}' is a list", key);
  return {};
}

void element_literal(const Token& token, Tensor& tensor, int64_t index) {
  const Dtype dtype = tensor.type().dtype;
  if (dtype == Dtype::boolean) {
    store(tensor, index, boolean_literal(token));
  } else if (!is_float(dtype)) {
    const int64_t value = integer_literal(token);
    if (value < range(dtype).low || value > range(dtype).high)
      user_error("{} does not fit {}", value, dtype_name(dtype));
    store(tensor, index, static_cast<uint64_t>(value));
  } else if (token.text.starts_with("nan(")) {
    nan_literal(token.text, tensor, index);
  } else {
    set_element(tensor, index, real_literal(token));
    // The plain NaN is the quiet one with no further bits, whatever the machine makes of it.
    if (token.text == "nan") {
      const bool f16 = dtype == Dtype::f16;
      store(tensor, index,
            dtype == Dtype::f64   ? 0x7ff8000000000000
            : dtype == Dtype::f32 ? 0x7fc00000
            : f16                 ? 0x7e00
                                  : 0x7fc0);
    }
  }
}

}  // namespace stepc
