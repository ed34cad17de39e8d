#include "ir/interpreter.h"
#include "ir/support/error.h"
#include "tools/driver/backend.h"

#include <map>

namespace stepc {
namespace {

// Accumulating graphs hold two programs in one: the interpreter runs the whole graph per micro-step and keeps what the
// optimizer's phase makes of the last one only.
class InterpreterBackend : public Backend {
 public:
  explicit InterpreterBackend(const Step& step) : graph_(step.graph) {
    for (const GraphInput& input : graph_.inputs())
      if (input.role == InputRole::state || input.role == InputRole::accumulator)
        persistent_.emplace(input.name, RefTensor(graph_.type(input.value)));
  }

  void set_persistent(std::string_view name, const TensorView& value) override {
    persistent_.insert_or_assign(std::string(name), RefTensor(value));
  }

  Tensor persistent(std::string_view name) const override {
    const auto entry = persistent_.find(std::string(name));
    CHECK(entry != persistent_.end(), "persistent input {}", name);
    return entry->second.to_tensor();
  }

  void run(int64_t micro_steps, const DrawBatch& draw) override {
    for (const GraphInput& input : graph_.inputs())
      if (input.role == InputRole::accumulator) persistent_[input.name] = RefTensor(graph_.type(input.value));
    for (int64_t i = 0; i < micro_steps; ++i) {
      std::map<std::string, RefTensor> inputs = persistent_;
      for (const auto& [name, tensor] : draw(i)) inputs.insert_or_assign(name, RefTensor(tensor.view()));
      Interpretation result = interpret(graph_, inputs, RefPrecision::f32);
      const bool last = i + 1 == micro_steps;
      for (const StatePair& state : graph_.states()) {
        const Node* producer = graph_.producer(state.output);
        const std::string& name = graph_.input_of(state.input)->name;
        if (last || producer == nullptr || producer->origin.phase != Phase::optimizer)
          persistent_[name] = std::move(result.states.at(name));
      }
      outputs_ = std::move(result.outputs);
    }
  }

  Tensor output(std::string_view name) const override {
    const auto entry = outputs_.find(std::string(name));
    CHECK(entry != outputs_.end(), "output {}", name);
    return entry->second.to_tensor();
  }

 private:
  const Graph& graph_;
  std::map<std::string, RefTensor> persistent_;
  std::map<std::string, RefTensor> outputs_;
};

}  // namespace

std::unique_ptr<Backend> make_interpreter_backend(const Step& step) {
  return std::make_unique<InterpreterBackend>(step);
}

}  // namespace stepc
