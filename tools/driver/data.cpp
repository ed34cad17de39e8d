#include "tools/driver/data.h"

#include "ir/support/error.h"
#include "tools/driver/data_npz.h"
#include "tools/driver/data_random.h"
#include "tools/driver/data_tokens.h"

#include <filesystem>

namespace stepc {

std::unique_ptr<DataSource> open_data(const DriverOptions& options) {
  if (options.data.empty()) return std::make_unique<RandomData>(options.seed);
  const std::string ending = std::filesystem::path(options.data).extension().string();
  if (ending == ".npz") {
    if (!options.token_dtype.empty()) user_error("--token-dtype does not go with {}", options.data);
    return std::make_unique<NpzData>(options.data);
  }
  std::string dtype = options.token_dtype;
  if (dtype.empty() && (ending == ".u8" || ending == ".u16" || ending == ".u32")) dtype = ending.substr(1);
  return std::make_unique<TokenData>(options.data, dtype.empty() ? "u8" : dtype, options.seed,
                                     options.train.loss.shift);
}

}  // namespace stepc
