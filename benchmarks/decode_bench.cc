// Measures decoding beside what the machine can do: one group of --batch samples shares a prompt.
//
//   decode_bench --shape 135m --batch 1 --batch 8 --batch 32 --tokenizer MODEL_DIR
//   decode_bench --model MODEL_DIR --new-tokens 128
//   decode_bench --device cuda --shape 1.5b --batch 256 --tokenizer MODEL_DIR [--no-graphs]
//
// It prints one JSON line for each batch. roofline_ms is the least time a step can take: the larger
// of bytes / read_gb_s (every matrix once, the prompt's keys and values once, each sequence's own)
// and flops / matmul_gflop_s, both speeds measured in the same run between the decoding runs; the
// best of --repeats counts for each. matmul_ms is the time of the step's matrix products alone.
// With --parity the line also says how far the recorded log-probabilities are from those of the
// same weights in f32: the mean exp|difference| over the tokens of one completion.
#include <ATen/Parallel.h>
#include <time.h>
#include <torch/types.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "gpu_trainer/engine/engine.h"
#include "gpu_trainer/engine/runner/graph_runner.h"
#include "gpu_trainer/kernels/linear.h"
#include "gpu_trainer/kernels/parallel.h"
#include "gpu_trainer/model/weights.h"
#include "gpu_trainer/process/passive_threads.h"
#include "gpu_trainer/profile/device.h"
#include "gpu_trainer/profile/machine.h"
#include "gpu_trainer/profile/reuse_memory.h"

namespace whetstone {
namespace {

struct Flags {
  std::string model, shape, tokenizer;
  std::vector<int> batches = {1, 8, 32};
  int prompt_tokens = 256;
  int new_tokens = 64;
  int repeats = 3;
  int threads = 0;
  double temperature = 1;
  bool prompt_lookup = false;
  std::string device = "cpu";
  bool no_graphs = false;
  bool parity = false;
};

// --processor-time sets it, so that what else runs on the machine counts little.
bool by_processor = false;

double Now() {
  if (by_processor) {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double Rounded(double x, int digits) {
  const double scale = std::pow(10.0, digits);
  return std::round(x * scale) / scale;
}

absl::StatusOr<ModelConfig> ShapeNamed(const std::string& name) {
  const char* json = nullptr;
  if (name == "135m") {
    json = R"({"model_type": "llama", "hidden_size": 576, "num_hidden_layers": 30,
               "num_attention_heads": 9, "num_key_value_heads": 3, "intermediate_size": 1536,
               "vocab_size": 49152, "max_position_embeddings": 8192, "eos_token_id": 2,
               "tie_word_embeddings": true})";
  } else if (name == "0.5b") {
    json = R"({"model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 24,
               "num_attention_heads": 14, "num_key_value_heads": 2, "intermediate_size": 4864,
               "vocab_size": 151936, "max_position_embeddings": 8192, "eos_token_id": 2,
               "tie_word_embeddings": true})";
  } else if (name == "1.5b") {
    json = R"({"model_type": "qwen2", "hidden_size": 1536, "num_hidden_layers": 28,
               "num_attention_heads": 12, "num_key_value_heads": 2, "intermediate_size": 8960,
               "vocab_size": 151936, "max_position_embeddings": 8192, "eos_token_id": 2,
               "tie_word_embeddings": true})";
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("--shape is '", name, "'; valid: 135m, 0.5b, 1.5b"));
  }
  return ParseModelConfig(json, name);
}

// ReadBandwidth measures how many bytes a second all threads read together, by the sum of a buffer
// that no cache holds.
class ReadBandwidth {
 public:
  ReadBandwidth() : words_(torch::ones({int64_t{64} << 20}, torch::kLong)) {}

