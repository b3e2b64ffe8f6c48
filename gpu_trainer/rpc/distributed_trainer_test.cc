#include "gpu_trainer/rpc/distributed_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "gpu_trainer/distributed/ranks_testing.h"
#include "gpu_trainer/rpc/sample_partition.h"
#include "gpu_trainer/rpc/tiny_model_testing.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

class DistributedTrainerTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<TempDir> dir = TempDir::Make("ranked");
    ASSERT_TRUE(dir.ok()) << dir.status();
    dir_ = std::make_unique<TempDir>(*std::move(dir));
    load_.set_path(dir_->path() + "/model");
    ASSERT_NO_FATAL_FAILURE(WriteTinyModel(load_.path()));
  }

  // Rank 0 does `lead` with a loaded policy, the others follow; then each does `after`.
  void Run(int ranks, const std::function<void(DistributedTrainer&)>& lead,
           const std::function<void(DistributedTrainer&, int rank)>& after = nullptr) {
    const auto run = [&](RankGroup& group) {
      DistributedTrainer trainer(torch::kCPU, torch::kFloat, group);
      if (group.rank() == 0) {
        const absl::Status loaded = trainer.Load(load_);
        EXPECT_TRUE(loaded.ok()) << loaded;
        lead(trainer);
        trainer.Stop();
      } else {
        const absl::Status followed = trainer.Follow();
        EXPECT_TRUE(followed.ok()) << followed;
      }
      if (after) after(trainer, group.rank());
    };
    if (ranks == 1) {
      RankGroup alone;
      run(alone);
    } else {
      RunAsRanks(ranks, run);
    }
  }

  static v1::GenerateRequest Prompts(int tokens = 6) {
    v1::GenerateRequest request;
    request.set_seed(17);
    request.set_step(1);
    // The bits are the same on every machine.
    request.set_deterministic(true);
    v1::SamplingParams& s = *request.mutable_sampling();
    s.set_max_new_tokens(tokens);
    s.set_temperature(1);
    s.set_top_p(1);
    s.set_ignore_eos(true);
    for (int g = 0; g < 2; ++g) {
      v1::PromptGroup& group = *request.add_groups();
      group.set_group_index(g);
      v1::Message& message = *group.add_messages();
      message.set_role("user");
      message.set_content(absl::StrCat("Make it faster, ", g));
      for (int i = 0; i < 3; ++i) group.add_samples(i);
    }
    return request;
  }

  struct Generated {
    absl::Status status;
    std::map<int, std::vector<int32_t>> prompts;                // By group.
    std::map<std::pair<int, int>, v1::Completion> completions;  // By group and sample.
  };
  static Generated Generate(DistributedTrainer& trainer, const v1::GenerateRequest& request) {
    GenerateStream stream;
    Generated result;
    result.status = trainer.Generate(request, &stream);
    while (const auto event = stream.Next(std::chrono::milliseconds(0))) {
      if (event->has_prompt()) {
        result.prompts[event->prompt().group_index()] = {event->prompt().ids().begin(),
                                                         event->prompt().ids().end()};
      }
      if (!event->has_completion()) continue;
      const v1::Completion& c = event->completion();
      EXPECT_EQ(result.prompts.count(c.group_index()), 1u) << "the prompt comes before";
      EXPECT_TRUE(result.completions.try_emplace({c.group_index(), c.sample()}, c).second)
          << "twice";
    }
    return result;
  }

  static v1::UpdateRequest Update(int64_t step, const Generated& from) {
    v1::UpdateRequest request;
    request.mutable_name()->set_phase(v1::UpdateName::GRPO);
    request.mutable_name()->set_step(step);
    v1::OptimizerSettings& o = *request.mutable_optimizer();
    o.set_lr(1e-3);
    o.set_beta1(0.9);
    o.set_beta2(0.99);
    o.set_eps(1e-6);
    v1::GrpoSettings& s = *request.mutable_grpo()->mutable_settings();
    s.set_loss(v1::GrpoSettings::DAPO);
    s.set_clip_low(0.2);
    s.set_clip_high(0.28);
    s.set_advantage_scale(v1::GrpoSettings::GROUP);
    s.set_minibatches(1);
    s.set_temperature(1);
    for (const auto& [group_index, ids] : from.prompts) {
      v1::RolloutGroup& group = *request.mutable_grpo()->add_groups();
      group.set_group_index(group_index);
      group.mutable_prompt_ids()->Assign(ids.begin(), ids.end());
      for (const auto& [key, completion] : from.completions) {
        if (key.first != group_index) continue;
        v1::Rollout& rollout = *group.add_rollouts();
        rollout.set_sample(key.second);
        *rollout.mutable_ids() = completion.ids();
        *rollout.mutable_sampling_logprobs() = completion.sampling_logprobs();
        rollout.set_reward(key.second);
      }
    }
    return request;
  }

  std::unique_ptr<TempDir> dir_;
  v1::LoadCheckpointRequest load_;
};

