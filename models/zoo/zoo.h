#pragma once

#include "models/onnx/import.h"
#include "models/onnx/save.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepc {

enum class ZooFamily : uint8_t { gpt2, llama, bert, vit, moe };

// One Transformer by its shapes. Inputs `input_ids` [batch, seq] and output `logits` (vit: `pixel_values` and
// `last_hidden_state`; blocks only: `x` [batch, seq, dim] and `y`); the one symbolic dimension is `batch`.
struct ZooConfig {
  std::string name;
  ZooFamily family{};
  int64_t layers = 0;
  int64_t dim = 0;  // width of the residual stream
  int64_t heads = 0;
  int64_t kv_heads = 0;  // = heads without grouped queries
  int64_t head_dim = 0;  // dim / heads unless the model says otherwise
  int64_t ffn = 0;
  int64_t vocab = 0;
  int64_t seq = 0;
  int64_t experts = 0;  // moe
  int64_t top_k = 0;    // moe
  bool tied = false;    // the head is the embedding
  bool blocks_only = false;
  std::string source;  // where the shapes come from
};

// What a command line replaces of a configuration.
struct ZooOverrides {
  std::string family;
  std::optional<int64_t> layers, dim, heads, kv_heads, ffn, vocab, seq, experts, top_k;
  std::optional<bool> tied;
  bool blocks_only = false;
  bool any() const;
};

std::string_view zoo_family_name(ZooFamily family);
std::span<const ZooConfig> zoo_models();

// A named model with overrides, or with an empty name the small default of overrides.family. Throws UserError for an
// unknown name (with the names that exist), sizes that do not fit each other, and options that the family lacks.
ZooConfig zoo_config(std::string_view name, const ZooOverrides& overrides);

// Parameters of the model, tied ones once.
int64_t zoo_parameters(const ZooConfig& config);

// The model's forward graph, from shapes alone (`weights_present` is false).
ImportedModel import_zoo(const ZooConfig& config, const ImportOptions& options);

// Writes the model as ONNX, with external data beside it where weights exceed what protobuf holds. Without a seed no
// weights are written: initializers have the external location `stepc-no-weights`, the model says `stepc.weights=none`.
void write_zoo_onnx(const ZooConfig& config, std::optional<uint64_t> seed, const std::string& path);
// The same with trained weights, which must be there for every initializer.
void save_zoo_onnx(const ZooConfig& config, const TrainedWeight& trained, const std::string& path);

}  // namespace stepc
