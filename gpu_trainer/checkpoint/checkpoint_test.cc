#include "gpu_trainer/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/manifest.h"
#include "gpu_trainer/distributed/ranks_testing.h"
#include "gpu_trainer/model/compute_type.h"
#include "gpu_trainer/model/decoder_reference.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr char kConfig[] = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
  "hidden_act": "silu", "hidden_size": 36, "intermediate_size": 52, "num_hidden_layers": 2,
  "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 8, "vocab_size": 97,
  "max_position_embeddings": 256, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
  "tie_word_embeddings": true, "torch_dtype": "bfloat16"})";

class CheckpointTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<TempDir> dir = TempDir::Make("ckpt");
    ASSERT_TRUE(dir.ok());
    dir_ = std::make_unique<TempDir>(*std::move(dir));
    // The model is as an operator would bring it, with a small file that must travel along.
    absl::StatusOr<ModelConfig> config = ParseModelConfig(kConfig, "test");
    ASSERT_TRUE(config.ok()) << config.status();
    ASSERT_TRUE(SaveWeights(Path("origin"), *config, reference::TinyWeights(*config, torch::kFloat),
                            torch::kBFloat16)
                    .ok());
    ASSERT_TRUE(WriteFileAtomically(Path("origin/tokenizer.json"), "{}").ok());
    ASSERT_TRUE(WriteFileAtomically(Path("origin/pytorch_model.bin"), "not to be copied").ok());
  }

  std::string Path(const std::string& name) const { return dir_->path() + "/" + name; }

  std::unique_ptr<Policy> Load(const std::string& name, const LearnerOptions& options = {},
                               torch::ScalarType dtype = torch::kBFloat16) {
    absl::StatusOr<std::unique_ptr<Policy>> policy =
        LoadPolicy(Path(name), dtype, torch::kCPU, options);
    EXPECT_TRUE(policy.ok()) << policy.status();
    return policy.ok() ? *std::move(policy) : nullptr;
  }

  static void Step(Policy& policy, int step, int32_t examples = 3) {
    std::vector<LearnedSequence> batch;
    for (int32_t i = 0; i < examples; ++i) {
      batch.push_back(
          {.ids = {1, 2, 3 + i, static_cast<int32_t>(10 + step), 40, 41 + i}, .learn_from = 3});
    }
    StepSettings settings;
    settings.adamw.lr = 1e-3;
    absl::StatusOr<UpdateResult> result = policy.learner().Supervised(batch, settings);
    ASSERT_TRUE(result.ok()) << result.status();
    v1::UpdateResponse response;
    response.mutable_name()->set_phase(v1::UpdateName::WARMUP);
    response.mutable_name()->set_step(step);
    response.set_applied(true);
    (*response.mutable_metrics())["loss"] = result->metrics["loss"];
    policy.last_update = response;
  }

  // Trains steps `from` + 1 to `to`, between two checkpoints, over so many ranks that share the
  // optimizer's state; four of them share all that they can.
  void TrainShared(int ranks, LearnerOptions options, torch::ScalarType dtype,
                   const std::string& name, int from, int to, const std::string& saved) {
    options.sharding = ranks < 4               ? Sharding::kOptimizer
                       : options.lora.rank > 0 ? Sharding::kGradients
                                               : Sharding::kParameters;
    RunAsRanks(ranks, [&](RankGroup& group) {
      LearnerOptions own = options;
      own.ranks = &group;
      const std::unique_ptr<Policy> policy = Load(name, own, dtype);
      // With one example the sum over the ranks is the gradient of the one that has it, and zeros.
      for (int step = from + 1; step <= to; ++step) Step(*policy, step, /*examples=*/1);
      const auto result = SaveCheckpoint(*policy, Path(saved));
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->checksum.empty(), group.rank() > 0);
    });
  }

  static void ExpectSameBits(const NamedTensors& x, const NamedTensors& y) {
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_TRUE(torch::equal(x[i].second, y[i].second)) << x[i].first;
    }
  }

  static void ExpectSameBits(const std::vector<ShardedTensor>& x,
                             const std::vector<ShardedTensor>& y) {
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_TRUE(torch::equal(x[i].mine, y[i].mine)) << x[i].name;
    }
  }

  std::vector<std::string> Names(const std::string& of) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(of)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  std::unique_ptr<TempDir> dir_;
};

