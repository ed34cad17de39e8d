#include "models/onnx/weights.h"

#include "ir/support/error.h"
#include "ir/support/glob.h"
#include "ir/support/quote.h"
#include "models/onnx/causal_initializer.h"
#include "models/onnx/element_types.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

namespace stepc::onnx_import {
namespace {

// Tensors up to this size that do not train become constants, which rules and folding can see. Larger ones stay
// weights: a constant is copied with every copy of the graph. Causal masks of any size are computed.
constexpr int64_t kConstantLimit = int64_t{1} << 16;
constexpr size_t kNamedInNote = 3;

bool matches_any(const std::vector<std::string>& globs, const std::string& initializer, const std::string& name) {
  return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
    return glob_matches(glob, initializer) || glob_matches(glob, name);
  });
}

}  // namespace

Weights::Weights(const ModelFile& file, const ImportOptions& options) {
  const Readers readers = readers_of_initializers(file.graph());
  std::vector<ParameterIdentity> identities = identify_parameters(file.graph(), readers);
  const std::vector<StoredTensor>& tensors = file.initializers();
  const std::vector<Tie> ties = find_ties(tensors, readers, identities);
  for (size_t i = 0; i < tensors.size(); ++i) {
    Entry& entry = entries_.emplace_back();
    entry.tensor = &tensors[i];
    entry.identity = std::move(identities[i]);
    entry.tie = ties[i];
    entry.type = tensors[i].type;
    if (options.compute_f32) entry.type.dtype = widened(entry.type.dtype);
    entry.decision = decide_from_file(tensors[i], entry.identity);
    entry.candidate = entry.decision.trainable;
  }
  apply_globs(options);
}

void Weights::apply_globs(const ImportOptions& options) {
  const auto require_match = [&](const char* option, const std::string& glob) {
    if (std::none_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return matches_any({glob}, entry.tensor->name, entry.identity.name); }))
      user_error("{} {}: no initializer of the model has such a name", option, in_quotes(glob));
  };
  for (const std::string& glob : options.trainable) require_match("--trainable", glob);
  for (const std::string& glob : options.frozen) require_match("--frozen", glob);
  for (Entry& entry : entries_) {
    const bool is_real = is_float(entry.type.dtype);
    if (!options.trainable.empty() && is_real) {
      entry.forced = matches_any(options.trainable, entry.tensor->name, entry.identity.name);
      entry.decision = entry.forced ? Decision{true, "chosen by --trainable"} : Decision{false, "not in --trainable"};
    }
    if (is_real && matches_any(options.frozen, entry.tensor->name, entry.identity.name)) {
      entry.decision = {false, "chosen by --frozen"};
      entry.forced = false;
    }
  }
}

bool Weights::is_weight(const Entry& entry) const {
  return entry.candidate || entry.forced || !entry.tensor->data || entry.type.shape.numel() > kConstantLimit ||
         (is_float(entry.type.dtype) && entry.identity.kind == ParameterKind::parameter &&
          entry.type.shape.numel() > 1);
}

std::string Weights::input_name(const Graph& graph, const Entry& entry) const {
  return graph.find_input(entry.identity.name) == nullptr ? entry.identity.name : entry.tensor->name;
}

ValueId Weights::add_entry(Builder& builder, Entry& entry) const {
  Graph& graph = builder.graph();
  if (entry.tie.first >= 0) {
    const ValueId first = entries_[static_cast<size_t>(entry.tie.first)].value;
    return entry.tie.transposed ? builder.transpose(first, {1, 0}) : first;
  }
  if (entry.type.shape.numel() > kConstantLimit && entry.tensor->data && !entry.candidate && !entry.forced)
    if (const ValueId mask = causal_initializer(builder, *entry.tensor->data, entry.type.dtype); mask.valid())
      return mask;
  if (is_weight(entry))
    return graph.add_input(entry.type, InputRole::weight, input_name(graph, entry), entry.tensor->name,
                           entry.decision.trainable);
  return builder.constant(convert(*entry.tensor->data, entry.type.dtype));
}

