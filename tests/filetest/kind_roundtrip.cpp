#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/support/error.h"
#include "tests/filetest/filetest.h"

namespace stepc::filetest {

// Prints what was parsed. Without an expectation that is the input itself; parsing the print gives the same print
// again.
std::string run_roundtrip(const File&, const Case& test) {
  const std::string printed = print(parse(test.input));
  const std::string again = print(parse(printed));
  if (again != printed) user_error("the print of the print differs:\n{}", again);
  return printed;
}

}  // namespace stepc::filetest