  double Measure() {
    constexpr int64_t kRun = 1 << 17;
    const int64_t* const words = words_.const_data_ptr<int64_t>();
    const int64_t runs = words_.numel() / kRun;
    std::vector<int64_t> sums(static_cast<size_t>(runs));
    const double begin = Now();
    ParallelFor(runs, [&](int64_t run) {
      Lanes lanes[4] = {};
      const int64_t* from = words + run * kRun;
      for (int64_t i = 0; i < kRun; i += 32) {
        for (int64_t j = 0; j < 4; ++j) {
          Lanes word;
          std::memcpy(&word, from + i + 8 * j, sizeof word);
          lanes[j] += word;
        }
      }
      const Lanes sum = lanes[0] + lanes[1] + lanes[2] + lanes[3];
      for (int j = 0; j < 8; ++j) sums[static_cast<size_t>(run)] += sum[j];
    });
    const double seconds = Now() - begin;
    int64_t total = 0;
    for (const int64_t sum : sums) total += sum;
    CHECK(total == words_.numel());
    return static_cast<double>(words_.nbytes()) / seconds;
  }

 private:
  using Lanes = int64_t __attribute__((vector_size(64)));
  const torch::Tensor words_;  // They are allocated as weights are.
};

// Roofline holds the best speeds so far: bytes and floating-point operations a second.
class Roofline {
 public:
  explicit Roofline(torch::Device device) : device_(device) {}

  void Measure() {
    if (device_.is_cpu()) {
      if (!bandwidth_) bandwidth_.emplace();
      read = std::max(read, bandwidth_->Measure());
      matmul = std::max(matmul, MatmulSpeed());
      return;
    }
    const MachineSpeed speed = MeasureMachine(device_, /*seconds=*/0.5, {"bf16"});
    read = std::max(read, 1e9 * speed.read_gb_s);
    matmul = std::max(matmul, 1e9 * speed.BestGflops("bf16"));
  }

  double read = 0, matmul = 0;

 private:
  static double MatmulSpeed();

  const torch::Device device_;
  std::optional<ReadBandwidth> bandwidth_;
};

// Returns the FLOP/s of LibTorch's bf16 product of two matrices that are neither small nor thin.
double Roofline::MatmulSpeed() {
  static const torch::Tensor a = torch::randn({1024, 1024}).to(torch::kBFloat16);
  static const torch::Tensor b = torch::randn({1024, 1024}).to(torch::kBFloat16);
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    const double begin = Now();
    at::matmul(a, b);
    best = std::max(best, 2.0 * 1024 * 1024 * 1024 / (Now() - begin));
  }
  return best;
}

// Returns all that every step multiplies by.
std::vector<torch::Tensor> Matrices(const Weights& weights) {
  std::vector<torch::Tensor> matrices = {weights.lm_head};
  for (const LayerWeights& layer : weights.layers) {
    matrices.insert(matrices.end(), {layer.qkv, layer.o, layer.gate_up, layer.down});
  }
  return matrices;
}

// Returns the seconds of one step's matrix products of `rows` rows.
double MatmulSeconds(const Weights& weights, int64_t rows) {
  const std::vector<torch::Tensor> matrices = Matrices(weights);
  std::map<int64_t, torch::Tensor> inputs;
  for (const torch::Tensor& w : matrices) {
    inputs[w.size(1)] = torch::randn({rows, w.size(1)}).to(w.options());
  }
  WaitForDevice(weights.device());
  const double begin = Now();
  for (const torch::Tensor& w : matrices) Linear(inputs[w.size(1)], w);
  WaitForDevice(weights.device());
  return Now() - begin;
}

double MatrixParameters(const Weights& weights) {
  double n = 0;
  for (const torch::Tensor& w : Matrices(weights)) n += static_cast<double>(w.numel());
  return n;
}

struct Measured {
  double step_s = std::numeric_limits<double>::infinity();
  double tokens_per_s = 0;
  double graph_share = 0;  // The share of the steps that a CUDA graph replayed.
  std::vector<int32_t> prompt;
  Completion completion;  // It is one of the group's.
};

