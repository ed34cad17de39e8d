#include "tools/driver/io/npz.h"

#include "ir/half.h"
#include "ir/support/checked.h"
#include "models/atomic_file.h"
#include "tools/driver/io/files.h"
#include "tools/driver/io/zip.h"

#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

namespace stepc {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct NpyHeader {
  std::string descr;  // "<f4", "<U24"
  bool fortran_order = false;
  Shape shape;
};

// The text after 'key': in the Python literal that heads an array.
std::string_view field(std::string_view header, std::string_view key, const std::string& where) {
  const size_t at = header.find(key);
  if (at == std::string_view::npos) user_error("{}: the array's header lacks {}", where, key);
  std::string_view rest = header.substr(at + key.size());
  const size_t start = rest.find_first_not_of("': ");
  return start == std::string_view::npos ? std::string_view() : rest.substr(start);
}

Shape parse_shape(std::string_view text, const std::string& where) {
  Dims dims;
  const size_t close = text.find(')');
  if (text.empty() || text[0] != '(' || close == std::string_view::npos) user_error("{}: damaged array header", where);
  const char* at = text.data() + 1;
  const char* end = text.data() + close;
  while (at != end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int64_t dim = 0;
    const auto [after, error] = std::from_chars(at, end, dim);
    if (error != std::errc() || dim < 0) user_error("{}: damaged array header", where);
    dims.push_back(dim);
    at = after;
  }
  return Shape(std::move(dims));
}

NpyHeader parse_header(const std::vector<std::byte>& bytes, size_t& data_offset, const std::string& where) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!all.starts_with(kMagic) || all.size() < 12) user_error("{}: not a NumPy array", where);
  const bool wide = bytes[6] != std::byte{1};  // versions 2 and 3 have a 4-byte length
  size_t length = 0;
  for (size_t i = wide ? 4 : 2; i-- > 0;) length = length << 8 | std::to_integer<size_t>(bytes[8 + i]);
  data_offset = (wide ? 12U : 10U) + length;
  if (data_offset > all.size()) user_error("{}: truncated array", where);
  const std::string_view text = all.substr(wide ? 12 : 10, length);
  NpyHeader header;
  const std::string_view descr = field(text, "'descr'", where);
  header.descr = std::string(descr.substr(0, descr.find('\'')));
  header.fortran_order = field(text, "'fortran_order'", where).starts_with("True");
  header.shape = parse_shape(field(text, "'shape'", where), where);
  return header;
}

std::optional<Dtype> dtype_of(std::string_view descr) {
  if (descr == "<f4") return Dtype::f32;
  if (descr == "<f8") return Dtype::f64;
  if (descr == "<f2") return Dtype::f16;
  if (descr == "<i8") return Dtype::i64;
  if (descr == "<i4") return Dtype::i32;
  if (descr == "|i1") return Dtype::i8;
  if (descr == "|u1") return Dtype::u8;
  if (descr == "|b1") return Dtype::boolean;
  return std::nullopt;
}

std::string_view descr_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
    case Dtype::bf16: return "<f4";
    case Dtype::f64: return "<f8";
    case Dtype::f16: return "<f2";
    case Dtype::i64: return "<i8";
    case Dtype::i32: return "<i4";
    case Dtype::i8: return "|i1";
    case Dtype::u8: return "|u1";
    case Dtype::boolean: return "|b1";
  }
  return "|V1";
}

// Column-major elements into row-major order.
Tensor from_fortran_order(const Tensor& columns) {
  const Shape& shape = columns.type().shape;
  const auto size = static_cast<size_t>(dtype_bytes(columns.type().dtype));
  Tensor rows(columns.type());
  Dims at(shape.rank(), 0);
  for (int64_t i = 0; i < shape.numel(); ++i) {
    int64_t from = 0;
    for (size_t axis = shape.rank(); axis-- > 0;) from = from * shape[axis] + at[axis];
    std::memcpy(rows.bytes().data() + static_cast<size_t>(i) * size,
                columns.bytes().data() + static_cast<size_t>(from) * size, size);
    for (size_t axis = shape.rank(); axis-- > 0 && ++at[axis] == shape[axis];) at[axis] = 0;
  }
  return rows;
}

