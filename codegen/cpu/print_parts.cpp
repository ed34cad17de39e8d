#include "codegen/cpu/print_kernel.h"

#include <map>

namespace stepc::cpu {

// One function per distinct part, a table of which part runs which on which buffers, and tasks that are whole parts:
//
//   struct Parts {
//     static void part0(const StepcKernelArgs* args) { ... }
//   };
//   static constexpr StepcKernel run[] = {Parts::part0, Parts::part0};
//   static constexpr int32_t first_buffer[] = {0, 7};
void print_parts(Text& text, const Kernel& kernel) {
  const std::vector<Kernel>& parts = std::get<PartsWork>(kernel.work).parts;
  std::map<std::string, size_t> known;
  std::string run, first_buffer;
  size_t buffers = 0;
  text.open("struct Parts");
  for (const Kernel& part : parts) {
    Text body;
    print_body(body, part);
    const auto [function, added] = known.try_emplace(body.str(), known.size());
    if (added) {
      text.open("static void part{}(const StepcKernelArgs* args)", function->second);
      text.paste(body.str());
      text.close();
    }
    run += fmt::format("{}Parts::part{}", run.empty() ? "" : ", ", function->second);
    first_buffer += fmt::format("{}{}", first_buffer.empty() ? "" : ", ", buffers);
    buffers += part.buffers.size();
  }
  text.close("};");
  text.line("static constexpr StepcKernel run[] = {{{}}};", run);
  text.line("static constexpr int32_t first_buffer[] = {{{}}};", first_buffer);
  text.open("parallel_for(args, {}, 1, [=](int64_t begin, int64_t end)", parts.size());
  text.open("for (int64_t i = begin; i < end; ++i)");
  text.line("StepcKernelArgs own = *args;");
  text.line("own.buffers += first_buffer[i];");
  text.line("run[i](&own);");
  text.close();
  text.close("});");
}

}  // namespace stepc::cpu