TEST_F(CheckpointTest, TwoStepsEqualStepSaveLoadStep) {
  const LearnerOptions all[] = {
      {},
      {.optimizer_state = MomentType::kBf16},
      {.optimizer_state = MomentType::kEightBit},
      {.lora = {.rank = 2, .alpha = 4, .targets = {"k_proj", "down_proj"}}}};
  std::vector<std::pair<LearnerOptions, torch::ScalarType>> kinds;
  for (const LearnerOptions& options : all) {
    for (const auto dtype : {torch::kBFloat16, torch::kHalf}) kinds.emplace_back(options, dtype);
  }
  for (const auto& [options, dtype] : kinds) {
    SCOPED_TRACE(ComputeTypeName(dtype));
    const std::unique_ptr<Policy> straight = Load("origin", options, dtype);
    Step(*straight, 1);
    Step(*straight, 2);

    const std::unique_ptr<Policy> first = Load("origin", options, dtype);
    Step(*first, 1);
    const absl::StatusOr<SavedCheckpoint> saved = SaveCheckpoint(*first, Path("deep/er/step-1"));
    ASSERT_TRUE(saved.ok()) << saved.status();
    EXPECT_EQ(saved->checksum.size(), 64u);
    const std::unique_ptr<Policy> second = Load("deep/er/step-1", options, dtype);
    ASSERT_TRUE(second->last_update.has_value());
    EXPECT_EQ(second->last_update->SerializeAsString(), first->last_update->SerializeAsString());
    ExpectSameBits(second->weights.Named(), first->weights.Named());
    Step(*second, 2);

    ExpectSameBits(second->weights.Named(), straight->weights.Named());
    ExpectSameBits(second->learner().optimizer().Masters(),
                   straight->learner().optimizer().Masters());
    ExpectSameBits(second->learner().optimizer().State(), straight->learner().optimizer().State());
    ASSERT_EQ(second->learner().loss_scale().has_value(), dtype == torch::kHalf);
    if (dtype == torch::kHalf) {
      EXPECT_EQ(second->learner().loss_scale()->state(), straight->learner().loss_scale()->state());
      EXPECT_EQ(second->learner().loss_scale()->state().finite_steps, 2);
    }
  }
}

TEST_F(CheckpointTest, GoesOnWithAnotherNumberOfRanksAndAnotherSharding) {
  const std::pair<LearnerOptions, torch::ScalarType> kinds[] = {
      {{}, torch::kHalf},
      {{.optimizer_state = MomentType::kBf16}, torch::kFloat},
      {{.optimizer_state = MomentType::kEightBit}, torch::kBFloat16},
      {{.lora = {.rank = 2, .alpha = 4, .targets = {"k_proj", "down_proj"}}}, torch::kBFloat16}};
  for (const auto& [options, dtype] : kinds) {
    SCOPED_TRACE(ComputeTypeName(dtype));
    TrainShared(2, options, dtype, "origin", 0, 2, "two");
    TrainShared(4, options, dtype, "two", 2, 4, "four");
    at::set_num_threads(1);
    const std::unique_ptr<Policy> resumed = Load("four", options, dtype);
    ASSERT_TRUE(resumed->last_update.has_value());
    EXPECT_EQ(resumed->last_update->name().step(), 4);
    const std::unique_ptr<Policy> straight = Load("origin", options, dtype);
    for (int step = 1; step <= 6; ++step) {
      Step(*straight, step, /*examples=*/1);
      if (step > 4) Step(*resumed, step, /*examples=*/1);
    }
    ExpectSameBits(resumed->weights.Named(), straight->weights.Named());
    ExpectSameBits(resumed->learner().State(), straight->learner().State());
    // In fp16 a step is skipped while the loss scale is found.
    EXPECT_GE(resumed->learner().optimizer().steps(), 5);
    EXPECT_EQ(resumed->learner().optimizer().steps(), straight->learner().optimizer().steps());
    fs::remove_all(Path("two"));
    fs::remove_all(Path("four"));
  }
}