TEST_F(DistributedTrainerTest, SamplesArePartitionedEvenly) {
  const v1::GenerateRequest request = Prompts();
  for (const int ranks : {1, 2, 4, 9}) {
    std::multiset<std::pair<size_t, int>> seen;
    for (int r = 0; r < ranks; ++r) {
      const auto mine = SamplesOfRank(request, r, ranks);
      size_t count = 0;
      for (size_t g = 0; g < mine.size(); ++g) {
        for (const int32_t sample : mine[g]) seen.insert({g, sample});
        count += mine[g].size();
      }
      EXPECT_LE(count, static_cast<size_t>(6 / ranks + 1));
    }
    EXPECT_EQ(seen.size(), 6u);
    EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 6u);
  }
}

TEST_F(DistributedTrainerTest, TokensAndUpdatesDoNotDependOnTheNumberOfRanks) {
  std::map<std::pair<int, int>, std::string> completions;
  std::map<std::string, double> metrics;
  for (const int ranks : {1, 2, 4}) {
    SCOPED_TRACE(absl::StrCat(ranks, " ranks"));
    std::vector<std::string> scores(static_cast<size_t>(ranks));
    Run(
        ranks,
        [&](DistributedTrainer& trainer) {
          EXPECT_EQ(trainer.state().Info().world_size(), ranks);
          const Generated generated = Generate(trainer, Prompts());
          ASSERT_TRUE(generated.status.ok()) << generated.status;
          ASSERT_EQ(generated.completions.size(), 6u);
          for (const auto& [key, completion] : generated.completions) {
            const std::string bytes = completion.SerializeAsString();
            EXPECT_EQ(completions.try_emplace(key, bytes).first->second, bytes);
          }
          v1::UpdateResponse response;
          const absl::Status updated = trainer.Update(Update(1, generated), &response);
          ASSERT_TRUE(updated.ok()) << updated;
          EXPECT_TRUE(response.applied()) << response.skip_reason();
          for (const char* name : {"loss", "grad_norm", "entropy"}) {
            const double value = response.metrics().at(name);
            EXPECT_NEAR(metrics.try_emplace(name, value).first->second, value, 1e-5) << name;
          }
        },
        [&](DistributedTrainer& trainer, int rank) {
          v1::ScoreRequest request;
          for (const int id : {1, 50, 600, 7000}) request.add_sequences()->add_ids(id);
          request.add_sequences()->mutable_ids()->Add(request.sequences(0).ids(0));
          for (int i = 0; i < 8; ++i) request.mutable_sequences(4)->add_ids(100 * i);
          v1::ScoreResponse response;
          ASSERT_TRUE(trainer.state().Score(request, &response).ok());
          scores[static_cast<size_t>(rank)] = response.SerializeAsString();
          EXPECT_EQ(trainer.state().Info().last_update().step(), 1);
        });
    for (const std::string& score : scores) EXPECT_EQ(score, scores[0]) << "ranks drifted apart";
  }
}

TEST_F(DistributedTrainerTest, AShardedStateIsSavedAndGoesOnWithOtherRanks) {
  const std::string origin = load_.path();
  Generated generated;
  std::vector<std::map<std::string, double>> metrics;
  const auto update = [&](DistributedTrainer& trainer, int64_t step) {
    if (step == 1) generated = Generate(trainer, Prompts());
    v1::UpdateResponse response;
    const absl::Status updated = trainer.Update(Update(step, generated), &response);
    ASSERT_TRUE(updated.ok()) << updated;
    EXPECT_TRUE(response.applied()) << response.skip_reason();
    metrics.emplace_back(response.metrics().begin(), response.metrics().end());
  };
  int64_t step = 0;
  load_.mutable_learner()->set_sharding("optimizer");
  for (const int ranks : {2, 4, 1}) {
    SCOPED_TRACE(absl::StrCat(ranks, " ranks"));
    Run(ranks, [&](DistributedTrainer& trainer) {
      EXPECT_EQ(trainer.state().Info().last_update().step(), step);
      update(trainer, ++step);
      v1::SaveCheckpointRequest request;
      SavedCheckpoint saved;
      request.set_path("/proc/nothing/here");
      EXPECT_FALSE(trainer.Save(request, &saved).ok());
      request.set_path(absl::StrCat(dir_->path(), "/step-", step));
      const absl::Status status = trainer.Save(request, &saved);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(saved.checksum.size(), 64u);
    });
    load_.set_path(absl::StrCat(dir_->path(), "/step-", step));
  }
  load_.set_path(origin);
  load_.mutable_learner()->set_sharding("none");
  Run(1, [&](DistributedTrainer& trainer) {
    for (step = 1; step <= 3; ++step) update(trainer, step);
  });
  ASSERT_EQ(metrics.size(), 6u);
  for (size_t s = 0; s < 3; ++s) {
    for (const char* name : {"loss", "grad_norm", "entropy"}) {
      const double want = metrics[3 + s].at(name);
      EXPECT_NEAR(metrics[s].at(name), want, 1e-5 + 1e-3 * std::abs(want)) << name << ", " << s;
    }
  }
}