// Fixed-width UTF-32 strings; only ASCII occurs in names.
std::vector<std::string> read_texts(const NpyHeader& header, std::span<const std::byte> data,
                                    const std::string& where) {
  int64_t width = 0;
  std::from_chars(header.descr.data() + 2, header.descr.data() + header.descr.size(), width);
  if (checked_mul(checked_mul(header.shape.numel(), width), 4) != static_cast<int64_t>(data.size()))
    user_error("{}: the array's size does not match its shape", where);
  std::vector<std::string> texts;
  for (int64_t i = 0; i < header.shape.numel(); ++i) {
    std::string text;
    for (int64_t k = 0; k < width; ++k) {
      const std::byte* c = data.data() + (i * width + k) * 4;
      if (*c != std::byte{0}) text += static_cast<char>(*c);
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<std::byte> npy_bytes(const TensorView& tensor) {
  std::string dims;
  for (const int64_t dim : tensor.type.shape) dims += std::to_string(dim) + ",";
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr_of(tensor.type.dtype), dims);
  header.append(63 - (kMagic.size() + 4 + header.size()) % 64, ' ');
  header += '\n';
  std::string head(kMagic);
  head += '\x01';
  head += '\x00';
  head += static_cast<char>(header.size() & 0xff);
  head += static_cast<char>(header.size() >> 8);
  head += header;
  const auto* text = reinterpret_cast<const std::byte*>(head.data());
  std::vector<std::byte> bytes(text, text + head.size());
  if (tensor.type.dtype == Dtype::bf16) {
    for (const uint16_t bits : tensor.as<uint16_t>()) {
      const float value = bf16_to_f32(bits);
      const auto* raw = reinterpret_cast<const std::byte*>(&value);
      bytes.insert(bytes.end(), raw, raw + sizeof value);
    }
  } else {
    bytes.insert(bytes.end(), tensor.data, tensor.data + tensor.type.bytes());
  }
  return bytes;
}

}  // namespace

const Tensor* Npz::find(const std::string& name) const {
  const auto entry = arrays.find(name);
  return entry == arrays.end() ? nullptr : &entry->second;
}

Npz read_npz(const std::string& path) {
  const MappedInput file(path);
  const ZipReader zip(path, file.data(), file.size());
  Npz npz;
  for (const ZipReader::Member& member : zip.members()) {
    if (!member.name.ends_with(".npy")) continue;
    const std::string name = member.name.substr(0, member.name.size() - 4);
    const std::string where = fmt::format("{}: array '{}'", path, name);
    const std::vector<std::byte> bytes = zip.read(member);
    size_t offset = 0;
    const NpyHeader header = parse_header(bytes, offset, where);
    const std::span<const std::byte> data = std::span(bytes).subspan(offset);
    if (header.descr.starts_with("<U")) {
      npz.texts[name] = read_texts(header, data, where);
      continue;
    }
    const std::optional<Dtype> dtype = dtype_of(header.descr);
    if (!dtype) user_error("{} has dtype {}, which is not supported", where, header.descr);
    const Type type{*dtype, header.shape};
    if (type.bytes() != static_cast<int64_t>(data.size()))
      user_error("{}: {} bytes of data for {}", where, data.size(), to_string(type));
    Tensor tensor(type, data);
    npz.arrays.insert_or_assign(name, header.fortran_order ? from_fortran_order(tensor) : std::move(tensor));
  }
  return npz;
}

void write_npz(const std::string& path, const std::vector<TensorSource>& arrays) {
  AtomicFile file(path);
  ZipWriter zip(file);
  for (const TensorSource& array : arrays) zip.add(array.name + ".npy", npy_bytes(array.make().view()));
  zip.finish();
  file.commit();
}

}  // namespace stepc