TEST_F(CheckpointTest, TheSameFilesHoweverTheStateIsSharded) {
  std::map<Sharding, std::string> checksums;
  for (const Sharding sharding : {Sharding::kNone, Sharding::kOptimizer}) {
    RunAsRanks(2, [&](RankGroup& group) {
      const std::unique_ptr<Policy> policy =
          Load("origin",
               {.optimizer_state = MomentType::kEightBit, .ranks = &group, .sharding = sharding});
      for (int step = 1; step <= 2; ++step) Step(*policy, step);
      const auto saved = SaveCheckpoint(*policy, Path("saved"));
      ASSERT_TRUE(saved.ok()) << saved.status();
      if (group.rank() == 0) checksums[sharding] = saved->checksum;
    });
  }
  EXPECT_EQ(checksums[Sharding::kOptimizer], checksums[Sharding::kNone]);
}

TEST_F(CheckpointTest, AFailedSaveLeavesNoRankWaiting) {
  RunAsRanks(2, [&](RankGroup& group) {
    const std::unique_ptr<Policy> policy =
        Load("origin", {.ranks = &group, .sharding = Sharding::kOptimizer});
    Step(*policy, 1);
    for (const std::string stage : {"weights", "optimizer", "rename", "none"}) {
      const auto saved = SaveCheckpoint(*policy, Path("saved"), [&](absl::string_view at) {
        return at == stage ? absl::ResourceExhaustedError("the disk is full") : absl::OkStatus();
      });
      EXPECT_EQ(saved.ok(), group.rank() > 0 || stage == "none") << stage;
      ASSERT_TRUE(group.AllGather("what comes next", stage).ok());
    }
    Step(*policy, 2);
  });
  EXPECT_EQ(Load("saved")->last_update->name().step(), 1);
}

TEST_F(CheckpointTest, ALoraTargetThatTheModelLacksIsRefused) {
  const auto loaded = LoadPolicy(Path("origin"), torch::kBFloat16, torch::kCPU,
                                 {.lora = {.rank = 2, .alpha = 4, .targets = {"c_attn"}}});
  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(loaded.status().message()), HasSubstr("no target 'c_attn'"));
}

TEST_F(CheckpointTest, AnotherLearnersStateIsRefused) {
  const std::unique_ptr<Policy> policy = Load("origin", {.optimizer_state = MomentType::kBf16});
  Step(*policy, 1);
  ASSERT_TRUE(SaveCheckpoint(*policy, Path("saved")).ok());
  const auto loaded = LoadPolicy(Path("saved"), torch::kBFloat16, torch::kCPU, {});
  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(loaded.status().message()), HasSubstr("go on with the settings"));

  // A compute type has its own masters, and fp16 a loss scale.
  const std::unique_ptr<Policy> half = Load("origin", {}, torch::kHalf);
  Step(*half, 1);
  ASSERT_TRUE(SaveCheckpoint(*half, Path("half")).ok());
  EXPECT_THAT(
      std::string(LoadPolicy(Path("half"), torch::kBFloat16, torch::kCPU, {}).status().message()),
      HasSubstr("\"dtype\":\"fp16\""));
}

TEST_F(CheckpointTest, CarriesTheOriginsSmallFilesButNoForeignWeights) {
  const std::unique_ptr<Policy> policy = Load("origin");
  ASSERT_TRUE(SaveCheckpoint(*policy, Path("saved")).ok());
  EXPECT_THAT(Names(Path("saved")),
              testing::UnorderedElementsAre("config.json", "model.safetensors", "tokenizer.json",
                                            "resume"));
  // The copy is saved once more, in its own place.
  const std::unique_ptr<Policy> copy = Load("saved");
  ASSERT_TRUE(SaveCheckpoint(*copy, Path("saved")).ok());
  EXPECT_EQ(*ReadFile(Path("saved/tokenizer.json")), "{}");
}

