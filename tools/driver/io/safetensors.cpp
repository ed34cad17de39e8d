#include "tools/driver/io/safetensors.h"

#include "ir/support/checked.h"
#include "models/atomic_file.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstring>
#include <optional>
#include <string_view>

namespace stepc {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr size_t kLengthBytes = 8;

constexpr std::array<std::pair<Dtype, std::string_view>, 9> kDtypes{{{Dtype::f32, "F32"},
                                                                     {Dtype::f64, "F64"},
                                                                     {Dtype::f16, "F16"},
                                                                     {Dtype::bf16, "BF16"},
                                                                     {Dtype::i64, "I64"},
                                                                     {Dtype::i32, "I32"},
                                                                     {Dtype::i8, "I8"},
                                                                     {Dtype::u8, "U8"},
                                                                     {Dtype::boolean, "BOOL"}}};

std::optional<Dtype> dtype_of(std::string_view name) {
  for (const auto& [dtype, text] : kDtypes)
    if (text == name) return dtype;
  return std::nullopt;
}

std::string_view name_of(Dtype dtype) {
  for (const auto& [known, text] : kDtypes)
    if (known == dtype) return text;
  return {};
}

TensorView tensor_view(const std::string& where, const Json& entry, std::span<const std::byte> data) {
  const std::optional<Dtype> dtype = dtype_of(entry.at("dtype").get<std::string>());
  if (!dtype) user_error("{} has dtype {}, which is not supported", where, entry.at("dtype").get<std::string>());
  const Type type{*dtype, Shape(entry.at("shape").get<Dims>())};
  const auto range = entry.at("data_offsets").get<std::array<size_t, 2>>();
  if (range[0] > range[1] || range[1] > data.size() || static_cast<int64_t>(range[1] - range[0]) != type.bytes())
    user_error("{}: its place in the file does not hold {}", where, to_string(type));
  return {type, data.data() + range[0]};
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : file_(path) {
  uint64_t length = 0;
  if (file_.size() >= kLengthBytes) std::memcpy(&length, file_.data(), kLengthBytes);
  if (file_.size() < kLengthBytes || length > kMaxHeaderBytes || length > file_.size() - kLengthBytes)
    user_error("{}: not a .safetensors file, or truncated", path);
  const auto* text = reinterpret_cast<const char*>(file_.data() + kLengthBytes);
  const std::span<const std::byte> data = file_.bytes().subspan(kLengthBytes + length);
  try {
    const Json header = Json::parse(text, text + length);
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__")
        metadata_ = entry.get<std::map<std::string, std::string>>();
      else
        tensors_.emplace(name, tensor_view(fmt::format("{}: tensor '{}'", path, name), entry, data));
    }
  } catch (const nlohmann::json::exception&) {
    user_error("{}: the header is damaged", path);
  }
}

const TensorView* SafetensorsFile::find(const std::string& name) const {
  const auto entry = tensors_.find(name);
  return entry == tensors_.end() ? nullptr : &entry->second;
}

void write_safetensors(const std::string& path, const std::vector<TensorSource>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  int64_t offset = 0;
  for (const TensorSource& tensor : tensors) {
    const int64_t end = checked_add(offset, tensor.type.bytes());
    header[tensor.name] = {
        {"dtype", name_of(tensor.type.dtype)}, {"shape", tensor.type.shape.dims()}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');  // tensors start aligned
  const uint64_t length = text.size();
  AtomicFile file(path);
  file.reserve(checked_add(offset, static_cast<int64_t>(kLengthBytes + length)));
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(text);
  for (const TensorSource& tensor : tensors) file.write(tensor.make().bytes());
  file.commit();
}

}  // namespace stepc
