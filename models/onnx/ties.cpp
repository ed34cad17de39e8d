#include "models/onnx/ties.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

namespace stepc::onnx_import {
namespace {

uint64_t mix(uint64_t x) {  // splitmix64 (Steele et al. 2014)
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t bits(const TensorView& view, int64_t index) {
  const auto width = static_cast<size_t>(dtype_bytes(view.type.dtype));
  uint64_t value = 0;
  std::memcpy(&value, view.data + static_cast<size_t>(index) * width, width);
  return value;
}

// Equal for a matrix and its transpose: the sum of the hashes of all elements.
uint64_t unordered_hash(const TensorView& view) {
  uint64_t hash = 0;
  for (int64_t i = 0; i < view.type.shape.numel(); ++i) hash += mix(bits(view, i));
  return hash;
}

bool same_payload(const TensorView& a, const TensorView& b) {
  return a.type == b.type && std::memcmp(a.data, b.data, static_cast<size_t>(a.type.bytes())) == 0;
}

bool transposed_payload(const TensorView& a, const TensorView& b) {
  const Shape& shape = a.type.shape;
  if (a.type.dtype != b.type.dtype || shape.rank() != 2 || b.type.shape != Shape({shape[1], shape[0]})) return false;
  for (int64_t i = 0; i < shape[0]; ++i)
    for (int64_t j = 0; j < shape[1]; ++j)
      if (bits(a, i * shape[1] + j) != bits(b, j * shape[0] + i)) return false;
  return true;
}

bool all_equal(const TensorView& view) {
  for (int64_t i = 1; i < view.type.shape.numel(); ++i)
    if (bits(view, i) != bits(view, 0)) return false;
  return true;
}

bool read_as(const Readers& readers, const std::string& name, std::string_view op, int operand) {
  const auto found = readers.find(name);
  return found != readers.end() && std::any_of(found->second.begin(), found->second.end(), [&](const Reader& reader) {
           return reader.node->op_type() == op && reader.operand == operand;
         });
}

// Tensors with one key may be copies of each other: how they are related, dims in ascending order, dtype.
using Key = std::tuple<std::string, Dims, Dtype>;

class TieFinder {
 public:
  explicit TieFinder(const std::vector<StoredTensor>& tensors) : tensors_(tensors), ties_(tensors.size()) {}

  // Compares each of `members` with the distinct tensors found so far that have its hash and may have copies.
  void compare(const std::vector<size_t>& members, const std::function<bool(size_t)>& may_be_copied) {
    std::map<uint64_t, std::vector<size_t>> distinct;
    for (const size_t member : members) {
      std::vector<size_t>& candidates = distinct[unordered_hash(*tensors_[member].data)];
      const auto original =
          std::find_if(candidates.begin(), candidates.end(), [&](size_t candidate) { return tie(candidate, member); });
      if (original == candidates.end() && may_be_copied(member)) candidates.push_back(member);
    }
  }

  const std::vector<Tie>& ties() const { return ties_; }

 private:
  bool tie(size_t first, size_t copy) {
    const TensorView& a = *tensors_[first].data;
    const TensorView& b = *tensors_[copy].data;
    const bool same = same_payload(a, b);
    if (!same && !transposed_payload(a, b)) return false;
    // One representative per tied set, and it is never itself a copy.
    const size_t root = ties_[first].first < 0 ? first : static_cast<size_t>(ties_[first].first);
    if (root == copy || ties_[copy].first >= 0) return true;
    ties_[copy] = {static_cast<int>(root), ties_[first].transposed != !same};
    return true;
  }

  const std::vector<StoredTensor>& tensors_;
  std::vector<Tie> ties_;
};

// Takes recovered names back where one would stand for different tensors, or for one that has it in the file.
void drop_ambiguous_names(const std::vector<StoredTensor>& tensors, const std::vector<Tie>& ties,
                          std::vector<ParameterIdentity>& identities) {
  std::map<std::string, std::vector<size_t>> owners;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (ties[i].first < 0) owners[identities[i].name].push_back(i);
  for (const auto& [name, indices] : owners) {
    if (indices.size() < 2) continue;
    for (const size_t i : indices) {
      identities[i].name = tensors[i].name;
      identities[i].recovered = false;
    }
  }
}

}  // namespace

std::vector<Tie> find_ties(const std::vector<StoredTensor>& tensors, const Readers& readers,
                           std::vector<ParameterIdentity>& identities) {
  std::map<Key, std::vector<size_t>> groups;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const StoredTensor& tensor = tensors[i];
    if (!tensor.data || !is_float(tensor.type.dtype) || tensor.type.shape.rank() < 2) continue;
    if (identities[i].kind == ParameterKind::buffer || identities[i].kind == ParameterKind::constant) continue;
    Dims sorted = tensor.type.shape.dims();
    std::sort(sorted.begin(), sorted.end());
    groups[{"name " + identities[i].name, sorted, tensor.type.dtype}].push_back(i);
    const bool table = read_as(readers, tensor.name, "Gather", 0);
    const bool matrix = read_as(readers, tensor.name, "MatMul", 1) || read_as(readers, tensor.name, "Gemm", 1);
    if (table != matrix && tensor.type.shape.rank() == 2)
      groups[{"embedding and head", sorted, tensor.type.dtype}].push_back(i);
  }
  TieFinder finder(tensors);
  for (auto& [key, members] : groups) {
    const bool heads = std::get<0>(key) == "embedding and head";
    const auto is_table = [&](size_t i) { return read_as(readers, tensors[i].name, "Gather", 0); };
    // Layers of one size form a large group of matrices: without a table among them there is nothing to tie.
    if (members.size() < 2 || (heads && std::none_of(members.begin(), members.end(), is_table))) continue;
    std::erase_if(members, [&](size_t i) { return all_equal(*tensors[i].data); });
    if (heads) std::stable_partition(members.begin(), members.end(), is_table);
    finder.compare(members, [&](size_t i) { return !heads || is_table(i); });
  }
  drop_ambiguous_names(tensors, finder.ties(), identities);
  return finder.ties();
}

}  // namespace stepc::onnx_import
