#include "ir/support/error.h"
#include "models/atomic_file.h"
#include "runtime/calibrate.h"
#include "runtime/cpu/compiler.h"
#include "runtime/cpu/library.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/object_cache.h"
#include "tools/driver/commands.h"
#include "tools/driver/device_spec.h"
#include "tools/driver/report.h"
#include "tools/driver/text_report.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <thread>

namespace stepc {
namespace {

using Json = nlohmann::ordered_json;

void declare(CLI::App& app, DriverOptions& options) {
  app.add_flag("--calibrate", options.calibrate, "measure this machine's FLOP/s and bandwidth, for --device-spec");
  app.add_option("-o", options.output, "file for what --calibrate measures (default: cpu.json in the cache)")
      ->type_name("FILE");
  add_thread_option(app, options);
  add_output_options(app, options);
}

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

Json compiler_json() {
  try {
    const SystemCompiler compiler;
    return {{"command", compiler.command_text()}, {"version", compiler.version()}, {"identity", compiler.identity()}};
  } catch (const UserError& error) {
    return {{"error", error.what()}};
  }
}

// What compiles CUDA kernels.
Json nvrtc_json() {
  try {
    const cuda::Nvrtc nvrtc;
    return {{"version", nvrtc.version().text()}, {"path", nvrtc.path().string()}};
  } catch (const UserError& error) {
    return {{"error", error.what()}};
  }
}

// What runs them: the first GPU.
Json gpu_json() {
  try {
    const cuda::Driver driver = cuda::Driver::open();
    const cuda::CudaDevice device(driver, 0);
    return {{"driver", driver.version().text()},
            {"name", device.info().name},
            {"architecture", device.info().capability.name()},
            {"memory_bytes", device.info().memory_bytes},
            {"free_bytes", device.free_bytes()}};
  } catch (const UserError& error) {
    return {{"error", error.what()}};
  }
}

void print_cuda(const Json& nvrtc, const Json& gpu) {
  if (nvrtc.contains("error"))
    fmt::print("NVRTC        {}\n", nvrtc["error"].get<std::string>());
  else
    fmt::print("NVRTC        {} ({})\n", nvrtc["version"].get<std::string>(), nvrtc["path"].get<std::string>());
  if (gpu.contains("error"))
    fmt::print("GPU          {}\n", gpu["error"].get<std::string>());
  else
    fmt::print("GPU          {} ({}), {} of {} free, driver for CUDA {}\n", gpu["name"].get<std::string>(),
               gpu["architecture"].get<std::string>(), format_bytes(gpu["free_bytes"].get<int64_t>()),
               format_bytes(gpu["memory_bytes"].get<int64_t>()), gpu["driver"].get<std::string>());
}

Json cache_json(const std::filesystem::path& folder) {
  uint64_t entries = 0;
  uint64_t bytes = 0;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder, error))
    if ((file.path().extension() == ".so" || file.path().extension() == ".cubin") && file.is_regular_file(error)) {
      ++entries;
      bytes += file.file_size(error);
    }
  return {{"folder", folder.string()}, {"units", entries}, {"bytes", bytes}};
}

Json calibration_json(const Calibration& c) {
  return {{"threads", c.threads},
          {"f32_flops_per_s", c.f32_flops_per_second},
          {"copy_bytes_per_s", c.copy_bytes_per_second},
          {"map_flops_per_s", c.map_flops_per_second},
          {"launch_us", c.launch_us}};
}

// The built-in CPU with this machine's figures in their places.
DeviceSpec measured_spec(const Calibration& c) {
  DeviceSpec spec = cpu_device();
  spec.source = fmt::format("{}, {} threads: measured by stepc doctor --calibrate", processor(), c.threads);
  spec.bytes_per_us = c.copy_bytes_per_second / 1e6;
  spec.flops_per_us = c.map_flops_per_second / 1e6;
  spec.launch_us = c.launch_us;
  spec.memory_bytes = c.memory_bytes;
  spec.last_level_bytes = c.last_level_bytes;
  spec.processors = c.threads;
  spec.contraction = {.f32 = c.f32_flops_per_second / 1e6};
  return spec;
}

int run(const DriverOptions& options) {
  const std::filesystem::path folder = ObjectCache::default_folder();
  Json document{{"schema", "stepc-doctor/1"},
                {"processor", processor()},
                {"cores", std::thread::hardware_concurrency()},
                {"compiler", compiler_json()},
                {"onednn", onednn_version() ? Json(*onednn_version()) : Json()},
                {"nvrtc", nvrtc_json()},
                {"gpu", gpu_json()},
                {"cache", cache_json(folder)},
                {"calibration", nullptr},
                {"device_spec", nullptr}};
  if (!options.calibrate && !options.output.empty()) throw UsageError("-o needs --calibrate");
  if (options.calibrate) {
    const Calibration calibration = calibrate(options.thread_count());
    document["calibration"] = calibration_json(calibration);
    std::error_code error;
    if (options.output.empty()) std::filesystem::create_directories(folder, error);
    const std::string file = options.output.empty() ? (folder / "cpu.json").string() : options.output;
    write_file_atomically(file, device_spec_text(measured_spec(calibration)));
    document["device_spec"] = file;
  }
  if (!options.json.empty()) write_json(options.json, document);
  if (options.quiet || options.json == "-") return 0;
  fmt::print("processor    {} ({} cores)\n", document["processor"].get<std::string>(), document["cores"].get<int>());
  const Json& compiler = document["compiler"];
  fmt::print("compiler     {}\n", compiler.contains("error") ? compiler["error"].get<std::string>()
                                                             : compiler["version"].get<std::string>());
  fmt::print("oneDNN       {}\n",
             onednn_version().value_or("none in this build: contractions on the CPU are generated"));
  print_cuda(document["nvrtc"], document["gpu"]);
  fmt::print("cache        {} ({} compiled units, {})\n", folder.string(), document["cache"]["units"].get<int64_t>(),
             format_bytes(document["cache"]["bytes"].get<int64_t>()));
  if (options.calibrate)
    fmt::print(
        "measured     {}FLOP/s in f32 contractions, {}B/s copying, {} threads\n"
        "             --device-spec {} predicts for this machine\n",
        format_count(document["calibration"]["f32_flops_per_s"].get<double>()),
        format_count(document["calibration"]["copy_bytes_per_s"].get<double>()), options.thread_count(),
        document["device_spec"].get<std::string>());
  return compiler.contains("error") ? 1 : 0;
}

}  // namespace

extern const Command command_doctor;
const Command command_doctor{"doctor", "toolchain, devices and caches of this machine", declare, run};

}  // namespace stepc
