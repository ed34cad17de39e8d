#include "tools/driver/session.h"

#include "ir/support/error.h"
#include "passes/loss.h"
#include "tools/driver/io/npz.h"

#include <charconv>
#include <cmath>

namespace stepc {
namespace {

constexpr const char* kStepKey = "stepc.step";
constexpr const char* kStatePrefix = "state/";  // before the names of optimizer state, which are not weights

// Copies of weights are made anew, so that runs of any precision resume each other's weights.
bool is_copy(const GraphInput& input) { return input.role == InputRole::state && !input.initializer.empty(); }
bool is_saved(const GraphInput& input) {
  return input.role == InputRole::weight || (input.role == InputRole::state && !is_copy(input));
}

std::string saved_name(const GraphInput& input) {
  if (input.role == InputRole::state) return kStatePrefix + input.name;
  return input.initializer.empty() ? input.name : input.initializer;
}

}  // namespace

SavedRun::SavedRun(const std::string& path, const Graph& graph) : file_(path) {
  for (const GraphInput& input : graph.inputs()) {
    if (!is_saved(input)) continue;
    const std::string name = saved_name(input);
    const TensorView* saved = file_.find(name);
    if (saved == nullptr) user_error("{} holds no '{}': it was saved by another model or optimizer", path, name);
    const Type& type = graph.type(input.value);
    if (saved->type != type)
      user_error("{}: '{}' is {}, this step has {}", path, name, to_string(saved->type), to_string(type));
  }
  const auto step = file_.metadata().find(kStepKey);
  const std::string text = step == file_.metadata().end() ? std::string() : step->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), steps_done_);
  if (error != std::errc() || end != text.data() + text.size() || steps_done_ < 0 || steps_done_ > kMostSteps)
    user_error("{} does not say at which step it was saved", path);
}

TensorView SavedRun::saved(const GraphInput& input) const { return *file_.find(saved_name(input)); }

Session::Session(const Model& model, const Step& step, Backend& backend, const DataSource& data, int64_t accumulate)
    : model_(model), step_(step), backend_(backend), data_(data), accumulate_(accumulate) {}

void Session::initialize(uint64_t seed) {
  for (const GraphInput& input : step_.graph.inputs()) {
    if (input.role == InputRole::weight) {
      backend_.set_persistent(input.name, initial_weight(model_, input).view());
    } else if (input.role == InputRole::state) {
      Tensor state(step_.graph.type(input.value));
      for (int64_t i = 0; input.initial != 0 && i < state.type().shape.numel(); ++i)
        set_element(state, i, input.initial);
      // Far enough apart that runs of different seeds never share a random mask.
      if (input.name == "random_offset") state.as<int64_t>()[0] = static_cast<int64_t>(seed << 32);
      backend_.set_persistent(input.name, state.view());
    }
  }
  copy_weights();
}

void Session::copy_weights() {
  for (const GraphInput& input : step_.graph.inputs()) {
    if (!is_copy(input)) continue;
    const Tensor weight = backend_.persistent(input.initializer);
    Tensor copy(step_.graph.type(input.value));
    for (int64_t i = 0; i < copy.type().shape.numel(); ++i) set_element(copy, i, element(weight.view(), i));
    backend_.set_persistent(input.name, copy.view());
  }
}

void Session::resume(const SavedRun& saved) {
  for (const GraphInput& input : step_.graph.inputs()) {
    if (!is_saved(input)) continue;
    // The file's tensors need not be aligned.
    const TensorView view = saved.saved(input);
    const Tensor tensor(view.type, {view.data, static_cast<size_t>(view.type.bytes())});
    backend_.set_persistent(input.name, tensor.view());
  }
  copy_weights();
  steps_done_ = saved.steps_done();
}

TensorSource Session::persistent_source(std::string name, const GraphInput& input) const {
  return {std::move(name), step_.graph.type(input.value), [this, of = input.name] { return backend_.persistent(of); }};
}

void Session::save(const std::string& path) const {
  std::vector<TensorSource> tensors;
  for (const GraphInput& input : step_.graph.inputs())
    if (is_saved(input)) tensors.push_back(persistent_source(saved_name(input), input));
  write_safetensors(path, tensors, {{"format", "stepc"}, {kStepKey, std::to_string(steps_done_)}});
}

std::optional<std::string> Session::output_of(OutputRole role) const {
  for (const GraphOutput& output : step_.graph.outputs())
    if (output.role == role) return output.name;
  return std::nullopt;
}

bool Session::has_weight(const std::string& name) const {
  const GraphInput* input = step_.graph.find_input(name);
  return input != nullptr && input->role == InputRole::weight;
}

void Session::run_step() {
  backend_.run(accumulate_, [&](int64_t i) { return data_.batch(step_.graph, steps_done_ * accumulate_ + i); });
  ++steps_done_;
  if (const auto loss = output_of(OutputRole::loss))
    figures_.losses.push_back(element(backend_.output(*loss).view(), 0));
  for (const GraphOutput& output : step_.graph.outputs()) {
    if (output.role != OutputRole::metric) continue;
    const double value = element(backend_.output(output.name).view(), 0);
    if (output.name == "grad_norm") figures_.grad_norms.push_back(value);
    if (output.name == kLossScale) figures_.loss_scales.push_back(value);
    if (output.name == kSkipped && value != 0) figures_.skipped_steps.push_back(steps_done_);
  }
}

void Session::write_outputs(const std::string& path) const {
  std::vector<TensorSource> arrays;
  for (const GraphOutput& output : step_.graph.outputs()) {
    std::string name = output.name;
    if (output.role == OutputRole::loss) name = "loss";
    if (output.role == OutputRole::output) name = "out/" + output.name;
    arrays.push_back(
        {std::move(name), step_.graph.type(output.value), [this, of = output.name] { return backend_.output(of); }});
  }
  write_npz(path, arrays);
}

void Session::write_weights(const std::string& path) const {
  std::vector<TensorSource> arrays;
  for (const GraphInput& input : step_.graph.inputs())
    if (input.role == InputRole::weight)
      arrays.push_back(
          persistent_source("param/" + (input.initializer.empty() ? input.name : input.initializer), input));
  write_npz(path, arrays);
}

}  // namespace stepc
