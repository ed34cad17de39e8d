#include "passes/fusion/region_costs.h"

#include "ir/uniform_constant.h"

#include <cstdlib>
#include <cstring>
#include <span>
#include <type_traits>

namespace stepc {
namespace {

// Beyond this a kernel has more live values and pointers than registers, and compile time grows for nothing.
constexpr size_t kMaxNodes = 160;
constexpr size_t kMaxBuffers = 28;
// Fewer segments of rows than this do so where there is work for several processors: so many elements.
constexpr int64_t kFewSegments = 4;
constexpr int64_t kMuchWork = 1 << 18;

bool has_few_segments(const LoopNest& nest) {
  return !nest.columns.empty() && nest.kept_count() <= (kFewSegments - 1) * kColumnSegment &&
         nest.kept_count() * nest.reduced_count() > kMuchWork;
}

// Rows that are long leave processors idle where they are fewer than those.
bool has_few_rows(const Kernel& kernel, const LoopNest& nest, int64_t processors) {
  return nest.is_row() && !kernel.schedule.two_stage && nest.kept_count() < processors &&
         nest.reduced_count() > kRowSegment;
}

std::string why_slow(const Kernel& kernel, int64_t processors) {
  const auto& nest = std::get<LoopNest>(kernel.work);
  if (nest.reductions.empty() && nest.columns.empty()) return {};
  if (has_few_segments(nest) || has_few_rows(kernel, nest, processors)) return "too few rows for the processors";
  for (const Source& source : nest.sources)
    if (const auto* load = std::get_if<LoadSource>(&source))
      if (std::abs(load->at.strides.back()) > 1 && nest.dims.back().extent > 16)
        return "an operand is read across its rows";
  return {};
}

// Bytes that equal values, and no others, give.
class Structure {
 public:
  template <typename T>
  void add(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    text_.append(bytes, sizeof(T));
  }
  void add(std::span<const int64_t> list) {
    add(list.size());
    for (const int64_t item : list) add(item);
  }
  void add(const std::string& text) {
    add(text.size());
    text_ += text;
  }
  void add(const Type& type) {
    add(type.dtype);
    add(std::span<const int64_t>(type.shape.dims()));
  }
  void add(const Attrs& attrs) {
    for (const auto& [key, value] : attrs) {
      add(value.index());  // keys are those that the operation declares, sorted
      std::visit([&](const auto& held) { add_held(held); }, value);
    }
  }
  std::string take() && { return std::move(text_); }

 private:
  void add_held(const std::vector<int64_t>& list) { add(std::span<const int64_t>(list)); }
  template <typename T>
  void add_held(const T& value) {
    add(value);
  }

  std::string text_;
};

}  // namespace

const RegionCosts::Cost& RegionCosts::of(const Region& region) {
  const auto [known, added] = known_.try_emplace(structure(region));
  if (added) known->second = describe(region);
  return known->second;
}

RegionCosts::Cost RegionCosts::describe(const Region& region) const {
  if (region.nodes.size() > kMaxNodes) return {std::nullopt, "a kernel of too many nodes", {}};
  const std::variant<Kernel, std::string> described = describe_region(graph_, region, layouts_of(layouts_));
  if (const auto* reason = std::get_if<std::string>(&described)) return {std::nullopt, *reason, {}};
  const Kernel& kernel = std::get<Kernel>(described);
  if (kernel.buffers.size() > kMaxBuffers) return {std::nullopt, "a kernel of too many operands", {}};
  return {predict(graph_, kernel, device_).us, {}, why_slow(kernel, device_.processors)};
}

std::string RegionCosts::structure(const Region& region) const {
  Structure structure;
  std::unordered_map<int32_t, int32_t> numbers;  // of values, by index, in order of appearance
  const auto add_value = [&](ValueId value) {
    const auto [number, is_new] = numbers.try_emplace(value.index, static_cast<int32_t>(numbers.size()));
    structure.add(number->second);
    if (!is_new) return;
    structure.add(graph_.type(value));
    structure.add(std::span<const int64_t>(layouts_.of(value).strides));
    const std::optional<double> number_of = uniform_constant(graph_, value);
    structure.add(number_of.has_value());
    if (number_of) structure.add(*number_of);
  };
  structure.add(region.nodes.size());
  for (const NodeId id : region.nodes) {
    const Node& node = graph_.node(id);
    structure.add(node.op);
    structure.add(node.attrs);
    structure.add(node.inputs.size());
    for (const ValueId input : node.inputs)
      if (input.valid())
        add_value(input);
      else
        structure.add(int32_t{-1});
    structure.add(node.outputs.size());
    for (const ValueId output : node.outputs) add_value(output);
  }
  structure.add(region.results.size());
  for (const ValueId result : region.results) add_value(result);
  return std::move(structure).take();
}

}  // namespace stepc
