#include "ir/lexer.h"

#include "ir/support/error.h"

#include <algorithm>

namespace stepc {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_name(char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '/'; }
int hex_value(char c) { return is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10; }

}  // namespace

void Lexer::fail(const Token& token, std::string_view message) const {
  user_error("{}:{}:{}: {}", file_, token.line, token.column, message);
}

char Lexer::advance() {
  const char c = text_[at_++];
  column_ = c == '\n' ? 1 : column_ + 1;
  line_ += c == '\n';
  return c;
}

void Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = peek();
    if (c == ';')
      while (at_ < text_.size() && peek() != '\n') advance();
    else if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
      advance();
    else
      return;
  }
}

void Lexer::lex_text(Token& token) {
  advance();
  while (peek() != '"') {
    if (at_ == text_.size() || peek() == '\n') fail(token, "text without closing quote");
    const char c = advance();
    if (c != '\\') {
      token.text += c;
    } else if (peek() == '"' || peek() == '\\') {
      token.text += advance();
    } else if (peek() == 'x' && is_hex(peek(1)) && is_hex(peek(2))) {
      token.text += static_cast<char>(hex_value(peek(1)) * 16 + hex_value(peek(2)));
      for (int i = 0; i < 3; ++i) advance();
    } else {
      fail(token, "unknown escape in text: use \\\", \\\\ or \\x with two hexadecimal digits");
    }
  }
  advance();
}

// What follows % or @.
void Lexer::lex_name(Token& token) {
  advance();
  if (peek() == '"') return lex_text(token);
  while (is_name(peek())) token.text += advance();
  if (token.text.empty()) fail(token, "a name is expected after % or @");
  token.anonymous = std::all_of(token.text.begin(), token.text.end(), is_digit);
}

void Lexer::lex_number(Token& token) {
  if (peek() == '-') token.text += advance();
  const bool hex = peek() == '0' && (peek(1) | 0x20) == 'x';
  while (is_letter(peek()) || is_digit(peek()) || peek() == '.' ||
         ((peek() == '-' || peek() == '+') && (token.text.back() | 0x20) == (hex ? 'p' : 'e')))
    token.text += advance();
  token.real = token.text.find_first_of(hex ? ".pP" : ".eEin") != std::string::npos;
}

Token Lexer::next() {
  skip_blanks();
  Token token;
  token.line = line_;
  token.column = column_;
  const char c = peek();
  if (at_ == text_.size()) {
    token.kind = TokenKind::end;
    token.text = "end of file";
  } else if (c == '%' || c == '@') {
    token.kind = c == '%' ? TokenKind::value : TokenKind::symbol;
    lex_name(token);
  } else if (c == '"') {
    token.kind = TokenKind::text;
    lex_text(token);
  } else if (c == '-' && peek(1) == '>') {
    token.kind = TokenKind::punct;
    token.text = {advance(), advance()};
  } else if (is_digit(c) || c == '-') {
    token.kind = TokenKind::number;
    lex_number(token);
  } else if (is_letter(c)) {
    token.kind = TokenKind::word;
    while (is_letter(peek()) || is_digit(peek())) token.text += advance();
  } else if (std::string_view("{}[](),:=").find(c) != std::string_view::npos) {
    token.kind = TokenKind::punct;
    token.text = advance();
  } else {
    fail(token, c >= 0x20 && c < 0x7f ? fmt::format("unexpected character '{}'", c)
                                      : fmt::format("unexpected byte {:#04x}", static_cast<unsigned char>(c)));
  }
  return token;
}

}  // namespace stepc
