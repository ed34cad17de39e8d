// Whole steps on a GPU: the executor on the device of the fake driver, whose kernels run on the SIMT target and whose
// contractions the fake cuBLASLt multiplies. What they compute is the interpreter's, and they are enqueued once,
// recorded once, and then replayed.
#include "codegen/cuda/program.h"
#include "ir/interpreter.h"
#include "ir/parser.h"
#include "ir/support/error.h"
#include "passes/registry.h"
#include "passes/runner.h"
#include "runtime/gpu/contraction.h"
#include "runtime/gpu/cuda.h"
#include "runtime/gpu/executor.h"
#include "runtime/gpu/scratch.h"
#include "runtime/simt/simt_device.h"
#include "tests/runtime/cuda/fake_cublaslt.h"
#include "tests/runtime/cuda/fake_driver.h"
#include "tests/runtime/run_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <filesystem>
#include <optional>

namespace stepc::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Two layers, trained towards zero: the loss is y²/2, the rate 1.
constexpr std::string_view kStep = R"(graph @step {
  %i: i64[4] = input data "i"
  %table: f32[9,6] = input weight "table"
  %w: f32[6,5] = input state "w"
  %v: f32[5,3] = input state "v"
  %x: f32[4,6] = gather %table, %i {axis=0}
  %h: f32[4,5] = contraction %x, %w {spec="ak,kv->av"}
  %a: f32[4,5] = tanh %h
  %y: f32[4,3] = contraction %a, %v {spec="ak,kv->av"}
  %dv: f32[5,3] = contraction %a, %y {spec="ka,kv->av"} phase backward
  %da: f32[4,5] = contraction %y, %v {spec="av,kv->ak"} phase backward
  %aa: f32[4,5] = mul %a, %a phase backward
  %daa: f32[4,5] = mul %da, %aa phase backward
  %dh: f32[4,5] = sub %da, %daa phase backward
  %dw: f32[6,5] = contraction %x, %dh {spec="ka,kv->av"} phase backward
  %nw: f32[6,5] = sub %w, %dw phase optimizer
  %nv: f32[5,3] = sub %v, %dv phase optimizer
  output output "y" %y
  state %w -> %nw
  state %v -> %nv
})";

class WholeStepTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("stepc-whole-step-{}", getpid());
    fs::remove_all(folder_);
    simt_.emplace(
        SimtOptions{.threads = 1, .compile = {.threads = 2, .folder = fs::temp_directory_path() / "stepc-tests"}});
    const TrainOptions options;
    PassContext context(options);
    const GpuScratch scratch(/*library=*/true);
    context.scratch = &scratch;
    const std::array pipeline{&find_pass("schedule"), &find_pass("plan-memory")};
    run_passes(graph_, pipeline, context, {.measure = false});
    plan_ = *context.plan;
  }
  void TearDown() override {
    executor_.reset();
    device_.reset();
    EXPECT_EQ(lt_.live_objects(), 0U);
    EXPECT_EQ(fake_.live_objects(), 0U) << "something was not freed";
    fs::remove_all(folder_);
  }

  // Kernels of the program, carried out by the SIMT target on the fake's memory.
  void load() {
    std::vector<std::string> symbols;
    std::string image;
    std::vector<cuda::FunctionFigures> figures;
    for (const cuda::Function& function : program_.functions) {
      symbols.push_back(function.symbol);
      image += function.symbol + " ";
      figures.push_back({.symbol = function.symbol});
    }
    simt_->load(cuda::translation_units(program_.functions), symbols);
    for (const cuda::Launch& launch : program_.launches)
      for (const cuda::Stage& stage : launch.stages)
        fake_.kernels[stage.symbol] = {launch.kernel.buffers.size() + 2,
                                       [this, stage](const FakeDriver::Launch& l) { run_on_simt(stage.symbol, l); }};
    device_->load(std::vector<cuda::Cubin>{{image, figures}}, device_->info().architecture);
  }
  void run_on_simt(const std::string& symbol, FakeDriver::Launch launch) {
    std::vector<void*> arguments;
    for (void*& argument : launch.arguments) arguments.push_back(static_cast<void*>(&argument));
    std::vector<simt::Extent> extents;
    for (const auto& [address, bytes] : fake_.allocations())
      extents.push_back({reinterpret_cast<const void*>(address), static_cast<int64_t>(bytes)});
    simt_->launch({symbol, launch.blocks, static_cast<int32_t>(launch.threads), launch.shared_bytes}, arguments.data(),
                  extents);
  }

  void open(bool library) {
    executor_.reset();
    device_.reset();
    driver_.emplace(fake_.table());
    CudaGpu::Libraries libraries;
    if (library) libraries.cublaslt = lt_.table();
    device_ = std::make_unique<CudaGpu>(*driver_, 0, libraries, ObjectCache(folder_));
    program_ = cuda::generate(graph_, plan_, device_->has_library() ? is_planned_for_library : cuda::LibraryRule());
    load();
    executor_ = std::make_unique<GpuExecutor>(graph_, plan_, program_, *device_);
    uint32_t seed = 0;
    for (const GraphInput& input : graph_.inputs())
      set(input.name, pseudo_random(graph_.type(input.value), ++seed, -0.3, 0.3));
    set_indices(0);
  }
  void set(const std::string& name, const Tensor& value) {
    executor_->set_input(name, value.view());
    inputs_.insert_or_assign(name, RefTensor(value.view()));
  }
  void set_indices(int64_t first) {
    Tensor indices(graph_.type(graph_.find_input("i")->value));
    for (int64_t i = 0; i < 4; ++i) indices.as<int64_t>()[static_cast<size_t>(i)] = first + i;
    set("i", indices);
  }
  // One step there and in the interpreter.
  void expect_step() {
    Interpretation expected = interpret(graph_, inputs_, RefPrecision::f32);
    executor_->run_step();
    expect_near(executor_->output("y"), expected.outputs.at("y"), "y");
    for (auto& [name, value] : expected.states) {
      expect_near(executor_->input(name), value, name);
      inputs_.insert_or_assign(name, std::move(value));
    }
  }
  static void expect_near(const Tensor& actual, const RefTensor& expected, const std::string& what) {
    for (int64_t i = 0; i < expected.numel(); ++i)
      ASSERT_NEAR(element(actual.view(), i), expected.at(i), 1e-4) << what << " element " << i;
  }
  // Since `from` calls were made: what was enqueued, in order.
  std::vector<std::string> enqueued(size_t from) const {
    std::vector<std::string> result;
    for (size_t i = from; i < fake_.calls.size(); ++i)
      if (fake_.calls[i].starts_with("launch_kernel") || fake_.calls[i] == "cublasLtMatmul")
        result.push_back(fake_.calls[i]);
    return result;
  }
  std::vector<std::string> planned() const {
    std::vector<std::string> result;
    for (const cuda::Launch& launch : program_.launches) {
      if (launch.by_library) result.emplace_back("cublasLtMatmul");
      for (const cuda::Stage& stage : launch.stages) result.push_back("launch_kernel " + stage.symbol);
    }
    return result;
  }
  template <typename T>
  std::string refusal(T&& f) const {
    try {
      f();
      return "accepted";
    } catch (const UserError& error) {
      return error.what();
    }
  }

  Graph graph_ = parse(kStep);
  Plan plan_;
  cuda::Program program_;
  std::optional<SimtDevice> simt_;
  FakeDriver fake_;
  FakeCublasLt lt_{&fake_};
  std::optional<cuda::Driver> driver_;
  std::unique_ptr<CudaGpu> device_;
  std::unique_ptr<GpuExecutor> executor_;
  std::map<std::string, RefTensor> inputs_;
  fs::path folder_;
};

TEST_F(WholeStepTest, TrainsWithTheLibraryAndWithGeneratedContractions) {
  for (const bool library : {true, false}) {
    SCOPED_TRACE(library);
    open(library);
    for (int step = 0; step < 4; ++step) {
      set_indices(step);
      expect_step();
    }
    EXPECT_EQ(lt_.calls.size(), 2 * 5U) << "enqueued once, recorded once; none without the library";
  }
}

TEST_F(WholeStepTest, ContractionsThatAllowTf32AreComputedInIt) {
  std::string text(kStep);
  const std::string_view marked = R"(%h: f32[4,5] = contraction %x, %w {spec="ak,kv->av")";
  text.insert(text.find(marked) + marked.size(), ", tf32=true");
  graph_ = parse(text);
  open(true);
  expect_step();
  ASSERT_EQ(lt_.calls.size(), 5U);
  for (const FakeCublasLt::Call& call : lt_.calls)
    EXPECT_EQ(call.compute_type, &call == &lt_.calls[0] ? cuda::kLtComputeTf32 : cuda::kLtCompute32F);
}

