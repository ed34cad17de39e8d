#include "ir/parser.h"
#include "ir/support/error.h"
#include "tests/filetest/filetest.h"

namespace stepc::filetest {

// The message about text that is wrong, from its "line:column:" on.
std::string run_error(const File&, const Case& test) {
  try {
    parse(test.input, {.file = "case"});
  } catch (const UserError& error) {
    return std::string(error.what()).substr(std::string_view("case:").size()) + "\n";
  }
  user_error("the text is accepted");
}

}  // namespace stepc::filetest
