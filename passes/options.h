#pragma once

#include "ir/dtype.h"
#include "passes/fusion/override.h"
#include "passes/remat/options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepc {

// What the training step is, as the common options of the command line say it. Every pass reads it, none writes it.

enum class LossKind : uint8_t {
  automatic,      // cross_entropy where an output looks like logits, output where there is one float scalar
  cross_entropy,  // of logits and integer labels, mean over the labels that are not ignore_index
  mse,            // mean squared error against a target of the output's shape
  mean,
  sum,
  mean_square,
  output,  // the model's own scalar
};

struct LossOptions {
  LossKind kind = LossKind::automatic;
  std::string logits;  // the output that the loss is taken of; empty: chosen, or the error lists the candidates
  std::string labels;  // the input of the model that holds the labels; empty: "label", made where the model has none
  bool shift = false;  // position t predicts label t+1
  int64_t ignore_index = -100;
};

enum class OptimizerKind : uint8_t { none, sgd, adam, adamw };

// Semantics and names of torch.optim.
struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adamw;
  double lr = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  double momentum = 0;
};

// What contractions, and what flows between them, are stored in (docs/precision.md). tf32 changes products on CUDA
// alone.
enum class Precision : uint8_t { fp32, bf16, fp16, tf32 };

// fp16: the factor of the loss and of all gradients, which small ones need to be more than zero; semantics and defaults
// of torch.amp.GradScaler.
struct LossScaleOptions {
  double init = 65536;
  double growth = 2;     // after `interval` steps in a row with finite gradients
  double backoff = 0.5;  // after a step without, which changes no weight
  int64_t interval = 2000;
};

// How much `fuse` merges.
enum class FuseLevel : uint8_t { off, pointwise, full };

struct TrainOptions {
  LossOptions loss;
  std::optional<std::string>
      grad_inputs;  // glob over float data inputs; unset: all when nothing is trainable, else none
  OptimizerOptions optimizer;
  std::optional<double> clip_norm;
  bool want_grad_norm = true;  // the metric grad_norm (before clipping), also where nothing is clipped
  int64_t accumulate = 1;      // micro-steps per update
  bool dropout = false;        // off: dropout is the identity
  Precision precision = Precision::fp32;
  LossScaleOptions loss_scale{};  // fp16
  bool keep_outputs = false;      // the model's outputs stay outputs of the step; else only the loss needs them
  FuseLevel fuse = FuseLevel::full;
  bool fuse_loss = true;                     // level full: a cross-entropy takes in the linear layer before it
  bool fuse_attention = true;                // level full: attention is one kernel; else it is its parts
  std::vector<FusionOverride> fuse_edges{};  // level full: edges to join or to keep apart
  RematOptions remat{};
};

// "cross-entropy", "mse", "mean", "sum", "mean-square", "output". Throws UserError naming the choices.
LossKind parse_loss_kind(std::string_view text);
std::string_view loss_kind_name(LossKind kind);
// "adamw", "sgd:lr=0.1,momentum=0.9", ... Throws UserError for an unknown name, key or number. An omitted weight_decay
// is 0.01 for adamw and 0 for the others, as in PyTorch.
OptimizerOptions parse_optimizer(std::string_view text);
std::string_view optimizer_kind_name(OptimizerKind kind);
// "fp32", "bf16", "fp16", "tf32".
Precision parse_precision(std::string_view text);
std::string_view precision_name(Precision precision);
// The 16-bit type of mixed precision, nullopt without.
std::optional<Dtype> low_dtype(Precision precision);
// "init=65536,growth=2,backoff=0.5,interval=2000", each of which may be left out.
LossScaleOptions parse_loss_scale(std::string_view text);
// "off", "pointwise", "full".
FuseLevel parse_fuse_level(std::string_view text);
std::string_view fuse_level_name(FuseLevel level);

// Whether `text` matches a glob of *, ? and literal characters; a comma separates alternatives.
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace stepc
