#include "tools/driver/io/zip.h"

#include "ir/support/error.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace stepc {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kCentralHeader = 0x02014b50;
constexpr uint32_t kEndOfDirectory = 0x06054b50;
constexpr uint32_t kZip64EndOfDirectory = 0x06064b50;
constexpr uint32_t kZip64Locator = 0x07064b50;
constexpr uint16_t kZip64Extra = 1;
constexpr uint32_t kIn64 = 0xffffffff;  // the field's value is in the ZIP64 record
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;
constexpr uint64_t kMaxDeflateRatio = 1032;  // zlib's technical notes: no stream expands further

uint32_t crc_of(const std::byte* data, size_t size) {
  uLong crc = crc32(0, nullptr, 0);
  while (size > 0) {  // zlib counts in uInt
    const auto part = static_cast<uInt>(std::min<size_t>(size, std::numeric_limits<uInt>::max()));
    crc = crc32(crc, reinterpret_cast<const Bytef*>(data), part);
    data += part;
    size -= part;
  }
  return static_cast<uint32_t>(crc);
}

}  // namespace

ZipReader::ZipReader(std::string path, const std::byte* data, size_t size)
    : path_(std::move(path)), data_(data), size_(size) {
  read_directory();
}

void ZipReader::damaged(const char* what) const { user_error("{}: not a readable .npz archive: {}", path_, what); }

uint64_t ZipReader::number(uint64_t offset, int bytes) const {
  if (offset > size_ || static_cast<uint64_t>(bytes) > size_ - offset) damaged("truncated");
  uint64_t value = 0;
  for (int i = bytes; i-- > 0;)
    value = value << 8 | std::to_integer<uint64_t>(data_[offset + static_cast<uint64_t>(i)]);
  return value;
}

void ZipReader::read_directory() {
  constexpr uint64_t kEndBytes = 22;
  constexpr uint64_t kMaxComment = 65535;
  if (size_ < kEndBytes) damaged("truncated");
  uint64_t end = size_ - kEndBytes;
  const uint64_t stop = end > kMaxComment ? end - kMaxComment : 0;
  while (number(end, 4) != kEndOfDirectory) {
    if (end == stop) damaged("no end-of-directory record");
    --end;
  }
  uint64_t count = number(end + 10, 2);
  uint64_t offset = number(end + 16, 4);
  if (end >= 20 && number(end - 20, 4) == kZip64Locator) {
    const uint64_t record = number(end - 12, 8);
    if (number(record, 4) != kZip64EndOfDirectory) damaged("damaged ZIP64 record");
    count = number(record + 32, 8);
    offset = number(record + 48, 8);
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (number(offset, 4) != kCentralHeader) damaged("damaged directory");
    Member member;
    member.method = static_cast<uint16_t>(number(offset + 10, 2));
    member.crc = static_cast<uint32_t>(number(offset + 16, 4));
    member.compressed_bytes = number(offset + 20, 4);
    member.bytes = number(offset + 24, 4);
    member.header_offset = number(offset + 42, 4);
    const uint64_t name_bytes = number(offset + 28, 2);
    const uint64_t extra_bytes = number(offset + 30, 2);
    const uint64_t comment_bytes = number(offset + 32, 2);
    number(offset + 46 + name_bytes + extra_bytes, 0);  // inside the file
    member.name.assign(reinterpret_cast<const char*>(data_ + offset + 46), name_bytes);
    read_zip64_sizes(member, offset + 46 + name_bytes, extra_bytes);
    offset += 46 + name_bytes + extra_bytes + comment_bytes;
    members_.push_back(std::move(member));
  }
}

void ZipReader::read_zip64_sizes(Member& member, uint64_t extra, uint64_t extra_bytes) const {
  const uint64_t end = extra + extra_bytes;
  while (extra + 4 <= end) {
    const uint64_t id = number(extra, 2);
    const uint64_t bytes = number(extra + 2, 2);
    if (id == kZip64Extra) {
      uint64_t field = extra + 4;
      for (uint64_t* value : {&member.bytes, &member.compressed_bytes, &member.header_offset}) {
        if (*value != kIn64) continue;
        *value = number(field, 8);
        field += 8;
      }
      return;
    }
    extra += 4 + bytes;
  }
}

