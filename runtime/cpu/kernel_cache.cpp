#include "runtime/cpu/kernel_cache.h"

namespace stepc {

ObjectCache::Entry KernelCache::get(const std::string& source, const SystemCompiler& compiler) const {
  const std::string key = ObjectCache::key({source, "\n", compiler.identity()});
  return objects_.get(key, "so", [&](const std::filesystem::path& object) {
    const TemporaryFile text(objects_.write_text(object.stem().string() + ".cpp", source));
    compiler.compile(text.path(), object);
  });
}

}  // namespace stepc
