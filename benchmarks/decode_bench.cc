// Decoding speed beside what the machine can do: one group of --batch samples over a shared prompt.
//
//   decode_bench --shape 135m --batch 1 --batch 8 --batch 32 --tokenizer MODEL_DIR
//   decode_bench --model MODEL_DIR --new-tokens 128
//
// One JSON line for each batch. roofline_ms is the least time a step can take: the larger of
// bytes / read_gb_s (every matrix once, the prompt's keys and values once, each sequence's own) and
// flops / matmul_gflop_s, both speeds measured in the same run between the decoding runs; the best
// of --repeats counts for each. matmul_ms is the time of the step's matrix products alone.
#include <time.h>
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "gpu_trainer/engine/engine.h"
#include "gpu_trainer/model/weights.h"
#include "gpu_trainer/ops/linear.h"
#include "gpu_trainer/ops/parallel.h"
#include "gpu_trainer/passive_threads.h"
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
};

// With --processor-time, so that what else runs on the machine counts little.
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
  } else {
    return absl::InvalidArgumentError(absl::StrCat("--shape is '", name, "'; valid: 135m, 0.5b"));
  }
  return ParseModelConfig(json, name);
}

// Read bandwidth of all threads together, bytes a second: the sum of a buffer that no cache holds.
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
  const torch::Tensor words_;  // as weights are allocated
};

// FLOP/s of LibTorch's bf16 product of two matrices that are neither small nor thin.
double MatmulSpeed() {
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

// What every step multiplies by.
std::vector<torch::Tensor> Matrices(const Weights& weights) {
  std::vector<torch::Tensor> matrices = {weights.lm_head};
  for (const LayerWeights& layer : weights.layers) {
    matrices.insert(matrices.end(), {layer.qkv, layer.o, layer.gate_up, layer.down});
  }
  return matrices;
}

// Seconds of one step's matrix products of `rows` rows.
double MatmulSeconds(const Weights& weights, int64_t rows) {
  const std::vector<torch::Tensor> matrices = Matrices(weights);
  std::map<int64_t, torch::Tensor> inputs;
  for (const torch::Tensor& w : matrices) {
    inputs[w.size(1)] = torch::randn({rows, w.size(1)}).to(w.scalar_type());
  }
  const double begin = Now();
  for (const torch::Tensor& w : matrices) Linear(inputs[w.size(1)], w);
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
};

// Time of the steps alone: from when every sample has its first token to the last token.
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
  GenerateSink sink;
  sink.on_progress = [&](const GenerateStatus& status) {
    end = Now();
    if (begin == 0) begin = end, first = status;
    last = status;
  };
  RETURN_IF_ERROR(engine.Generate(spec, sink));
  const double steps = static_cast<double>(last.steps);
  return Measured{(end - begin) / steps,
                  static_cast<double>(last.tokens - first.tokens) / (end - begin)};
}

absl::Status Run(const Flags& flags) {
  if (flags.threads > 0) at::set_num_threads(flags.threads);
  ModelConfig config;
  Weights weights;
  if (flags.model.empty()) {
    ASSIGN_OR_RETURN(config, ShapeNamed(flags.shape));
    weights = RandomWeights(config, torch::kBFloat16, 1);
  } else {
    ASSIGN_OR_RETURN(config, LoadModelConfig(flags.model));
    ASSIGN_OR_RETURN(weights, LoadWeights(flags.model, config, torch::kBFloat16));
  }
  ASSIGN_OR_RETURN(const auto tokenizer,
                   Tokenizer::Load(flags.tokenizer.empty() ? flags.model : flags.tokenizer));
  Engine engine(config, weights, *tokenizer, {.prompt_lookup = flags.prompt_lookup});
  ReadBandwidth bandwidth;
  for (const int batch : flags.batches) {
    double read = 0, matmul = 0, products_s = std::numeric_limits<double>::infinity();
    Measured best;
    for (int repeat = 0; repeat < flags.repeats; ++repeat) {
      for (int i = 0; i < 2; ++i) {
        read = std::max(read, bandwidth.Measure());
        matmul = std::max(matmul, MatmulSpeed());
        products_s = std::min(products_s, MatmulSeconds(weights, batch));
      }
      ASSIGN_OR_RETURN(const Measured measured, Decode(flags, engine, config, batch));
      best.step_s = std::min(best.step_s, measured.step_s);
      best.tokens_per_s = std::max(best.tokens_per_s, measured.tokens_per_s);
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
    const double roofline_s = std::max(bytes / read, flops / matmul);
    const nlohmann::ordered_json line = {{"peer", "whetstone"},
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
                                         {"read_gb_s", Rounded(read / 1e9, 1)},
                                         {"matmul_gflop_s", Rounded(matmul / 1e9, 1)}};
    std::printf("%s\n", line.dump().c_str());
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace whetstone

int main(int argc, char** argv) {
  whetstone::WaitPassively(argv);
  whetstone::ReuseTensorMemory();  // as whet-trainer does
  whetstone::Flags flags;
  CLI::App app{"Decoding speed"};
  app.add_option("--model", flags.model, "Hugging Face directory");
  app.add_option("--shape", flags.shape, "135m or 0.5b with arbitrary weights; needs --tokenizer");
  app.add_option("--tokenizer", flags.tokenizer, "directory of the tokenizer (default: --model)");
  app.add_option("--batch", flags.batches, "samples of the group; repeatable");
  app.add_option("--prompt-tokens", flags.prompt_tokens)->check(CLI::PositiveNumber);
  app.add_option("--new-tokens", flags.new_tokens)->check(CLI::Range(2, 1 << 20));
  app.add_option("--repeats", flags.repeats)->check(CLI::PositiveNumber);
  app.add_option("--threads", flags.threads, "0: one for each core")->check(CLI::Range(0, 4096));
  app.add_option("--temperature", flags.temperature)->check(CLI::NonNegativeNumber);
  app.add_flag("--prompt-lookup", flags.prompt_lookup, "guess tokens ahead where that pays");
  app.add_flag("--processor-time", whetstone::by_processor,
               "by the processor's clock, for --threads 1 on a machine that is busy besides");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = whetstone::Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "decode_bench: %s\n", std::string(status.message()).c_str());
  return 1;
}
