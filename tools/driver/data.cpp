#include "tools/driver/data.h"

#include "ir/support/error.h"
#include "tools/driver/data_random.h"
#include "tools/driver/data_tokens.h"
#include "tools/driver/io/npz.h"

#include <filesystem>

namespace stepc {
namespace {

// Arrays named like the inputs (a leading "in/" is accepted) and "label"; the same batch at every step.
class NpzData : public DataSource {
 public:
  explicit NpzData(const std::string& path) : path_(path), npz_(read_npz(path)) {}

  std::map<std::string, Dims> input_shapes() const override {
    std::map<std::string, Dims> shapes;
    for (const auto& [name, array] : npz_.arrays)
      if (name.starts_with("in/"))
        shapes[name.substr(3)] = array.type().shape.dims();
      else if (name.find('/') == std::string::npos)
        shapes[name] = array.type().shape.dims();
    return shapes;
  }

  Batch batch(const Graph& graph, int64_t) const override {
    Batch batch;
    for (const GraphInput& input : graph.inputs()) {
      if (input.role != InputRole::data && input.role != InputRole::label) continue;
      const Tensor* array = npz_.find("in/" + input.name);
      if (array == nullptr) array = npz_.find(input.name);
      if (array == nullptr && input.role == InputRole::label) array = npz_.find("label");
      if (array == nullptr) user_error("{} has no array for input '{}'", path_, input.name);
      batch.emplace(input.name, converted(*array, graph.type(input.value), input.name));
    }
    return batch;
  }

  std::string describe() const override { return path_ + " (one batch, used at every step)"; }

 private:
  // Integers may be of another width, floats of another precision; nothing else is converted.
  Tensor converted(const Tensor& array, const Type& wanted, const std::string& name) const {
    const Type& given = array.type();
    if (given.shape != wanted.shape || is_float(given.dtype) != is_float(wanted.dtype))
      user_error("{}: array '{}' is {}, the model's input is {}", path_, name, to_string(given), to_string(wanted));
    if (given.dtype == wanted.dtype) return array;
    Tensor result(wanted);
    for (int64_t i = 0; i < wanted.shape.numel(); ++i) set_element(result, i, element(array.view(), i));
    return result;
  }

  std::string path_;
  Npz npz_;
};

}  // namespace

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