TEST_F(DistributedTrainerTest, AnErrorIsTheCallsAndTheRanksGoOn) {
  Run(2, [&](DistributedTrainer& trainer) {
    v1::LoadCheckpointRequest unknown = load_;
    unknown.mutable_learner()->set_sharding("zero1");
    const absl::Status refused = trainer.Load(unknown);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("'zero1'; valid: none, optimizer"));
    v1::LoadCheckpointRequest nowhere;
    nowhere.set_path(dir_->path() + "/nowhere");
    EXPECT_EQ(trainer.Load(nowhere).code(), absl::StatusCode::kNotFound);
    // Only the last rank meets the second group's prompt.
    v1::GenerateRequest request = Prompts();
    std::string text;
    for (int i = 0; i < 3000; ++i) text += " word";
    request.mutable_groups(1)->mutable_messages(0)->set_content(text);
    const absl::Status too_long = Generate(trainer, request).status;
    EXPECT_EQ(too_long.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(too_long.message()), HasSubstr("Generate: rank 1 failed: group 1"));
    EXPECT_TRUE(Generate(trainer, Prompts()).status.ok());
  });
}

TEST_F(DistributedTrainerTest, CancellingStopsAllRanks) {
  Run(2, [&](DistributedTrainer& trainer) {
    GenerateStream stream;
    std::thread client([&] {
      while (stream.Progress().progress().tokens() == 0) std::this_thread::yield();
      stream.Cancel();
    });
    const absl::Status status = trainer.Generate(Prompts(/*tokens=*/1900), &stream);
    client.join();
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
    EXPECT_TRUE(Generate(trainer, Prompts()).status.ok());
  });
}

// The consumer is held up by a client that reads nothing, and so cancels nothing.
TEST_F(DistributedTrainerTest, WhatIsUnwantedStopsAllRanksThoughNobodyReads) {
  Run(2, [&](DistributedTrainer& trainer) {
    std::atomic<bool> unwanted = false;
    GenerateStream stream([&] { return unwanted.load(); });
    std::thread thief([&] {
      while (stream.Progress().progress().tokens() == 0) std::this_thread::yield();
      unwanted = true;
    });
    const absl::Status status = trainer.Generate(Prompts(/*tokens=*/1900), &stream);
    thief.join();
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  });
}

TEST_F(DistributedTrainerTest, RanksWithDifferentModelsAreRefused) {
  RunAsRanks(2, [&](RankGroup& group) {
    // The same file in another type is another model.
    DistributedTrainer trainer(torch::kCPU, group.rank() == 0 ? torch::kFloat : torch::kBFloat16,
                               group);
    if (group.rank() > 0) {
      EXPECT_TRUE(trainer.Follow().ok());
      EXPECT_EQ(trainer.state().Info().model(), "");
      return;
    }
    const absl::Status status = trainer.Load(load_);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1 has another weights than rank 0"));
    EXPECT_EQ(trainer.state().Info().model(), "") << "nothing was replaced";
    trainer.Stop();
  });
}

TEST_F(DistributedTrainerTest, AModelTooLargeToLearnIsRefusedBeforeItIsRead) {
  // It has 400 billion parameters, and no weights that could be read.
  const std::string giant = dir_->path() + "/giant";
  ASSERT_TRUE(MakeDirectories(giant).ok());
  ASSERT_TRUE(WriteFileAtomically(giant + "/config.json", R"({
      "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
      "hidden_size": 16384, "intermediate_size": 53248, "num_hidden_layers": 126,
      "num_attention_heads": 128, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128256,
      "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "rope_theta": 500000.0,
      "tie_word_embeddings": false})")
                  .ok());
  Run(2, [&](DistributedTrainer& trainer) {
    v1::LoadCheckpointRequest request;
    request.set_path(giant);
    const absl::Status status = trainer.Load(request);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(status.message()), HasSubstr("learning with this model takes"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("no setting makes it fit"));
    EXPECT_EQ(trainer.state().Info().model(), load_.path()) << "the one before stays";
  });
}

TEST_F(DistributedTrainerTest, ALostRankEndsTheCallWithItsName) {
  RunAsRanks(2, [&](RankGroup& group) {
    DistributedTrainer trainer(torch::kCPU, torch::kFloat, group);
    if (group.rank() == 1) {
      throw Vanish();
    }
    const absl::Status status = trainer.Load(load_);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1"));
    EXPECT_FALSE(group.broken().ok());
  });
}

}  // namespace
}  // namespace whetstone
