#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace stepc {

// FNV-1a with 128 bits: names content in caches and side files, equal on every machine. Not for untrusted collisions.
class Hasher {
 public:
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(std::as_bytes(std::span(text.data(), text.size()))); }
  std::string hex() const;  // 32 lower-case digits

 private:
  uint64_t high_ = 0x6c62272e07bb0142;
  uint64_t low_ = 0x62b821756295c58d;
};

std::string digest(std::string_view text);  // its hash, as hex() has it

}  // namespace stepc
