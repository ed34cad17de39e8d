#pragma once

#include "models/atomic_file.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stepc {

// A ZIP archive read from memory (PKWARE APPNOTE 6.3.10): stored and deflated members, ZIP64 sizes. No member's claimed
// size is believed beyond what its compressed bytes can expand to. Throws UserError where the archive is damaged.
class ZipReader {
 public:
  struct Member {
    std::string name;
    uint16_t method = 0;
    uint32_t crc = 0;
    uint64_t compressed_bytes = 0;
    uint64_t bytes = 0;
    uint64_t header_offset = 0;
  };

  // `path` is for messages; `data` must outlive the reader.
  ZipReader(std::string path, const std::byte* data, size_t size);

  const std::vector<Member>& members() const { return members_; }
  std::vector<std::byte> read(const Member& member) const;

 private:
  [[noreturn]] void damaged(const char* what) const;
  uint64_t number(uint64_t offset, int bytes) const;  // little-endian, bounds checked
  void read_directory();
  void read_zip64_sizes(Member& member, uint64_t extra, uint64_t extra_bytes) const;

  std::string path_;
  const std::byte* data_;
  size_t size_;
  std::vector<Member> members_;
};

// Writes members without compression, one after the other, to a file that the caller commits.
class ZipWriter {
 public:
  explicit ZipWriter(AtomicFile& file) : file_(file) {}
  void add(const std::string& name, std::span<const std::byte> bytes);
  void finish();

 private:
  struct Entry {
    std::string name;
    uint32_t crc = 0;
    uint64_t bytes = 0;
    uint64_t offset = 0;
  };
  void put(uint64_t value, int bytes);
  void write_header();

  AtomicFile& file_;
  uint64_t written_ = 0;
  std::string header_;  // collected, so that a header is one write
  std::vector<Entry> entries_;
};

}  // namespace stepc