std::vector<std::byte> ZipReader::read(const Member& member) const {
  if (number(member.header_offset, 4) != kLocalHeader) damaged("damaged member header");
  const uint64_t start =
      member.header_offset + 30 + number(member.header_offset + 26, 2) + number(member.header_offset + 28, 2);
  if (start > size_ || member.compressed_bytes > size_ - start) damaged("truncated member");
  if (member.method == kStored ? member.bytes != member.compressed_bytes
                               : member.bytes > member.compressed_bytes * kMaxDeflateRatio + 64)
    damaged("a member claims an impossible size");

  std::vector<std::byte> bytes(member.bytes);
  if (member.method == kStored) {
    std::copy_n(data_ + start, member.bytes, bytes.begin());
  } else if (member.method == kDeflated) {
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) damaged("zlib cannot start");
    int status = Z_OK;
    uint64_t read = 0;
    uint64_t written = 0;
    constexpr uint64_t kPart = uint64_t{1} << 30;
    while (status == Z_OK) {
      const auto in = static_cast<uInt>(std::min(kPart, member.compressed_bytes - read));
      const auto out = static_cast<uInt>(std::min(kPart, member.bytes - written));
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(data_ + start + read));
      stream.avail_in = in;
      stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + written);
      stream.avail_out = out;
      status = inflate(&stream, Z_NO_FLUSH);
      read += in - stream.avail_in;
      written += out - stream.avail_out;
      if (in == stream.avail_in && out == stream.avail_out) break;  // no progress: damaged
    }
    inflateEnd(&stream);
    if (status != Z_STREAM_END || written != member.bytes) damaged("damaged compressed data");
  } else {
    damaged("a member uses an unknown compression method");
  }
  if (crc_of(bytes.data(), bytes.size()) != member.crc) damaged("checksum mismatch");
  return bytes;
}

void ZipWriter::put(uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) header_ += static_cast<char>(value >> (8 * i));
}

void ZipWriter::write_header() {
  file_.write(header_);
  written_ += header_.size();
  header_.clear();
}

// Every header carries ZIP64 sizes, so that large members need no second form.
void ZipWriter::add(const std::string& name, std::span<const std::byte> bytes) {
  const Entry entry{name, crc_of(bytes.data(), bytes.size()), bytes.size(), written_};
  put(kLocalHeader, 4);
  put(45, 2);  // version needed: ZIP64
  put(0, 2);
  put(kStored, 2);
  put(0x00210000, 4);  // 1980-01-01 00:00
  put(entry.crc, 4);
  put(kIn64, 4);
  put(kIn64, 4);
  put(name.size(), 2);
  put(20, 2);
  header_ += name;
  put(kZip64Extra, 2);
  put(16, 2);
  put(entry.bytes, 8);
  put(entry.bytes, 8);
  write_header();
  file_.write(bytes);
  written_ += bytes.size();
  entries_.push_back(entry);
}

void ZipWriter::finish() {
  const uint64_t directory = written_;
  for (const Entry& entry : entries_) {
    put(kCentralHeader, 4);
    put(45, 2);
    put(45, 2);
    put(0, 2);
    put(kStored, 2);
    put(0x00210000, 4);
    put(entry.crc, 4);
    put(kIn64, 4);
    put(kIn64, 4);
    put(entry.name.size(), 2);
    put(28, 2);
    put(0, 2);  // comment
    put(0, 2);  // disk
    put(0, 2);
    put(0, 4);
    put(kIn64, 4);
    header_ += entry.name;
    put(kZip64Extra, 2);
    put(24, 2);
    put(entry.bytes, 8);
    put(entry.bytes, 8);
    put(entry.offset, 8);
  }
  const uint64_t end = directory + header_.size();
  put(kZip64EndOfDirectory, 4);
  put(44, 8);
  put(45, 2);
  put(45, 2);
  put(0, 4);
  put(0, 4);
  put(entries_.size(), 8);
  put(entries_.size(), 8);
  put(end - directory, 8);
  put(directory, 8);
  put(kZip64Locator, 4);
  put(0, 4);
  put(end, 8);
  put(1, 4);
  put(kEndOfDirectory, 4);
  put(0, 2);
  put(0, 2);
  put(0xffff, 2);
  put(0xffff, 2);
  put(kIn64, 4);
  put(kIn64, 4);
  put(0, 2);
  write_header();
}

}  // namespace stepc