TEST_F(CheckpointTest, SavesAfterItsOriginIsGone) {
  // As after a resume, the coordinator removes the old checkpoint that the policy came from.
  const std::unique_ptr<Policy> policy = Load("origin");
  fs::remove_all(Path("origin"));
  ASSERT_TRUE(SaveCheckpoint(*policy, Path("saved")).ok());
  EXPECT_EQ(*ReadFile(Path("saved/tokenizer.json")), "{}");
}

TEST_F(CheckpointTest, EveryDamageIsRefusedByName) {
  const std::unique_ptr<Policy> policy = Load("origin");
  Step(*policy, 1);
  const auto damaged = [&](const std::string& file, const std::function<void(std::string)>& harm) {
    const std::string name = "damaged";
    fs::remove_all(Path(name));
    EXPECT_TRUE(SaveCheckpoint(*policy, Path(name)).ok());
    harm(Path(name) + "/" + file);
    const auto loaded = LoadPolicy(Path(name), torch::kBFloat16, torch::kCPU, {});
    EXPECT_EQ(loaded.status().code(), absl::StatusCode::kInvalidArgument) << file;
    EXPECT_THAT(std::string(loaded.status().message()), HasSubstr(file));
  };
  const auto truncate = [](const std::string& path) {
    fs::resize_file(path, fs::file_size(path) - 1);
  };
  const auto flip = [](const std::string& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-1, std::ios::end);
    const char last = static_cast<char>(file.get());
    file.seekp(-1, std::ios::end);
    file.put(static_cast<char>(last ^ 1));
  };
  damaged("resume/optimizer.safetensors", truncate);
  damaged("resume/optimizer.safetensors", flip);
  damaged("resume/optimizer.safetensors", [](const std::string& p) { fs::remove(p); });
  damaged("model.safetensors", flip);
  damaged("tokenizer.json", flip);
  damaged("resume/last_update.pb", flip);
  damaged("resume/manifest.json",
          [](const std::string& p) { fs::resize_file(p, fs::file_size(p) / 2); });
}

// A replay of a run compares the numbers, not the time they took.
TEST_F(CheckpointTest, EqualPoliciesAreSavedEqualHoweverLongTheirUpdatesTook) {
  std::string checksums[2];
  for (const int i : {0, 1}) {
    const std::unique_ptr<Policy> policy = Load("origin");
    Step(*policy, 1);
    auto& metrics = *policy->last_update->mutable_metrics();
    metrics["perf/tokens_per_s"] = 100 + i;
    metrics["profile/prefill_s"] = 0.5 * i;
    policy->last_update->set_bottleneck(i == 0 ? "prefill" : "decoding");
    // Map entries are written in one order, whatever the order they came in.
    for (int m = 0; m < 20; ++m) metrics[absl::StrCat("m", i == 0 ? m : 19 - m)] = 1;
    const auto saved = SaveCheckpoint(*policy, Path(absl::StrCat("saved-", i)));
    ASSERT_TRUE(saved.ok()) << saved.status();
    checksums[i] = saved->checksum;
  }
  EXPECT_EQ(checksums[0], checksums[1]);
  const std::unique_ptr<Policy> loaded = Load("saved-1");
  EXPECT_EQ(loaded->last_update->metrics().count("loss"), 1u);
  EXPECT_EQ(loaded->last_update->metrics().count("perf/tokens_per_s"), 0u);
}

