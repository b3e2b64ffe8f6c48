// Compares one update by one rank with the same by several that share its threads. They take turns
// in one process.
//
//   ranks_bench --model DIR [--ranks 2] [--threads 2] [--rounds 4] [--sharding optimizer]
//     [--trace FILE]
//
// Ranks are threads here; they talk over loopback as processes do. One JSON line gives the best
// time of each, `throughput` of the ranks beside one rank, best beside best, and the median over
// the rounds (the machine may change between rounds, but hardly within one). It says of rank 0's
// best round what went into sums over the ranks and waiting. It gives the seconds of each part, of
// the one rank's best round and, as a mean over the ranks, of theirs. Ranks have a share of the
// work and of the threads, so a part that takes them longer is where throughput goes.
//
// --trace writes that round of the ranks, what each computed and which sums were on their way, for
// chrome://tracing or ui.perfetto.dev.
#include <ATen/Parallel.h>
#include <torch/types.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "gpu_trainer/distributed/free_port.h"
#include "gpu_trainer/distributed/rank_group.h"
#include "gpu_trainer/engine/engine.h"
#include "gpu_trainer/process/passive_threads.h"
#include "gpu_trainer/profile/chrome_trace.h"
#include "gpu_trainer/profile/reuse_memory.h"
#include "gpu_trainer/profile/step_profile.h"
#include "gpu_trainer/synthetic/synthetic_step.h"
#include "gpu_trainer/tokenizer/tokenizer.h"
#include "gpu_trainer/train/learner/learner.h"

namespace whetstone {
namespace {

struct Flags {
  std::string model, trace;
  SyntheticWork work;
  int ranks = 2, threads = 2, rounds = 4;
  Sharding sharding = Sharding::kNone;
};

struct Round {
  double s = 0;
  std::map<std::string, double> metrics;
  StepProfile profile;
  StepTrace trace;
};

// A Trainee has a policy of its own, and the rounds of its updates.
struct Trainee {
  explicit Trainee(const Flags& flags, RankGroup* ranks)
      : config(LoadModelConfig(flags.model).value()),
        weights(LoadWeights(flags.model, config, torch::kBFloat16).value()),
        learner(config, weights, {.ranks = ranks, .sharding = flags.sharding}) {}

  void Update(const SyntheticWork& work, const v1::GrpoBatch& batch) {
    Round round;
    const auto start = std::chrono::steady_clock::now();
    {
      const ProfileCollection collecting(&round.profile, &round.trace);
      round.metrics = UpdateSynthetically(work, batch, learner).value().metrics;
    }
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    round.s = passed.count();
    rounds.push_back(std::move(round));
  }

  const ModelConfig config;
  Weights weights;
  Learner learner;
  std::vector<Round> rounds;  // The first maps memory and chooses kernels: it does not count.
};

size_t Best(const std::vector<Round>& rounds) {
  const auto shorter = [](const Round& a, const Round& b) { return a.s < b.s; };
  return static_cast<size_t>(std::min_element(rounds.begin() + 1, rounds.end(), shorter) -
                             rounds.begin());
}

// Returns the line about the rounds of one rank beside those of several.
nlohmann::ordered_json Report(const std::vector<Round>& one,
                              const std::vector<std::vector<Round>>& ranks) {
  const size_t best_of_one = Best(one), best = Best(ranks[0]);
  std::vector<double> ratios;
  for (size_t i = 1; i < one.size(); ++i) ratios.push_back(one[i].s / ranks[0][i].s);
  std::sort(ratios.begin(), ratios.end());
  nlohmann::ordered_json line = {{"one_rank_s", one[best_of_one].s},
                                 {"ranks_s", ranks[0][best].s},
                                 {"throughput", one[best_of_one].s / ranks[0][best].s},
                                 {"throughput_median", ratios[ratios.size() / 2]}};
  for (const char* name : {"perf/communication_s", "perf/communication_hidden",
                           "perf/communication_mib", "perf/rank_wait_s"}) {
    line[name] = ranks[0][best].metrics.at(name);
  }
  for (int p = 0; p < kParts; ++p) {
    const Part part = static_cast<Part>(p);
    double of_ranks = 0;
    for (const auto& rounds : ranks) of_ranks += rounds[best].profile.of(part).seconds;
    of_ranks /= static_cast<double>(ranks.size());
    const double of_one = one[best_of_one].profile.of(part).seconds;
    if (of_one + of_ranks > 0) {
      line["parts"][NameOf(part)] = {{"one_rank_s", of_one}, {"ranks_s", of_ranks}};
    }
  }
  return line;
}

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
  std::vector<std::vector<Round>> of_ranks(static_cast<size_t>(flags.ranks));
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
      of_ranks[static_cast<size_t>(place.rank)] = std::move(mine.rounds);
    });
  }
  for (int round = 0; round <= flags.rounds; ++round) {
    one.Update(flags.work, batch);
    turn.arrive_and_wait();
    turn.arrive_and_wait();
  }
  for (std::thread& thread : threads) thread.join();
  nlohmann::ordered_json line = {
      {"ranks", flags.ranks}, {"threads", flags.threads}, {"sharding", NameOf(flags.sharding)}};
  line.update(Report(one.rounds, of_ranks));
  std::printf("%s\n", line.dump().c_str());
  if (flags.trace.empty()) return absl::OkStatus();
  std::vector<StepTrace> traces;
  for (auto& rounds : of_ranks) traces.push_back(rounds[Best(of_ranks[0])].trace);
  std::ofstream file(flags.trace);
  file << ChromeTrace(traces) << std::endl;
  if (!file) return absl::UnavailableError("can not write " + flags.trace);
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
  std::map<std::string, whetstone::Sharding> shardings;
  for (const whetstone::Sharding s : whetstone::kShardings) shardings[NameOf(s)] = s;
  app.add_option("--sharding", flags.sharding, "As train.sharding")
      ->transform(CLI::CheckedTransformer(shardings));
  app.add_option("--prompts", flags.work.prompts, "Groups of one step")->check(CLI::PositiveNumber);
  app.add_option("--group", flags.work.group, "Completions of a group")->check(CLI::PositiveNumber);
  app.add_option("--prompt-tokens", flags.work.prompt_tokens)->check(CLI::PositiveNumber);
  app.add_option("--new-tokens", flags.work.new_tokens)->check(CLI::PositiveNumber);
  app.add_option("--trace", flags.trace, "Where to write what the ranks did, as Chrome trace JSON");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = whetstone::Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "ranks_bench: %s\n", std::string(status.message()).c_str());
  return 1;
}
