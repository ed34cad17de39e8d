#pragma once

#include "ir/dtype.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace stepc {

using AttrValue = std::variant<bool, int64_t, double, std::string, Dtype, std::vector<int64_t>>;
enum class AttrKind : uint8_t { boolean, integer, real, text, dtype, integers };  // order of AttrValue's alternatives

inline AttrKind attr_kind(const AttrValue& value) { return static_cast<AttrKind>(value.index()); }

// The typed attributes of one node, sorted by key. Reading an absent key or one of another kind is a bug of ours:
// OpDef declares every attribute and Graph::insert checks them.
class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<std::string, AttrValue>> entries);

  void set(std::string_view key, AttrValue value);
  const AttrValue* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }

  bool flag(std::string_view key) const;
  int64_t integer(std::string_view key) const;
  double real(std::string_view key) const;
  const std::string& text(std::string_view key) const;
  Dtype dtype(std::string_view key) const;
  const std::vector<int64_t>& integers(std::string_view key) const;

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  size_t size() const { return entries_.size(); }
  bool operator==(const Attrs&) const = default;

 private:
  template <typename T>
  const T& get(std::string_view key) const;

  std::vector<std::pair<std::string, AttrValue>> entries_;
};

}  // namespace stepc
