#include "ir/attrs.h"

#include "ir/support/error.h"

#include <algorithm>

namespace stepc {

Attrs::Attrs(std::initializer_list<std::pair<std::string, AttrValue>> entries) {
  for (const auto& [key, value] : entries) set(key, value);
}

void Attrs::set(std::string_view key, AttrValue value) {
  const auto position = std::lower_bound(entries_.begin(), entries_.end(), key,
                                         [](const auto& entry, std::string_view k) { return entry.first < k; });
  if (position != entries_.end() && position->first == key)
    position->second = std::move(value);
  else
    entries_.insert(position, {std::string(key), std::move(value)});
}

const AttrValue* Attrs::find(std::string_view key) const {
  for (const auto& [name, value] : entries_)
    if (name == key) return &value;
  return nullptr;
}

template <typename T>
const T& Attrs::get(std::string_view key) const {
  const AttrValue* value = find(key);
  CHECK(value != nullptr, "attribute {} is absent", key);
  const T* typed = std::get_if<T>(value);
  CHECK(typed != nullptr, "attribute {} has kind {}", key, value->index());
  return *typed;
}

bool Attrs::flag(std::string_view key) const { return get<bool>(key); }
int64_t Attrs::integer(std::string_view key) const { return get<int64_t>(key); }
double Attrs::real(std::string_view key) const { return get<double>(key); }
const std::string& Attrs::text(std::string_view key) const { return get<std::string>(key); }
Dtype Attrs::dtype(std::string_view key) const { return get<Dtype>(key); }
const std::vector<int64_t>& Attrs::integers(std::string_view key) const { return get<std::vector<int64_t>>(key); }

}  // namespace stepc
