#include "tools/driver/options.h"

#include "ir/support/error.h"
#include "ir/support/quote.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <thread>
#include <type_traits>

namespace stepc {
namespace {

// CLI11 turns what a callback throws into wrong usage (exit status 2) only if it is one of its own errors.
template <typename Parse>
auto as_usage(Parse parse) {
  return [parse](const std::string& text) {
    try {
      parse(text);
    } catch (const UserError& error) {
      throw CLI::ValidationError(error.what());
    }
  };
}

CLI::Option* add_parsed(CLI::App& app, const std::string& name, auto parse, const std::string& help) {
  return app.add_option_function<std::string>(name, as_usage(parse), help);
}

void not_available(CLI::App& app, std::initializer_list<const char*> names) {
  for (const char* name : names)
    app.add_option_function<std::vector<std::string>>(
           name,
           [name](const std::vector<std::string>&) {
             throw CLI::ValidationError(fmt::format("{} is not available yet", name));
           })
        ->expected(0, -1)
        ->group("");
}

int64_t parse_size(std::string_view option, std::string_view text, std::string_view number) {
  int64_t size = 0;
  const char* end = number.data() + number.size();
  const auto [read_to, error] = std::from_chars(number.data(), end, size);
  if (error == std::errc::result_out_of_range) user_error("{} {}: the size does not fit 64 bits", option, text);
  if (error != std::errc() || read_to != end)
    user_error("{} {}: expected NAME=N, or N for a zoo model's width", option, text);
  if (size < 0) user_error("{} {}: a size cannot be negative", option, text);
  return size;
}

// NAME=N binds a symbolic dimension, N alone is the width of a zoo model.
void add_dim(DriverOptions& options, const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos) {
    options.zoo.dim = parse_size("--dim", text, text);
    return;
  }
  const std::string name = text.substr(0, equals);
  const int64_t size = parse_size("--dim", text, std::string_view(text).substr(equals + 1));
  if (const auto [bound, is_new] = options.dims.emplace(name, size); !is_new && bound->second != size)
    user_error("--dim {}: '{}' is already bound to {}", text, name, bound->second);
}

// CLI11's own range checks print the whole range of double.
CLI::Validator at_least(double least, bool or_equal) {
  return {[least, or_equal](std::string& text) {
            double value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool number = error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
            if (number && (or_equal ? value >= least : value > least)) return std::string();
            return fmt::format("{}: expected a number {} {}", in_quotes(text), or_equal ? "from" : "above", least);
          },
          ""};
}

// CLI11's own conversion saturates at 64 bits and reads 010 as octal.
template <typename Number>
Number parse_integer(std::string_view option, std::string_view text, Number least, Number most) {
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [read_to, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && read_to == end && value >= least && value <= most) return value;
  const bool open_ended = most == std::numeric_limits<Number>::max();
  user_error("{} {}: expected a whole number from {}{}", option, text, least,
             open_ended ? std::string() : fmt::format(" to {}", most));
}

// An integer option, or one that may be absent.
template <typename Target, typename Number = int64_t>
CLI::Option* add_integer(CLI::App& app, const std::string& name, Target& target, const std::string& help,
                         std::type_identity_t<Number> least = 0,
                         std::type_identity_t<Number> most = std::numeric_limits<Number>::max()) {
  const auto parse = [&target, name, least, most](const std::string& text) {
    target = static_cast<Target>(parse_integer<Number>(name, text, least, most));
  };
  return add_parsed(app, name, parse, help)->type_name("N");
}

bool parse_on_off(std::string_view option, std::string_view text) {
  if (text != "on" && text != "off") user_error("{} {}: expected on or off", option, text);
  return text == "on";
}

void expect_only(std::string_view option, std::string_view text, std::string_view available,
                 std::initializer_list<std::string_view> later) {
  if (text == available) return;
  if (std::ranges::find(later, text) != later.end()) user_error("{} {} is not available yet", option, text);
  user_error("{} {}: expected {}", option, text, available);
}

// Options of which one value works so far, and those of later releases; none of them is in the help.
void add_later_options(CLI::App& app) {
  add_parsed(
      app, "--deterministic", [](const std::string& text) { expect_only("--deterministic", text, "on", {"off"}); },
      "on")
      ->group("");
  not_available(app, {"--memory-budget", "--saved-budget", "--cost", "--ledger"});
}

void add_loss_options(CLI::App& app, TrainOptions& train, const std::string& group) {
  add_parsed(
      app, "--loss", [&](const std::string& text) { train.loss.kind = parse_loss_kind(text); },
      "cross-entropy, mse, mean, sum, mean-square or output (default: as the outputs suggest)")
      ->type_name("KIND")
      ->group(group);
  app.add_option("--logits", train.loss.logits, "the output that the loss is taken of")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--labels", train.loss.labels, "the model's input that holds the labels (default: a new one, label)")
      ->type_name("NAME")
      ->group(group);
  app.add_flag("--shift", train.loss.shift, "position t predicts label t+1")->group(group);
  add_integer(app, "--ignore-index", train.loss.ignore_index, "label that does not count (default -100)",
              std::numeric_limits<int64_t>::min())
      ->group(group);
  app.add_option("--grad-inputs", train.grad_inputs, "float inputs to differentiate too")
      ->type_name("GLOB")
      ->group(group);
}

void add_target_options(CLI::App& app, DriverOptions& options, const std::string& group) {
  add_parsed(
      app, "--target", [&](const std::string& text) { parse_target(text, options); },
      "cpu (default), interpreter, cuda[:sm_90], or simt[:sm_90]: the CUDA code, run and checked on the CPU")
      ->type_name("NAME")
      ->group(group);
  add_parsed(
      app, "--contractions",
      [&](const std::string& text) {
        if (text != "library" && text != "generated")
          user_error("--contractions {}: expected library or generated", text);
        options.library_contractions = text == "library";
      },
      "library (default): on target cuda those that cuBLASLt takes are its own; generated")
      ->type_name("KIND")
      ->group(group);
  add_thread_option(app, options)->group(group);
}

void add_fusion_options(CLI::App& app, DriverOptions& options, const std::string& group) {
  add_parsed(
      app, "--fuse", [&](const std::string& text) { options.train.fuse = parse_fuse_level(text); },
      "off, pointwise or full (default)")
      ->type_name("LEVEL")
      ->group(group);
  add_parsed(
      app, "--fuse-loss", [&](const std::string& text) { options.train.fuse_loss = parse_on_off("--fuse-loss", text); },
      "off: the logits are stored, also with --fuse full (default on)")
      ->type_name("on|off")
      ->group(group);
  add_parsed(
      app, "--fuse-attention",
      [&](const std::string& text) { options.train.fuse_attention = parse_on_off("--fuse-attention", text); },
      "on (default): attention is one kernel at level full; off: contractions and softmax")
      ->type_name("on|off")
      ->group(group);
  app.add_option("--fuse-edges", options.fuse_edges, "edges to force or forbid at level full, one per line")
      ->type_name("FILE")
      ->group(group);
}

}  // namespace

