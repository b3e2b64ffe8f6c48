// The same update by one rank and by several that share its threads, in turns in one process.
//
//   ranks_bench --model DIR [--ranks 2] [--threads 2] [--rounds 4]
//
// Ranks are threads here; they talk over loopback as processes do. One JSON line: the best time of
// each, `throughput` of the ranks beside one rank, and of their best round what went into sums over
// the ranks and waiting.
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "gpu_trainer/engine/engine.h"
#include "gpu_trainer/grpo/learner.h"
#include "gpu_trainer/passive_threads.h"
#include "gpu_trainer/profile/reuse_memory.h"
#include "gpu_trainer/ranks/free_port.h"
#include "gpu_trainer/ranks/rank_group.h"
#include "gpu_trainer/synthetic_step.h"
#include "gpu_trainer/tokenizer/tokenizer.h"

namespace whetstone {
namespace {

struct Flags {
  std::string model;
  SyntheticWork work;
  int ranks = 2, threads = 2, rounds = 4;
};

// A policy of its own, and how its updates went.
struct Trainee {
  explicit Trainee(const Flags& flags, RankGroup* ranks)
      : config(LoadModelConfig(flags.model).value()),
        weights(LoadWeights(flags.model, config, torch::kBFloat16).value()),
        learner(config, weights, {.ranks = ranks}) {}

  void Update(const SyntheticWork& work, const v1::GrpoBatch& batch) {
    const auto start = std::chrono::steady_clock::now();
    const UpdateResult result = UpdateSynthetically(work, batch, learner).value();
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    if (updates++ == 0) return;  // maps memory and chooses kernels
    if (best_s > 0 && passed.count() >= best_s) return;
    best_s = passed.count();
    metrics = result.metrics;
  }

  const ModelConfig config;
  Weights weights;
  Learner learner;
  int updates = 0;
  double best_s = 0;
  std::map<std::string, double> metrics;
};

absl::Status Run(const Flags& flags) {
  at::set_num_threads(flags.threads);
  Trainee one(flags, nullptr);
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, Tokenizer::Load(flags.model));
  Engine engine(one.config, one.weights, *tokenizer);
  ASSIGN_OR_RETURN(const v1::GrpoBatch batch,
                   GenerateSyntheticBatch(flags.work, 0, *tokenizer, engine));

  RankPlace place{
      .world_size = flags.ranks, .local_size = flags.ranks, .master_address = "127.0.0.1"};
  ASSIGN_OR_RETURN(place.master_port, FreeLoopbackPort());
  std::barrier turn(flags.ranks + 1);
  nlohmann::ordered_json line;
  std::vector<std::thread> threads;
  for (place.rank = 0; place.rank < flags.ranks; ++place.rank) {
    threads.emplace_back([&, place] {
      at::set_num_threads(std::max(1, flags.threads / flags.ranks));
      const std::unique_ptr<RankGroup> ranks = RankGroup::Join(place, {}).value();
      Trainee mine(flags, ranks.get());
      for (int round = 0; round <= flags.rounds; ++round) {
        turn.arrive_and_wait();
        mine.Update(flags.work, batch);
        turn.arrive_and_wait();
      }
      if (place.rank > 0) return;
      line["ranks_s"] = mine.best_s;
      for (const char* name :
           {"perf/communication_s", "perf/communication_mib", "perf/rank_wait_s"}) {
        line[name] = mine.metrics[name];
      }
    });
  }
  for (int round = 0; round <= flags.rounds; ++round) {
    one.Update(flags.work, batch);
    turn.arrive_and_wait();
    turn.arrive_and_wait();
  }
  for (std::thread& thread : threads) thread.join();
  line["ranks"] = flags.ranks;
  line["threads"] = flags.threads;
  line["one_rank_s"] = one.best_s;
  line["throughput"] = one.best_s / line["ranks_s"].get<double>();
  std::printf("%s\n", line.dump().c_str());
  return absl::OkStatus();
}

}  // namespace
}  // namespace whetstone

int main(int argc, char** argv) {
  whetstone::WaitPassively(argv);
  whetstone::ReuseTensorMemory();
  whetstone::Flags flags;
  CLI::App app{"The same update by one rank and by several"};
  app.add_option("--model", flags.model, "Hugging Face directory")->required();
  app.add_option("--ranks", flags.ranks)->check(CLI::Range(2, 64));
  app.add_option("--threads", flags.threads, "Of one rank; shared by the several")
      ->check(CLI::Range(1, 4096));
  app.add_option("--rounds", flags.rounds)->check(CLI::PositiveNumber);
  app.add_option("--prompts", flags.work.prompts, "Groups of one step")->check(CLI::PositiveNumber);
  app.add_option("--group", flags.work.group, "Completions of a group")->check(CLI::PositiveNumber);
  app.add_option("--prompt-tokens", flags.work.prompt_tokens)->check(CLI::PositiveNumber);
  app.add_option("--new-tokens", flags.work.new_tokens)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = whetstone::Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "ranks_bench: %s\n", std::string(status.message()).c_str());
  return 1;
}