TEST_F(CheckpointTest, AnotherModelsStateIsRefused) {
  const std::unique_ptr<Policy> policy = Load("origin");
  Step(*policy, 1);
  ASSERT_TRUE(SaveCheckpoint(*policy, Path("saved")).ok());
  // The optimizer file is one of a model with other tensors; the manifest is in order.
  ASSERT_TRUE(fs::copy_file(Path("saved/model.safetensors"),
                            Path("saved/resume/optimizer.safetensors"),
                            fs::copy_options::overwrite_existing));
  fs::remove(Path("saved/resume/manifest.json"));
  const absl::StatusOr<Manifest> manifest = DigestDirectory(Path("saved"));
  ASSERT_TRUE(manifest.ok());
  ASSERT_TRUE(
      WriteFileAtomically(Path("saved/resume/manifest.json"), ManifestToJson(*manifest)).ok());
  const auto loaded = LoadPolicy(Path("saved"), torch::kBFloat16, torch::kCPU, {});
  EXPECT_THAT(std::string(loaded.status().message()), HasSubstr("belongs to another model"));
}

TEST_F(CheckpointTest, AFailureAtAnyStageLeavesTheOldCheckpointAndNothingElse) {
  const std::unique_ptr<Policy> policy = Load("origin");
  Step(*policy, 1);
  fs::create_directory(Path("all"));
  ASSERT_TRUE(SaveCheckpoint(*policy, Path("all/step")).ok());
  const std::string before = *ReadFile(Path("all/step/resume/manifest.json"));
  Step(*policy, 2);
  for (const std::string stage : {"weights", "files", "optimizer", "manifest", "rename"}) {
    bool reached = false;
    const auto saved = SaveCheckpoint(*policy, Path("all/step"), [&](absl::string_view at) {
      if (at != stage) return absl::OkStatus();
      reached = true;
      return absl::ResourceExhaustedError("the disk is full");
    });
    EXPECT_TRUE(reached) << stage;
    EXPECT_EQ(saved.status().code(), absl::StatusCode::kResourceExhausted) << stage;
    EXPECT_THAT(Names(Path("all")), testing::ElementsAre("step")) << stage;
    EXPECT_EQ(*ReadFile(Path("all/step/resume/manifest.json")), before) << stage;
  }
}

TEST_F(CheckpointTest, WhatAKilledSaveLeftBehindIsRemovedByTheNext) {
  const std::unique_ptr<Policy> policy = Load("origin");
  fs::create_directories(Path("all/step.tmp-1/resume"));
  ASSERT_TRUE(SaveCheckpoint(*policy, Path("all/step")).ok());
  EXPECT_THAT(Names(Path("all")), testing::ElementsAre("step"));
}

TEST_F(CheckpointTest, ADirectoryThatIsNoCheckpointIsNotReplaced) {
  const std::unique_ptr<Policy> policy = Load("origin");
  fs::create_directory(Path("home"));
  EXPECT_EQ(SaveCheckpoint(*policy, Path("home")).status().code(),
            absl::StatusCode::kAlreadyExists);
}

TEST_F(CheckpointTest, RemovesCheckpointsAndNothingElse) {
  const std::unique_ptr<Policy> policy = Load("origin");
  ASSERT_TRUE(SaveCheckpoint(*policy, Path("old")).ok());
  EXPECT_TRUE(RemoveCheckpoint(Path("old")).ok());
  EXPECT_FALSE(fs::exists(Path("old")));
  EXPECT_TRUE(RemoveCheckpoint(Path("old")).ok()) << "gone already";
  EXPECT_EQ(RemoveCheckpoint(Path("origin")).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(fs::exists(Path("origin/config.json")));
  // The removal before was cut off after its rename.
  fs::create_directories(Path("older.tmp-removed/resume"));
  EXPECT_TRUE(RemoveCheckpoint(Path("older")).ok());
  EXPECT_FALSE(fs::exists(Path("older.tmp-removed")));
}

TEST_F(CheckpointTest, AMissingDirectoryIsNotFound) {
  const auto loaded = LoadPolicy(Path("nowhere"), torch::kBFloat16, torch::kCPU, {});
  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(loaded.status().message()), HasSubstr("nowhere"));
}

}  // namespace
}  // namespace whetstone