// Times the steps alone, from when every sample has its first token to the last token.
absl::StatusOr<Measured> Decode(const Flags& flags, Engine& engine, const ModelConfig& config,
                                int batch) {
  GenerateSpec spec;
  spec.seed = 5;
  spec.sampling.max_new_tokens = flags.new_tokens;
  spec.sampling.temperature = flags.temperature;
  spec.sampling.ignore_eos = true;
  PromptGroupSpec group;
  for (int i = 0; i < flags.prompt_tokens; ++i) {
    group.ids.push_back(
        static_cast<int32_t>((i * 7919 + 13) % std::min<int64_t>(config.vocab, 40000)));
  }
  for (int i = 0; i < batch; ++i) group.samples.push_back(i);
  spec.groups.push_back(group);
  double begin = 0, end = 0;
  GenerateStatus first, last;
  Measured measured;
  measured.prompt = group.ids;
  GenerateSink sink;
  sink.on_completion = [&](Completion c) { measured.completion = std::move(c); };
  sink.on_progress = [&](const GenerateStatus& status) {
    end = Now();
    if (begin == 0) begin = end, first = status;
    last = status;
  };
  RETURN_IF_ERROR(engine.Generate(spec, sink));
  const double steps = static_cast<double>(last.steps);
  measured.step_s = (end - begin) / steps;
  measured.tokens_per_s = static_cast<double>(last.tokens - first.tokens) / (end - begin);
  measured.graph_share = static_cast<double>(last.graph_steps) / steps;
  return measured;
}

// Returns the mean exp|difference| of a completion's recorded log-probabilities and those of
// `weights` in f32.
absl::StatusOr<double> Parity(const Measured& measured, const ModelConfig& config,
                              const Weights& weights, const Tokenizer& tokenizer) {
  const Weights wide = CopyWeights(config, weights, torch::kFloat, weights.device());
  Engine engine(config, wide, tokenizer);
  std::vector<int32_t> ids = measured.prompt;
  const std::vector<int32_t>& sampled = measured.completion.ids;
  ids.insert(ids.end(), sampled.begin(), sampled.end());
  ASSIGN_OR_RETURN(const std::vector<float> scored, engine.Score(ids));
  double sum = 0;
  for (size_t i = 0; i < sampled.size(); ++i) {
    const float exact = scored[measured.prompt.size() - 1 + i];
    sum += std::exp(std::abs(static_cast<double>(measured.completion.logprobs[i] - exact)));
  }
  return sum / static_cast<double>(sampled.size());
}