TEST_F(WholeStepTest, IsEnqueuedOnceRecordedOnceAndThenReplayed) {
  open(true);
  size_t before = fake_.calls.size();
  expect_step();
  EXPECT_EQ(enqueued(before), planned());
  EXPECT_EQ(fake_.count("stream_begin_capture"), 0U);
  before = fake_.calls.size();
  expect_step();
  EXPECT_EQ(enqueued(before), planned()) << "the recording has every launch in its order";
  EXPECT_EQ(fake_.count("graph_launch"), 1U);
  before = fake_.calls.size();
  expect_step();
  expect_step();
  EXPECT_TRUE(enqueued(before).empty());
  EXPECT_EQ(fake_.count("graph_launch"), 3U);
  EXPECT_EQ(fake_.count("stream_begin_capture"), 1U);
}

TEST_F(WholeStepTest, AlgorithmsAreChosenWithinThePlannedWorkspaceOnceAndKept) {
  open(true);
  expect_step();
  const int chosen = lt_.heuristics;
  EXPECT_GT(chosen, 0);
  int64_t largest = 0;
  for (const PlanStep& step : plan_.steps) largest = std::max(largest, step.scratch_bytes);
  for (const FakeCublasLt::Call& call : lt_.calls) EXPECT_LE(static_cast<int64_t>(call.workspace_bytes), largest);
  open(true);
  expect_step();
  EXPECT_EQ(lt_.heuristics, chosen) << "the next run takes them from the cache";
}

TEST_F(WholeStepTest, MicroStepsAndTheUpdateAreRecordedApart) {
  open(true);
  for (int i = 0; i < 3; ++i) {
    executor_->run_micro_step();
    executor_->run_micro_step();
    executor_->run_update();
  }
  EXPECT_EQ(fake_.count("stream_begin_capture"), 2U);
  EXPECT_EQ(fake_.count("graph_launch"), 5U + 2U);
}

TEST_F(WholeStepTest, LaunchesAreTimedOneByOneWhileProfiling) {
  open(true);
  expect_step();
  executor_->set_profiling(true);
  const size_t before = fake_.calls.size();
  expect_step();
  EXPECT_EQ(enqueued(before), planned());
  executor_->set_profiling(false);
  expect_step();
  expect_step();
  EXPECT_EQ(fake_.count("stream_begin_capture"), 1U);
  ASSERT_EQ(executor_->profile().size(), plan_.steps.size());
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const auto launches = static_cast<double>(std::max<size_t>(program_.launches[i].stages.size(), 1));
    ASSERT_EQ(executor_->profile()[i].samples_us.size(), 1U);
    EXPECT_NEAR(executor_->profile()[i].median_us(), 10 * launches, 0.1) << executor_->profile()[i].name;
  }
}

TEST_F(WholeStepTest, AnIndexOutOfRangeIsNamedInARecordedStepToo) {
  open(true);
  expect_step();
  expect_step();
  set_indices(7);
  EXPECT_THAT(refusal([&] { executor_->run_step(); }), HasSubstr("index 9 is out of range for an axis of size 9"));
  set_indices(1);
  EXPECT_EQ(refusal([&] { executor_->run_step(); }), "accepted") << "the report is cleared";
}

TEST_F(WholeStepTest, ADeviceThatIsTooSmallIsSaidBeforeTheFirstStep) {
  fake_.memory_bytes = static_cast<size_t>(plan_.arena_bytes) - 1;
  EXPECT_THAT(refusal([&] { open(true); }), HasSubstr(fmt::format("the arena: {} bytes", plan_.arena_bytes)));
  EXPECT_EQ(enqueued(0).size(), 0U);
}

TEST_F(WholeStepTest, WhatFailsWhileRecordingIsOneLineAndTheDeviceStaysUsable) {
  for (const char* call : {"stream_begin_capture", "stream_end_capture", "graph_instantiate", "cublasLtMatmul"}) {
    SCOPED_TRACE(call);
    open(true);
    expect_step();
    fake_.failures = {{call, 999}};
    EXPECT_THAT(refusal([&] { executor_->run_step(); }), HasSubstr("fake"));
    fake_.failures.clear();
    EXPECT_EQ(refusal([&] { executor_->run_step(); }), "accepted");
  }
}

TEST_F(WholeStepTest, ALibraryWithoutAnAlgorithmSaysSoBeforeTheFirstStep) {
  lt_.choices = 0;
  EXPECT_THAT(refusal([&] { open(true); }), HasSubstr("it has none"));
}

}  // namespace
}  // namespace stepc::test
