#include "tools/driver/gpu_code.h"

#include "ir/support/error.h"
#include "ir/support/hash.h"
#include "runtime/cuda/cubin_library.h"
#include "runtime/cuda/occupancy.h"
#include "tools/driver/io/files.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <filesystem>

namespace stepc {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "stepc-kernels/1";

std::string source_name(size_t unit) { return fmt::format("unit{:02}.cu", unit); }

Json figures_json(const cuda::FunctionFigures& f) {
  return {{"symbol", f.symbol},
          {"registers", f.registers},
          {"stack_bytes", f.stack_bytes},
          {"spill_store_bytes", f.spill_store_bytes},
          {"spill_load_bytes", f.spill_load_bytes},
          {"shared_bytes", f.shared_bytes},
          {"constant_bytes", f.constant_bytes}};
}

cuda::FunctionFigures read_figures(const Json& json) {
  const auto number = [&](const char* key) { return json.at(key).get<int64_t>(); };
  return {.symbol = json.at("symbol").get<std::string>(),
          .registers = json.at("registers").get<int32_t>(),
          .stack_bytes = number("stack_bytes"),
          .spill_store_bytes = number("spill_store_bytes"),
          .spill_load_bytes = number("spill_load_bytes"),
          .shared_bytes = number("shared_bytes"),
          .constant_bytes = number("constant_bytes")};
}

// "13.0"
cuda::Version read_version(const std::string& text) {
  cuda::Version version;
  const char* const end = text.data() + text.size();
  const char* const dot = std::from_chars(text.data(), end, version.major).ptr;
  if (dot != end) std::from_chars(dot + 1, end, version.minor);
  return version;
}

bool runs_on(cuda::Architecture code, cuda::Architecture device) {
  return code.major == device.major && code.minor <= device.minor;
}

std::string why_driver_does_not_run(const cuda::Driver& driver, cuda::Version compiler) {
  try {
    driver.check_runs(compiler);
    return {};
  } catch (const UserError& error) {
    return error.what();
  }
}

// The cubin of one unit, or why there is none for it.
std::variant<cuda::Cubin, std::string> read_unit(const std::string& kernels, const Json& entry,
                                                 const std::string& unit) {
  const auto source = entry.at("source").get<std::string>();
  if (entry.at("source_hash").get<std::string>() != digest(unit)) return source + " is not the code of this step";
  const auto name = std::filesystem::path(entry.at("cubin").get<std::string>()).filename().string();
  cuda::Cubin cubin{read_text_file(kernels + "/" + name), {}};
  if (entry.at("cubin_hash").get<std::string>() != digest(cubin.image)) return name + " is damaged";
  for (const Json& figures : entry.at("functions")) cubin.functions.push_back(read_figures(figures));
  return cubin;
}

std::variant<GpuCode, std::string> read_index(const std::string& kernels, std::span<const std::string> units,
                                              cuda::Architecture device, const cuda::Driver& driver) {
  const Json index = Json::parse(read_text_file(kernels + "/kernels.json"));
  GpuCode code;
  code.architecture = cuda::parse_architecture(index.at("architecture").get<std::string>());
  code.compiler = read_version(index.at("compiler").get<std::string>());
  if (!runs_on(code.architecture, device))
    return fmt::format("they are for {}, this GPU is {}", code.architecture.name(), device.name());
  if (std::string why = why_driver_does_not_run(driver, code.compiler); !why.empty()) return why;
  const Json& entries = index.at("units");
  if (entries.size() != units.size())
    return fmt::format("it holds {} units, this step has {}", entries.size(), units.size());
  for (size_t i = 0; i < units.size(); ++i) {
    auto unit = read_unit(kernels, entries[i], units[i]);
    if (auto* why = std::get_if<std::string>(&unit)) return std::move(*why);
    code.cubins.push_back(std::get<cuda::Cubin>(std::move(unit)));
  }
  code.built.units = std::ssize(code.cubins);
  return code;
}

KernelCode::Figures figures_of(const cuda::Stage& stage, const GpuCode& code) {
  const cuda::FunctionFigures& f = cuda::find_figures(code.cubins, stage.symbol);
  const cuda::Occupancy occupancy = cuda::occupancy(code.architecture, f, stage.threads, stage.shared_bytes);
  return {.registers = f.registers,
          .stack_bytes = f.stack_bytes,
          .spill_bytes = f.spill_store_bytes + f.spill_load_bytes,
          .shared_bytes = f.shared_bytes + stage.shared_bytes,
          .occupancy = occupancy.fraction,
          .occupancy_bound = std::string(occupancy.bound)};
}

}  // namespace

GpuCode compile_units(std::span<const std::string> units, cuda::Architecture architecture,
                      const DriverOptions& options) {
  const cuda::CubinLibrary library(units, architecture, {.threads = options.thread_count(), .folder = {}});
  return {library.cubins(),
          architecture,
          library.compiler(),
          {library.unit_count(), library.cache_hits(), static_cast<double>(library.compile_us())}};
}

std::vector<CompiledCode::File> gpu_code_files(std::span<const std::string> units, const GpuCode& code) {
  std::vector<CompiledCode::File> files;
  Json entries = Json::array();
  for (size_t i = 0; i < units.size(); ++i) {
    const cuda::Cubin& cubin = code.cubins[i];
    const std::string name = fmt::format("unit{:02}.{}.cubin", i, code.architecture.name());
    files.push_back({source_name(i), units[i]});
    files.push_back({name, cubin.image});
    Json functions = Json::array();
    for (const cuda::FunctionFigures& figures : cubin.functions) functions.push_back(figures_json(figures));
    entries.push_back({{"source", source_name(i)},
                       {"source_hash", digest(units[i])},
                       {"cubin", name},
                       {"cubin_hash", digest(cubin.image)},
                       {"functions", std::move(functions)}});
  }
  const Json index{{"schema", kSchema},
                   {"architecture", code.architecture.name()},
                   {"compiler", code.compiler.text()},
                   {"units", std::move(entries)}};
  files.push_back({"kernels.json", index.dump(1) + "\n"});
  return files;
}

std::variant<GpuCode, std::string> read_gpu_code(const std::string& folder, std::span<const std::string> units,
                                                 cuda::Architecture device, const cuda::Driver& driver) {
  try {
    return read_index(folder + "/kernels", units, device, driver);
  } catch (const UserError& error) {
    return error.what();
  } catch (const Json::exception&) {
    return "kernels.json is damaged";
  }
}

std::vector<LaunchCode> launches_of_program(const cuda::Program& program, const GpuCode* code) {
  std::vector<LaunchCode> launches;
  for (const cuda::Launch& launch : program.launches) {
    LaunchCode entry{&launch.kernel,
                     launch.stages.empty() ? std::string() : launch.stages[0].symbol,
                     launch.by_library ? 1 : std::ssize(launch.stages),
                     {}};
    for (const cuda::Stage& stage : launch.stages) {
      KernelCode& of_stage = entry.code.emplace_back();
      of_stage.symbol = stage.symbol;
      of_stage.grid = stage.grid;
      of_stage.threads = stage.threads;
      if (code != nullptr) of_stage.figures = figures_of(stage, *code);
    }
    launches.push_back(std::move(entry));
  }
  return launches;
}

}  // namespace stepc