absl::Status Run(const Flags& flags) {
  if (flags.threads > 0) at::set_num_threads(flags.threads);
  const torch::Device device(flags.device == "cuda" ? "cuda:0" : "cpu");
  UseDevice(device);
  ModelConfig config;
  Weights weights;
  if (flags.model.empty()) {
    ASSIGN_OR_RETURN(config, ShapeNamed(flags.shape));
    weights =
        CopyWeights(config, RandomWeights(config, torch::kBFloat16, 1), torch::kBFloat16, device);
  } else {
    ASSIGN_OR_RETURN(config, LoadModelConfig(flags.model));
    ASSIGN_OR_RETURN(weights, LoadWeights(flags.model, config, torch::kBFloat16, device));
  }
  ASSIGN_OR_RETURN(const auto tokenizer,
                   Tokenizer::Load(flags.tokenizer.empty() ? flags.model : flags.tokenizer));
  Engine engine(config, weights, *tokenizer,
                {.prompt_lookup = flags.prompt_lookup, .cuda_graphs = !flags.no_graphs});
  Roofline machine(device);
  for (const int batch : flags.batches) {
    double products_s = std::numeric_limits<double>::infinity();
    Measured best;
    for (int repeat = 0; repeat < flags.repeats; ++repeat) {
      for (int i = 0; i < 2; ++i) {
        machine.Measure();
        products_s = std::min(products_s, MatmulSeconds(weights, batch));
      }
      ASSIGN_OR_RETURN(Measured measured, Decode(flags, engine, config, batch));
      if (measured.step_s < best.step_s) best = std::move(measured);
    }
    const double parameters = MatrixParameters(weights),
                 layers = static_cast<double>(config.layers);
    const double suffix = flags.new_tokens / 2.0, context = flags.prompt_tokens + suffix;
    const double bytes =
        2 * parameters + 2 * 2 * layers * static_cast<double>(config.kv_heads * config.head_dim) *
                             (flags.prompt_tokens + batch * suffix);
    const double flops =
        batch * (2 * parameters +
                 4 * layers * static_cast<double>(config.heads * config.head_dim) * context);
    const double roofline_s = std::max(bytes / machine.read, flops / machine.matmul);
    nlohmann::ordered_json line = {{"peer", "whetstone"},
                                   {"model", flags.model.empty() ? flags.shape : flags.model},
                                   {"dtype", "bfloat16"},
                                   {"threads", at::get_num_threads()},
                                   {"batch", batch},
                                   {"prompt_tokens", flags.prompt_tokens},
                                   {"new_tokens", flags.new_tokens},
                                   {"decode_tok_s", Rounded(best.tokens_per_s, 1)},
                                   {"step_ms", Rounded(best.step_s * 1e3, 2)},
                                   {"matmul_ms", Rounded(products_s * 1e3, 2)},
                                   {"roofline_ms", Rounded(roofline_s * 1e3, 2)},
                                   {"roofline_share", Rounded(roofline_s / best.step_s, 3)},
                                   {"bytes_per_step", bytes},
                                   {"flops_per_step", flops},
                                   {"read_gb_s", Rounded(machine.read / 1e9, 1)},
                                   {"matmul_gflop_s", Rounded(machine.matmul / 1e9, 1)}};
    if (device.is_cuda()) {
      line["device"] = "cuda";
      line["bandwidth_share"] = Rounded(bytes / machine.read / best.step_s, 3);
      line["graph_share"] = Rounded(best.graph_share, 3);
    }
    if (flags.parity) {
      ASSIGN_OR_RETURN(const double parity, Parity(best, config, weights, *tokenizer));
      line["mean_exp_logprob_difference"] = Rounded(parity, 5);
    }
    std::printf("%s\n", line.dump().c_str());
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace whetstone

int main(int argc, char** argv) {
  whetstone::WaitPassively(argv);
  whetstone::ReuseTensorMemory();  // whet-trainer does so, too.
  whetstone::Flags flags;
  CLI::App app{"Decoding speed"};
  app.add_option("--model", flags.model, "Hugging Face directory");
  app.add_option("--shape", flags.shape,
                 "135m, 0.5b or 1.5b with arbitrary weights; needs --tokenizer");
  app.add_option("--tokenizer", flags.tokenizer, "directory of the tokenizer (default: --model)");
  app.add_option("--batch", flags.batches, "samples of the group; repeatable");
  app.add_option("--prompt-tokens", flags.prompt_tokens)->check(CLI::PositiveNumber);
  app.add_option("--new-tokens", flags.new_tokens)->check(CLI::Range(2, 1 << 20));
  app.add_option("--repeats", flags.repeats)->check(CLI::PositiveNumber);
  app.add_option("--threads", flags.threads, "0: one for each core")->check(CLI::Range(0, 4096));
  app.add_option("--temperature", flags.temperature)->check(CLI::NonNegativeNumber);
  app.add_option("--device", flags.device)->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_flag("--no-graphs", flags.no_graphs, "every step launched anew, without CUDA graphs");
  app.add_flag("--parity", flags.parity, "compare with the same weights in f32");
  app.add_flag("--prompt-lookup", flags.prompt_lookup, "guess tokens ahead where that pays");
  app.add_flag("--processor-time", whetstone::by_processor,
               "by the processor's clock, for --threads 1 on a machine that is busy besides");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = whetstone::Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "decode_bench: %s\n", std::string(status.message()).c_str());
  return 1;
}