std::vector<ValueId> Weights::add_to(Builder& builder) {
  // A copy may come before its first in the file.
  for (const bool copies : {false, true})
    for (Entry& entry : entries_)
      if ((entry.tie.first >= 0) == copies) entry.value = add_entry(builder, entry);
  std::vector<ValueId> values;
  for (const Entry& entry : entries_) values.push_back(entry.value);
  return values;
}

void Weights::settle(Graph& graph) {
  std::set<ValueId> parameters;
  for (const Entry& entry : entries_)
    if (entry.forced || entry.identity.kind == ParameterKind::parameter) parameters.insert(entry.value);
  const std::vector<bool> reached = inputs_on_gradient_path(graph, parameters);
  for (Entry& entry : entries_) {
    // Constants that nobody reads are folded into others; they keep the reason they have.
    if (entry.tie.first >= 0 || !graph.alive(entry.value) || graph.input_of(entry.value) == nullptr) continue;
    if (!graph.is_used(entry.value))
      entry.decision = {false, "not read by any node that the outputs need"};
    else if (entry.decision.trainable && !reached[static_cast<size_t>(graph.value(entry.value).output)])
      entry.decision = {false, "no differentiable path from it to a float output"};
  }
  for (Entry& entry : entries_) {
    if (entry.tie.first >= 0) {
      const Entry& first = entries_[static_cast<size_t>(entry.tie.first)];
      entry.decision = {first.decision.trainable, (entry.tie.transposed ? "the transpose of '" : "a copy of '") +
                                                      one_line(first.tensor->name, 160) + "', tied to it again"};
      continue;
    }
    if (!graph.alive(entry.value) || graph.input_of(entry.value) == nullptr) continue;
    if (graph.is_used(entry.value))
      graph.mutable_input(static_cast<size_t>(graph.value(entry.value).output)).trainable = entry.decision.trainable;
    else
      graph.remove_input(entry.value);
  }
}

std::vector<Initializer> Weights::describe() const {
  std::vector<Initializer> result;
  for (const Entry& entry : entries_) {
    Initializer& initializer = result.emplace_back();
    initializer.initializer = entry.tensor->name;
    initializer.name = entry.identity.name;
    initializer.type = entry.type;
    initializer.trainable = entry.decision.trainable;
    initializer.reason = entry.decision.reason;
    initializer.data = entry.tensor->data;
    if (entry.tie.first < 0) continue;
    initializer.tied_to = entries_[static_cast<size_t>(entry.tie.first)].tensor->name;
    initializer.transposed = entry.tie.transposed;
  }
  return result;
}

void Weights::add_notes(std::vector<std::string>& notes) const {
  std::vector<std::string> derived;
  std::vector<std::string> expanded;
  int64_t widened_count = 0;
  for (const Entry& entry : entries_) {
    const std::string name = in_quotes(entry.tensor->name);
    if (entry.tie.first >= 0)
      notes.push_back(fmt::format("tied again: {} is {} {}; both are trained as one weight", name,
                                  entry.tie.transposed ? "the transpose of" : "a copy of",
                                  in_quotes(entries_[static_cast<size_t>(entry.tie.first)].tensor->name)));
    if (!entry.identity.derived_from.empty())
      (entry.decision.trainable ? derived : expanded)
          .push_back(fmt::format("{} from {}", name, in_quotes(entry.identity.derived_from)));
    widened_count += entry.type.dtype != entry.tensor->type.dtype ? 1 : 0;
  }
  const auto list = [](const std::vector<std::string>& items) {
    const size_t shown = std::min(items.size(), kNamedInNote);
    return fmt::format("{}{}", fmt::join(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                       shown < items.size() ? fmt::format(" and {} more", items.size() - shown) : "");
  };
  if (!derived.empty())
    notes.push_back(
        "the exporter computed " + list(derived) +
        ": trained in place of the parameter; export without constant folding to train the parameter itself");
  if (!expanded.empty())
    notes.push_back(
        "the exporter expanded " + list(expanded) +
        ": frozen, since its elements are not independent; export with dynamic shapes to train the parameter");
  if (widened_count > 0)
    notes.push_back(fmt::format("{} float16 or bfloat16 initializers are computed in float32", widened_count));
}

}  // namespace stepc::onnx_import