std::string_view target_name(Target target) {
  switch (target) {
    case Target::cpu: return "cpu";
    case Target::interpreter: return "interpreter";
    case Target::cuda: return "cuda";
    case Target::simt: return "simt";
  }
  return "";
}

void parse_target(const std::string& text, DriverOptions& options) {
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  for (const Target target : {Target::cpu, Target::interpreter, Target::cuda, Target::simt}) {
    if (name != target_name(target)) continue;
    options.target = target;
    if (colon == std::string::npos) return;
    if (target == Target::cpu || target == Target::interpreter) break;
    options.architecture = cuda::parse_architecture(text.substr(colon + 1));
    return;
  }
  user_error("--target {}: expected cpu, interpreter, cuda[:sm_90] or simt[:sm_90]", text);
}

int DriverOptions::thread_count() const {
  return threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

TrainOptions DriverOptions::train_options() const {
  TrainOptions resolved = train;
  if (lr) resolved.optimizer.lr = *lr;
  resolved.keep_outputs = keep_outputs || !outputs.empty();
  return resolved;
}

void add_model_options(CLI::App& app, DriverOptions& options) {
  add_parsed(
      app, "--dim", [&](const std::string& text) { add_dim(options, text); },
      "binds a symbolic dimension (repeatable); a number alone is the width of a zoo model")
      ->type_name("NAME=N")
      ->trigger_on_parse();
  app.add_option("--trainable", options.trainable, "initializers to train, as globs a*,b*; all others are frozen")
      ->type_name("GLOBS");
  app.add_option("--frozen", options.frozen, "initializers not to train")->type_name("GLOBS");

  ZooOverrides& zoo = options.zoo;
  const std::string group = "Zoo models";
  const auto add_size = [&](const std::string& name, std::optional<int64_t>& size, const std::string& help) {
    add_integer(app, name, size, help)->group(group);
  };
  app.add_option("--family", zoo.family, "gpt2, llama, bert, vit or moe: a small model whose sizes the options set")
      ->type_name("NAME")
      ->group(group);
  add_size("--layers", zoo.layers, "layers");
  add_size("--heads", zoo.heads, "attention heads");
  add_size("--kv-heads", zoo.kv_heads, "key and value heads");
  add_size("--ffn", zoo.ffn, "width of the feed-forward layer");
  add_size("--vocab", zoo.vocab, "vocabulary size");
  add_size("--seq", zoo.seq, "sequence length");
  add_size("--experts", zoo.experts, "experts per layer (moe)");
  add_size("--top-k", zoo.top_k, "experts per token (moe)");
  app.add_flag_callback(
         "--tied", [&zoo] { zoo.tied = true; }, "share the embedding with the head")
      ->group(group);
  app.add_flag_callback(
         "--untied", [&zoo] { zoo.tied = false; }, "a head of its own")
      ->group(group);
  app.add_flag("--blocks-only", zoo.blocks_only, "without embedding and head")->group(group);
  app.add_option("--weights", options.weights, "none, random or random:SEED, for a model without weights of its own")
      ->type_name("KIND")
      ->group(group);
}

void add_step_options(CLI::App& app, DriverOptions& options) {
  const std::string group = "Training step";
  add_loss_options(app, options.train, group);
  add_parsed(
      app, "--optimizer", [&](const std::string& text) { options.train.optimizer = parse_optimizer(text); },
      "adamw (default), adam, sgd or none, with :lr=1e-4,beta1=0.9,beta2=0.999,eps=1e-8,weight_decay=0.01,momentum=0")
      ->type_name("NAME[:KEY=X,...]")
      ->group(group);
  app.add_option("--lr", options.lr, "learning rate, whatever --optimizer says")
      ->type_name("X")
      ->check(at_least(0, /*or_equal=*/true))
      ->group(group);
  app.add_option("--clip-norm", options.train.clip_norm, "scales the gradients down to this global norm")
      ->type_name("X")
      ->check(at_least(0, /*or_equal=*/false))
      ->group(group);
  add_integer(app, "--accumulate", options.train.accumulate, "micro-steps per update (default 1)", 1, kMostMicroSteps)
      ->group(group);
  add_parsed(
      app, "--dropout", [&](const std::string& text) { options.train.dropout = parse_on_off("--dropout", text); },
      "off (default): dropout nodes are identities; on")
      ->type_name("off|on")
      ->group(group);
  add_parsed(
      app, "--precision", [&](const std::string& text) { options.train.precision = parse_precision(text); },
      "fp32 (default), bf16 or fp16: mixed, with f32 weights, sums and updates; tf32: f32 whose products on CUDA round "
      "their operands to 11 bits")
      ->type_name("NAME")
      ->group(group);
  add_parsed(
      app, "--loss-scale", [&](const std::string& text) { options.train.loss_scale = parse_loss_scale(text); },
      "fp16: what the loss is multiplied by, as init=65536,growth=2,backoff=0.5,interval=2000")
      ->type_name("KEY=X,...")
      ->group(group);
  add_fusion_options(app, options, group);
  add_parsed(
      app, "--remat", [&](const std::string& text) { options.train.remat = parse_remat(text); },
      "what the backward recomputes: none (default), " + remat_usages())
      ->type_name("POLICY")
      ->group(group);
  app.add_option(
         "--device-spec", options.device,
         "what predictions are made for: cpu (default), rtx5090, rtx4090, a100, h100, h200, b200, l4, or a file")
      ->type_name("NAME|FILE")
      ->group(group);
  add_target_options(app, options, group);
  add_integer<uint64_t, uint64_t>(app, "--seed", options.seed,
                                  "seed of data order, random inputs and dropout (default 0)")
      ->group(group);
  add_later_options(app);
}

CLI::Option* add_thread_option(CLI::App& app, DriverOptions& options) {
  return add_integer(app, "--threads", options.threads, "threads (default: all cores)", 1, 1024);
}

void add_pass_options(CLI::App& app, DriverOptions& options) {
  const std::string group = "Passes";
  app.add_option("--stop-after", options.stop_after, "the last pass to run")->type_name("PASS")->group(group);
  app.add_option("--skip", options.skip, "a pass to leave out (repeatable)")
      ->type_name("PASS")
      ->allow_extra_args(false)
      ->group(group);
  add_integer(app, "--bisect", options.bisect, "leave out the optional passes after N of them changed the graph")
      ->group(group);
  app.add_option("--dump-after", options.dump_after, "write the graph's text after this pass, or after all into DIR")
      ->type_name("PASS|all[=DIR]")
      ->group(group);
  app.add_flag("--dump-onnx", options.dump_onnx, "dump .onnx files to look at instead of text")->group(group);
}

void add_data_options(CLI::App& app, DriverOptions& options) {
  const std::string group = "Data and steps";
  app.add_option("--data", options.data, ".npz batch, .u8/.u16/.u32 token file, or any file as text (bytes as tokens)")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--token-dtype", options.token_dtype, "u8, u16 or u32: the file holds tokens of this type")
      ->type_name("DTYPE")
      ->check(CLI::IsMember({"u8", "u16", "u32"}).description(""))
      ->group(group);
}

void add_run_options(CLI::App& app, DriverOptions& options) {
  const std::string group = "Data and steps";
  const auto add_file = [&](const std::string& name, std::string& file, const std::string& help) {
    app.add_option(name, file, help)->type_name("FILE")->group(group);
  };
  add_data_options(app, options);
  add_integer(app, "--steps", options.steps, "steps to run (default 1)", 0, kMostSteps)->group(group);
  add_integer(app, "--warmup", options.warmup, "steps before timing starts; they train and count in the losses", 0,
              kMostSteps)
      ->group(group);
  add_file("--save", options.save,
           ".safetensors: weights and state after the last step, for --resume; .onnx: the model");
  add_file("--resume", options.resume, "start from a .safetensors file that --save wrote");
  add_file("--outputs", options.outputs, ".npz: loss, outputs and gradients of the last step");
  add_file("--dump-weights", options.dump_weights, ".npz: weights after the last step");
}

void add_output_options(CLI::App& app, DriverOptions& options) {
  const std::string group = "Output";
  app.add_option("--json", options.json, "the whole report; - for standard output")->type_name("FILE")->group(group);
  app.add_flag("-q,--quiet", options.quiet, "print errors only")->group(group);
  app.add_flag("-v,--verbose", options.verbose, "print more")->group(group);
  add_parsed(
      app, "--progress",
      [&](const std::string& text) {
        if (text != "auto" && text != "off") user_error("--progress {}: expected auto or off", text);
        options.progress = text == "auto";
      },
      "auto (default): on a terminal; off")
      ->type_name("auto|off")
      ->group(group);
}

}  // namespace stepc
