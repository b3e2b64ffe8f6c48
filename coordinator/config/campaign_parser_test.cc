#include "coordinator/config/campaign_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/source_place.h"
#include "coordinator/config/host_range.h"
#include "coordinator/yaml/yaml_writer.h"
#include "google/protobuf/util/message_differencer.h"

namespace whetstone {
namespace {

constexpr char kMinimal[] = "name: tiny\nmodel: /models/m\nproblems: [p/a.md]\n";

absl::StatusOr<v1::Campaign> Parse(const std::string& yaml,
                                   const std::vector<std::string>& sets = {}) {
  return ParseCampaign(yaml, "c.yaml", "/home/op/camp", sets);
}

std::string Error(const std::string& yaml, const std::vector<std::string>& sets = {}) {
  const absl::StatusOr<v1::Campaign> campaign = Parse(yaml, sets);
  if (campaign.ok()) return "(accepted)";
  EXPECT_EQ(campaign.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(campaign.status().message());
}

TEST(CampaignParserTest, FillsInTheDefaultsTheSchemaDocuments) {
  const v1::Campaign c = *Parse(kMinimal);
  EXPECT_EQ(c.name(), "tiny");
  EXPECT_EQ(c.model(), "/models/m");
  EXPECT_EQ(c.problems(0), "/home/op/camp/p/a.md");
  EXPECT_EQ(c.seed(), 17u);
  EXPECT_EQ(c.train().steps(), 40);
  EXPECT_EQ(c.train().group_size(), 16);
  EXPECT_EQ(c.train().loss(), "dapo");
  EXPECT_DOUBLE_EQ(c.train().clip_high(), 0.28);
  EXPECT_DOUBLE_EQ(c.reward().wrong_slope(), 0.2);
  EXPECT_DOUBLE_EQ(c.generate().temperature(), 1);
  EXPECT_EQ(c.local().dtype(), "auto");
  EXPECT_FALSE(c.profile());
  EXPECT_FALSE(c.has_warmup()) << "an optional section appears only when asked for";
  EXPECT_FALSE(c.has_cluster());
}

TEST(CampaignParserTest, EveryNumberHasADefault) {
  // A key that is added to the schema without a default would silently mean 0.
  const std::string yaml =
      MessageToYaml(*Parse(absl::StrCat(kMinimal, "warmup: {examples: w.jsonl}\n")));
  for (const char* key : {"epochs: 1\n", "batch_size: 8\n", "max_response_chars: 1200\n",
                          "beta2: 0.99\n", "clip_max: 2\n", "overlong_penalty: 1\n",
                          "lr_min_ratio: 0.1\n", "every: 10\n", "keep: 3\n"}) {
    EXPECT_NE(yaml.find(key), std::string::npos) << key << yaml;
  }
}

TEST(CampaignParserTest, FileOverridesDefaultsAndSetOverridesTheFile) {
  const v1::Campaign c =
      *Parse(absl::StrCat(kMinimal, "train: {steps: 5, lr: 2.0e-5}\nseed: 3\n"),
             {"train.steps=7", "generate.stop=[a, \"b c\"]", "train.lora={rank: 0}"});
  EXPECT_EQ(c.train().steps(), 7);
  EXPECT_DOUBLE_EQ(c.train().lr(), 2e-5);
  EXPECT_EQ(c.train().group_size(), 16) << "untouched";
  EXPECT_EQ(c.seed(), 3u);
  EXPECT_EQ(c.generate().stop(1), "b c");
}

TEST(CampaignParserTest, OptionalSectionsComeAndGo) {
  const std::string with = absl::StrCat(kMinimal, "warmup: {examples: w.jsonl}\n");
  EXPECT_EQ(Parse(with)->warmup().examples(), "/home/op/camp/w.jsonl");
  EXPECT_DOUBLE_EQ(Parse(with)->warmup().lr(), 1e-4);
  EXPECT_EQ(Parse(with)->warmup().order(), "shuffle");
  EXPECT_FALSE(Parse(with, {"warmup=null"})->has_warmup());
  EXPECT_EQ(Parse(kMinimal, {"warmup.examples=/w"})->warmup().batch_size(), 8);
}

TEST(CampaignParserTest, RewritesAreShownAsOftenAsReferences) {
  const std::string with =
      absl::StrCat(kMinimal, "warmup: {examples: w.jsonl, references: 2, rewrites: r.jsonl}\n");
  EXPECT_EQ(Parse(with)->warmup().rewrites(), "/home/op/camp/r.jsonl");
  EXPECT_THAT(Error(with, {"warmup.references=0"}), testing::HasSubstr("warmup.rewrites"));
}

TEST(CampaignParserTest, PathsDependOnWhoGaveThem) {
  setenv("HOME", "/home/op", 1);
  EXPECT_EQ(Parse(kMinimal, {"model=~/m"})->model(), "/home/op/m");
  EXPECT_EQ(Parse(kMinimal, {"model=m"})->model(),
            (std::filesystem::current_path() / "m").string());
  EXPECT_EQ(Parse("name: x\nmodel: ../m\nproblems: [a.md]\n")->model(), "/home/op/m");
}

TEST(CampaignParserTest, ClusterHostsAreExpanded) {
  const v1::Campaign c = *Parse(absl::StrCat(kMinimal,
                                             "checkpoint: {dir: /ckpt}\n"
                                             "cluster:\n"
                                             "  trainer: {ssh: gpu01}\n"
                                             "  workers: [{ssh: \"cpu[08-10]\"}, {ssh: z, "
                                             "socket: /s}]\n"));
  ASSERT_EQ(c.cluster().workers_size(), 4);
  EXPECT_EQ(c.cluster().workers(0).ssh(), "cpu08");
  EXPECT_EQ(c.cluster().workers(2).ssh(), "cpu10");
  EXPECT_EQ(c.cluster().workers(2).socket(), "/run/whetstone/worker.sock");
  EXPECT_EQ(c.cluster().workers(3).socket(), "/s");
  EXPECT_EQ(c.cluster().trainer().socket(), "/run/whetstone/trainer.sock");
  EXPECT_EQ(c.cluster().tunnel(), "libssh");
}

TEST(CampaignParserTest, FrozenCampaignReadsBackEqual) {
  setenv("HOME", "/home/op", 1);
  const std::string yamls[] = {
      kMinimal,
      absl::StrCat(kMinimal,
                   "warmup: {examples: w.jsonl, epochs: 0.3, lr: 1.0e-7}\n"
                   "generate: {response_prefix: \"a\\n\\\"b\\\\ {x}: #é\", stop: [\"\\n\\n\"]}\n"),
      absl::StrCat(kMinimal, "generate: {stop: [\"\\x0e16\\t\\x7f\"], stop_ids: [2, 17]}\n"),
      absl::StrCat(kMinimal,
                   "policy: {endpoint: \"https://h/v1\", model: a/b, key_file: k}\n"
                   "search: {parents: 0.5, rewrites: r.jsonl}\n"),
      absl::StrCat(kMinimal,
                   "checkpoint: {dir: /ckpt}\n"
                   "cluster: {trainer: {ssh: g}, workers: [{ssh: \"c[1-3]\"}]}\n"
                   "train: {lr: 0.1234567890123456789}\nseed: 18446744073709551615\n")};
  for (const std::string& yaml : yamls) {
    const absl::StatusOr<v1::Campaign> campaign = Parse(yaml);
    ASSERT_TRUE(campaign.ok()) << campaign.status();
    const std::string frozen = MessageToYaml(*campaign);
    const absl::StatusOr<v1::Campaign> back = ParseCampaign(frozen, "frozen", "/elsewhere", {});
    ASSERT_TRUE(back.ok()) << back.status() << "\n" << frozen;
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*campaign, *back)) << frozen;
    EXPECT_EQ(frozen, MessageToYaml(*back));
  }
}

TEST(CampaignParserTest, MessagesNameLineKeyAndRemedy) {
  EXPECT_EQ(Error("name: x\nmodel: m\nproblems: [a]\ntrain:\n  stepz: 4\n"),
            "c.yaml:5: unknown key 'train.stepz'; did you mean 'train.steps'? Keys here: steps, "
            "prompts_per_step, group_size, lr, loss, clip_low, clip_high, kl_beta, "
            "advantage_scale, max_grad_norm, max_staleness, lora, minibatches, importance, "
            "lr_warmup_steps, lr_schedule, lr_min_ratio, beta1, beta2, eps, weight_decay, "
            "dual_clip, kl_estimator, kl_reference, entropy_bonus, mask_truncated, spike_factor, "
            "grad_norm_per_layer, optimizer_state, activation_checkpointing, token_budget, "
            "dynamic_sampling, sharding, imitation, hints, frozen");
  EXPECT_EQ(Error(kMinimal, {"train.lora.rnk=0"}),
            "--set train.lora.rnk=0: unknown key 'train.lora.rnk'; did you mean "
            "'train.lora.rank'? Keys here: rank, alpha, targets");
  EXPECT_EQ(Error("name: x\nmodel: m\nproblems: [a]\ntrain: {steps: many}\n"),
            "c.yaml:4: 'train.steps' must be a whole number, not 'many'");
  EXPECT_EQ(Error("name: x\nmodel: m\nproblems: [a]\ntrain: {steps: 4.5}\n"),
            "c.yaml:4: 'train.steps' must be a whole number, not '4.5'");
  EXPECT_EQ(Error("name: x\nmodel: m\nproblems: [a]\ntrain: {lr: \"1\"}\n"),
            "c.yaml:4: 'train.lr' must be a number, not '1'");
  EXPECT_EQ(Error("name: x\nmodel: m\nproblems: a.md\n"),
            "c.yaml:3: 'problems' must be a list, as in [a, b], not 'a.md'");
  EXPECT_EQ(Error("name: x\nmodel: m\nproblems: [a]\ntrain: 5\n"),
            "c.yaml:4: 'train' must be a map of keys, not '5'");
  EXPECT_EQ(Error("name: x\nmodel: m\nname: y\n"), "c.yaml:3: 'name' is given twice");
  EXPECT_EQ(Error("- a\n- b\n"), "c.yaml:1: the top level must be a map of keys, not a list");
  EXPECT_EQ(Error("name: [x\n").substr(0, 24), "c.yaml:2: not valid YAML");
  EXPECT_EQ(Error(kMinimal, {"train.steps"}),
            "--set train.steps: must look like KEY=VALUE, as in --set train.steps=4");
  EXPECT_EQ(Error("model: m\nproblems: [a]\n"),
            "c.yaml: 'name' is missing: it names the campaign and its run directory");
  EXPECT_EQ(Error(kMinimal, {"train.loss=dappo"}),
            "--set train.loss=dappo: 'train.loss' must be one of dapo, grpo, dr_grpo, "
            "gspo, cispo, not 'dappo'; did you mean 'dapo'?");
  EXPECT_EQ(Error("name: x\nmodel: m\nproblems: [a]\ntrain:\n  importance:\n    mod: off\n"),
            "c.yaml:6: unknown key 'train.importance.mod'; did you mean 'train.importance.mode'? "
            "Keys here: mode, clip_min, clip_max");
}

// The caret stands below the value that is wrong, or below the key that a rule is about.
TEST(CampaignParserTest, AnErrorShowsItsLine) {
  const auto shown = [](const std::string& yaml, const std::vector<std::string>& sets = {}) {
    return ExcerptOf(Parse(yaml, sets).status());
  };
  const std::string head = "name: x\nmodel: m\nproblems: [a]\n";
  EXPECT_EQ(shown(head + "train: {steps: many}"),
            "    4 | train: {steps: many}\n      |                ^");
  EXPECT_EQ(shown(head + "train: {lr: 0}"), "    4 | train: {lr: 0}\n      |         ^");
  EXPECT_EQ(shown(head + "train:\n  group_size: 1"), "    5 |   group_size: 1\n      |   ^");
  EXPECT_EQ(shown("name: x\nmodel: m\nproblems: [a, b, a]"),
            "    3 | problems: [a, b, a]\n      |                  ^");
  EXPECT_EQ(shown(head + "warmup: {epochs: 1}"), "    4 | warmup: {epochs: 1}\n      | ^")
      << "what is missing is missing in its section";
  EXPECT_EQ(shown(head + "train: {lr: 1}", {"train.lr=0"}), "") << "a word of the command line";
  EXPECT_EQ(shown("model: m"), "") << "nothing is where a key is missing";
}

TEST(CampaignParserTest, ANullThatTakesADefaultOutIsNoWayAroundItsWords) {
  EXPECT_EQ(Error(kMinimal, {"train.loss=null"}).substr(0, 53),
            "--set train.loss=null: 'train.loss' must be one of da");
  EXPECT_EQ(Error(kMinimal, {"train.lr=null"}),
            "--set train.lr=null: 'train.lr' must be greater than 0, not 0");
  EXPECT_EQ(Error(kMinimal, {"patience=null"}),
            "--set patience=null: 'patience.trainer_s' must be greater than 0, not 0");
  EXPECT_EQ(Error(kMinimal, {"measure=null"}),
            "--set measure=null: 'measure.isolation_min' must be one of namespaces, landlock, "
            "cgroups, not ''; did you mean 'cgroups'?");
  for (const char* section : {"warmup=null", "cluster=null", "eval=null"}) {
    EXPECT_EQ(Error(kMinimal, {section}), "(accepted)") << section;
  }
}

TEST(CampaignParserTest, RefusesWhatCannotWork) {
  const std::pair<const char*, const char*> table[] = {
      {"deterministic=true", "'train.token_budget' is 0, which follows the memory"},
      {"train.kl_beta=-0.1", "must be at least 0"},
      {"train.kl_estimator=k4", "must be one of k1, k2, k3"},
      {"train.kl_reference=/m", "has no effect while train.kl_beta is 0"},
      {"train.advantage_scale=loo", "must be one of group, batch, none, leave_one_out, entropic"},
      {"train.dual_clip=1.2", "above 1 + clip_high = 1.28"},
      {"train={loss: cispo, dual_clip: 3}", "must be 0 with cispo"},
      {"train.importance.mode=token_clip", "did you mean 'token_mask'?"},
      {"train.importance={clip_min: 0.5, clip_max: 0.2}", "below clip_min, 0.5"},
      {"train.entropy_bonus=-1", "must be at least 0"},
      {"train.spike_factor=0.5", "must be 0 (off) or above 1"},
      {"train.clip_high=0", "must be greater than 0"},
      {"reward.overlong_buffer=257", "more than the 256 a completion may have"},
      {"reward.overlong_penalty=-1", "must be at least 0"},
      {"reward.partial_credit=sometimes", "must be one of always, until_correct, never"},
      {"train.imitation.size=-1", "must be at least 0"},
      {"train.imitation.weight=0", "must be greater than 0"},
      {"search.parents=1.5", "is a share, at most 1, not 1.5"},
      {"search.parents=-0.5", "must be at least 0"},
      {"search.repairs=-1", "must be at least 0"},
      {"search={parents: 0.6, repairs: 0.5}", "together at most 1, not 1.1"},
      {"search.archive=0", "must be at least 1"},
      {"search.exploration=-1", "must be at least 0"},
      {"train.imitation.from_speedup=-1", "must be at least 0"},
      {"train.max_staleness=-1", "must be at least 0"},
      {"train.dynamic_sampling.max_refills=-1", "must be at least 0"},
      {"train.lora.rank=-1", "must be at least 0"},
      {"train.lora.targets=[q_proj, c_attn]", "must be one of q_proj, k_proj"},
      {"train.lora={rank: 4, targets: []}", "adapters need a matrix"},
      {"train={sharding: parameters, lora: {rank: 4}}", "with adapters (train.lora) use gradients"},
      {"train.optimizer_state=int8", "must be one of fp32, bf16, 8bit"},
      {"train.sharding=zero1", "must be one of none, optimizer, gradients, parameters"},
      {"train.activation_checkpointing=some", "must be one of auto, none, full"},
      {"train.group_size=1", "nothing to compare"},
      {"train.minibatches=17", "more than the 16 rollouts"},
      {"train.lr=0", "must be greater than 0"},
      {"train.lr=.nan", "must be a number"},
      {"train.steps=0", "nothing to do"},
      {"train.steps=-1", "must be at least 0"},
      {"train.clip_low=1.5", "greater than 0 and at most 1"},
      {"generate.temperature=0", "teach nothing"},
      {"generate.top_p=1.5", "at most 1"},
      {"generate.top_p=0", "greater than 0"},
      {"generate.min_p=1", "below 1"},
      {"generate.repetition_penalty=0", "greater than 0"},
      {"generate.stop_ids=[5, -1]", "stop_ids[1]"},
      {"generate.deadline_s=-1", "at least 0"},
      {"generate.kv_mib_max=-1", "at least 0"},
      {"generate.sequences_max=-1", "at least 0"},
      {"generate.response_prefix=\"```cpp\\n\"", "token boundary"},
      {"checkpoint.every=0", "at least 1"},
      {"problems=[a, a]", "a second time"},
      {"name=a/b", "may hold letters"},
      {"reward.clip_low=0.5", "leaves out 0"},
      {"chat.thinking=of", "must be one of auto, on, off"},
      {"local.device=gpu", "must be one of auto, cpu, cuda"},
      {"patience.trainer_s=0", "greater than 0"},
      {"patience={worker_s: -1}", "greater than 0"},
      {"patience.jump_host_s=5", "jump_host_s"},
      {"local.ranks=0", "local.ranks"},
      {"cluster={trainer: {ssh: g}}", "at least one host that runs whet-worker"},
      {"cluster={workers: [{ssh: a}]}", "the host that runs whet-trainer"},
      {"cluster={trainer: {ssh: g}, workers: [{ssh: \"c[2-1]\"}]}", "counts backwards"},
      {"cluster={trainer: {ssh: g}, workers: [{ssh: a}, {ssh: a}]}", "a second time"},
      {"cluster={trainer: {ssh: g}, workers: [{ssh: a}]}", "a directory on its filesystem"},
      {"cluster={trainer: {ssh: g}, workers: [{ssh: a}], tunnel: openssh}",
       "must be one of libssh, ssh, not 'openssh'"},
  };
  for (const auto& [set, want] : table) {
    EXPECT_NE(Error(kMinimal, {set}).find(want), std::string::npos)
        << set << " → " << Error(kMinimal, {set});
  }
  // Rollouts of another distribution need the importance weights.
  for (const char* set : {"generate.top_p=0.9", "generate.top_k=5", "generate.min_p=0.1",
                          "generate.repetition_penalty=1.1", "generate.frequency_penalty=1",
                          "train.max_staleness=1"}) {
    EXPECT_EQ(Error(kMinimal, {set}), "(accepted)");
    EXPECT_NE(Error(kMinimal, {set, "train.importance.mode=off"}).find("samples from another"),
              std::string::npos)
        << set;
  }
  // What depends on the moment cannot be repeated.
  const std::vector<std::string> fixed = {"deterministic=true", "train.token_budget=2048",
                                          "local.threads=2", "local.dtype=bf16"};
  EXPECT_EQ(Error(kMinimal, fixed), "(accepted)");
  for (const char* set :
       {"local.threads=0", "local.dtype=auto", "train.token_budget=0", "generate.deadline_s=5"}) {
    std::vector<std::string> sets = fixed;
    sets.push_back(set);
    EXPECT_NE(Error(kMinimal, sets).find("with 'deterministic'"), std::string::npos) << set;
  }
}

TEST(HostRangeTest, ExpandsAndRefuses) {
  const auto expand = [](absl::string_view text) { return *ExpandHostRange(text); };
  EXPECT_EQ(expand("gpu01"), (std::vector<std::string>{"gpu01"}));
  EXPECT_EQ(expand("c[08-10]"), (std::vector<std::string>{"c08", "c09", "c10"}));
  EXPECT_EQ(expand("a[1,3-4].x"), (std::vector<std::string>{"a1.x", "a3.x", "a4.x"}));
  EXPECT_EQ(expand("op@[::1]:22"), (std::vector<std::string>{"op@[::1]:22"}));
  for (const char* bad : {"c[", "c]1[", "c[1-2][3]", "c[a-b]", "c[]", "c[1-]", "c[1-2-3]",
                          "c[0-99999]", "c[99999999999]"}) {
    EXPECT_FALSE(ExpandHostRange(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace whetstone
