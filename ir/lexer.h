#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stepc {

enum class TokenKind : uint8_t {
  end,
  word,    // input, add, f32, inf, _
  value,   // %x, %"any text", %12
  symbol,  // @x, @"any text"
  text,    // "any text"
  number,  // -1, 0x1.8p-3, 2.5; `real` says whether a point or an exponent is in it
  punct,   // one of { } [ ] ( ) , : = and ->
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;        // names and texts unescaped, without their sigil; else the spelling
  bool anonymous = false;  // a value whose bare name is all digits
  bool real = false;
  int line = 1;
  int column = 1;
};

// Splits text form into tokens. Blanks separate; `;` starts a comment that ends with the line.
class Lexer {
 public:
  Lexer(std::string_view text, std::string_view file) : text_(text), file_(file) {}
  // Throws UserError with the position where no token can start.
  Token next();

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  char advance();
  void skip_blanks();
  void lex_text(Token& token);
  void lex_name(Token& token);
  void lex_number(Token& token);
  [[noreturn]] void fail(const Token& token, std::string_view message) const;

  std::string_view text_;
  std::string_view file_;
  size_t at_ = 0;
  int line_ = 1;
  int column_ = 1;
};

}  // namespace stepc
