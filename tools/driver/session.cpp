#include "tools/driver/session.h"

#include "ir/support/error.h"
#include "tools/driver/io/npz.h"
#include "tools/driver/io/safetensors.h"

#include <charconv>
#include <cmath>
#include <list>

namespace stepc {
namespace {

constexpr const char* kStepKey = "stepc.step";
constexpr const char* kStatePrefix = "state/";  // before the names of optimizer state, which are not weights

bool is_saved(const GraphInput& input) { return input.role == InputRole::weight || input.role == InputRole::state; }

std::string saved_name(const GraphInput& input) {
  if (input.role == InputRole::state) return kStatePrefix + input.name;
  return input.initializer.empty() ? input.name : input.initializer;
}

// Names with views of tensors that this list owns.
class NamedTensors {
 public:
  void add(std::string name, Tensor tensor) {
    tensors_.push_back(std::move(tensor));
    views_.emplace_back(std::move(name), tensors_.back().view());
  }
  const std::vector<std::pair<std::string, TensorView>>& views() const { return views_; }

 private:
  std::list<Tensor> tensors_;
  std::vector<std::pair<std::string, TensorView>> views_;
};

}  // namespace

Session::Session(const Model& model, const Step& step, Backend& backend, const DataSource& data, int64_t accumulate)
    : model_(model), step_(step), backend_(backend), data_(data), accumulate_(accumulate) {}

void Session::initialize(uint64_t seed) {
  for (const GraphInput& input : step_.graph.inputs()) {
    if (input.role == InputRole::weight) {
      backend_.set_persistent(input.name, initial_weight(model_, input).view());
    } else if (input.role == InputRole::state) {
      Tensor state(step_.graph.type(input.value));
      // Far enough apart that runs of different seeds never share a random mask.
      if (input.name == "random_offset") state.as<int64_t>()[0] = static_cast<int64_t>(seed << 32);
      backend_.set_persistent(input.name, state.view());
    }
  }
}

void Session::resume(const std::string& path) {
  const SafetensorsFile file(path);
  for (const GraphInput& input : step_.graph.inputs()) {
    if (!is_saved(input)) continue;
    const std::string name = saved_name(input);
    const TensorView* saved = file.find(name);
    if (saved == nullptr) user_error("{} holds no '{}': it was saved by another model or optimizer", path, name);
    const Type& type = step_.graph.type(input.value);
    if (saved->type != type)
      user_error("{}: '{}' is {}, this step has {}", path, name, to_string(saved->type), to_string(type));
    // The file's tensors need not be aligned.
    backend_.set_persistent(input.name, Tensor(type, {saved->data, static_cast<size_t>(type.bytes())}).view());
  }
  const auto step = file.metadata().find(kStepKey);
  const std::string text = step == file.metadata().end() ? std::string() : step->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), steps_done_);
  if (error != std::errc() || end != text.data() + text.size() || steps_done_ < 0)
    user_error("{} does not say at which step it was saved", path);
}

void Session::save(const std::string& path) const {
  NamedTensors tensors;
  for (const GraphInput& input : step_.graph.inputs())
    if (is_saved(input)) tensors.add(saved_name(input), backend_.persistent(input.name));
  write_safetensors(path, tensors.views(), {{"format", "stepc"}, {kStepKey, std::to_string(steps_done_)}});
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
  std::vector<Batch> batches;
  for (int64_t i = 0; i < accumulate_; ++i) batches.push_back(data_.batch(step_.graph, steps_done_ * accumulate_ + i));
  backend_.run(batches);
  ++steps_done_;
  if (const auto loss = output_of(OutputRole::loss))
    figures_.losses.push_back(element(backend_.output(*loss).view(), 0));
  for (const GraphOutput& output : step_.graph.outputs())
    if (output.role == OutputRole::metric && output.name == "grad_norm")
      figures_.grad_norms.push_back(element(backend_.output(output.name).view(), 0));
}

void Session::write_outputs(const std::string& path) const {
  NamedTensors arrays;
  for (const GraphOutput& output : step_.graph.outputs()) {
    Tensor value = backend_.output(output.name);
    switch (output.role) {
      case OutputRole::loss: arrays.add("loss", std::move(value)); break;
      case OutputRole::output: arrays.add("out/" + output.name, std::move(value)); break;
      case OutputRole::gradient:
      case OutputRole::metric: arrays.add(output.name, std::move(value)); break;
    }
  }
  write_npz(path, arrays.views());
}

void Session::write_weights(const std::string& path) const {
  NamedTensors arrays;
  for (const GraphInput& input : step_.graph.inputs())
    if (input.role == InputRole::weight)
      arrays.add("param/" + (input.initializer.empty() ? input.name : input.initializer),
                 backend_.persistent(input.name));
  write_npz(path, arrays.views());
}

}  // namespace stepc
