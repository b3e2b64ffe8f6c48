#include "gpu_trainer/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "common/utf8.h"
#include "gpu_trainer/engine/cache/kv_cache.h"
#include "gpu_trainer/engine/engine_testing.h"
#include "gpu_trainer/engine/runner/generation_work.h"
#include "gpu_trainer/kernels/linear.h"
#include "gpu_trainer/profile/step_profile.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

class EngineTest : public ::testing::TestWithParam<torch::ScalarType> {
 protected:
  EngineTest()
      : config_(*ParseModelConfig(
            R"({"model_type": "qwen2", "hidden_size": 48, "num_hidden_layers": 2,
                "num_attention_heads": 6, "num_key_value_heads": 2, "intermediate_size": 64,
                "vocab_size": 260, "max_position_embeddings": 300, "eos_token_id": 256})",
            "test")),
        weights_(RandomWeights(config_, GetParam(), 5)),
        tokenizer_(*Tokenizer::Parse(ByteTokenizerJson(), "test")) {
    torch::NoGradGuard no_grad;
    // The weights are so large that distributions are far from uniform.
    for (auto& [name, tensor] : weights_.Named()) {
      if (!absl::EndsWith(name, "norm")) tensor.mul_(8);
    }
  }

  GenerateSpec Spec(int groups, int samples, int tokens) {
    GenerateSpec spec;
    spec.seed = 3;
    spec.sampling.max_new_tokens = tokens;
    spec.sampling.ignore_eos = true;
    for (int g = 0; g < groups; ++g) {
      PromptGroupSpec group;
      group.group_index = g;
      group.ids = tokenizer_->Encode(std::string(static_cast<size_t>(3 + 61 * g), 'a') + "bc");
      for (int s = 0; s < samples; ++s) group.samples.push_back(s);
      spec.groups.push_back(group);
    }
    return spec;
  }

  using Completions = std::map<std::pair<int, int>, Completion>;
  Completions Run(const GenerateSpec& spec, const EngineOptions& options = {},
                  GenerateStatus* last = nullptr) {
    Engine engine(config_, weights_, *tokenizer_, options);
    Completions all;
    const absl::Status status =
        engine.Generate(spec, {.on_completion =
                                   [&](Completion c) {
                                     all[{c.group_index, c.sample}] = std::move(c);
                                   },
                               .on_progress =
                                   [&](const GenerateStatus& status) {
                                     if (last != nullptr) *last = status;
                                   },
                               .cancelled = {}});
    EXPECT_TRUE(status.ok()) << status;
    return all;
  }

  static bool Independent() { return IsBatchInvariant(torch::kCPU, GetParam()); }

  absl::Status Error(const GenerateSpec& spec) {
    return Engine(config_, weights_, *tokenizer_).Generate(spec, {});
  }

  ModelConfig config_;
  Weights weights_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

// fp16 runs what runs on a GPU.
INSTANTIATE_TEST_SUITE_P(Types, EngineTest,
                         ::testing::Values(torch::kFloat, torch::kBFloat16, torch::kHalf),
                         [](const auto& info) {
                           return info.param == torch::kFloat  ? "Float32"
                                  : info.param == torch::kHalf ? "Float16"
                                                               : "BFloat16";
                         });

TEST_P(EngineTest, DecodeEqualsPrefill) {
  const GenerateSpec spec = Spec(3, 4, 90);
  const Completions all = Run(spec);
  ASSERT_EQ(all.size(), 12u);
  Engine engine(config_, weights_, *tokenizer_);
  for (const auto& [key, completion] : all) {
    const std::vector<int32_t>& prompt = spec.groups[static_cast<size_t>(key.first)].ids;
    std::vector<int32_t> ids = prompt;
    ids.insert(ids.end(), completion.ids.begin(), completion.ids.end());
    ASSERT_EQ(completion.ids.size(), 90u);
    const auto scored = engine.Score(ids);
    ASSERT_TRUE(scored.ok()) << scored.status();
    double ratio = 0;
    for (size_t i = 0; i < completion.ids.size(); ++i) {
      const float again = (*scored)[prompt.size() - 1 + i];
      if (Independent()) {
        ASSERT_EQ(completion.logprobs[i], again) << "token " << i;
      } else if (GetParam() == torch::kFloat) {
        ASSERT_NEAR(completion.logprobs[i], again, 1e-5) << "token " << i;
      }
      ratio += std::exp(std::abs(completion.logprobs[i] - again));
    }
    // fp16 has eight times the digits of bf16, whose bound holds without SIMD kernels.
    EXPECT_LE(ratio / static_cast<double>(completion.ids.size()),
              GetParam() == torch::kHalf ? 1.002 : 1.05);
  }
}

TEST_P(EngineTest, TokensDoNotDependOnTheBatch) {
  GenerateSpec spec = Spec(3, 5, 40);
  spec.deterministic = true;
  const Completions all = Run(spec);
  const auto expect_equal = [&](const Completions& others, const char* how) {
    for (const auto& [key, completion] : others) {
      EXPECT_EQ(completion.ids, all.at(key).ids) << how;
      EXPECT_EQ(completion.logprobs, all.at(key).logprobs) << how;
    }
  };
  // Two decode at a time, so that sequences wait, slots are used again and prompts come and go.
  spec.memory = {.sequences_max = 2};
  expect_equal(Run(spec), "two at a time");
  const int64_t one = KvBytes(config_, GetParam(), 127) + KvBytes(config_, GetParam(), 40 + 63);
  spec.memory = {.kv_bytes_max = one};
  expect_equal(Run(spec), "memory for one");
  spec.memory = {};
  // The groups and samples arrive in another order.
  GenerateSpec backwards = spec;
  std::reverse(backwards.groups.begin(), backwards.groups.end());
  for (PromptGroupSpec& group : backwards.groups) {
    std::reverse(group.samples.begin(), group.samples.end());
  }
  expect_equal(Run(backwards), "backwards");
  // The samples are split over two calls, and one is drawn alone.
  for (const std::vector<int32_t>& samples : {std::vector<int32_t>{0, 4}, {1, 2, 3}, {3}}) {
    GenerateSpec part = spec;
    for (PromptGroupSpec& group : part.groups) group.samples = samples;
    if (samples.size() == 1) part.groups = {part.groups[1]};
    expect_equal(Run(part), "split");
  }
  if (Independent()) {
    spec.deterministic = false;
    expect_equal(Run(spec), "without being asked to");
  }
  // Samples differ from each other.
  EXPECT_NE(all.at({1, 3}).ids, all.at({1, 4}).ids);
}

TEST_P(EngineTest, PromptLookupChangesNothing) {
  for (const double temperature : {0.0, 0.5, 1.0}) {
    for (const int samples : {1, 3}) {
      // Where nothing is guessed a few tokens show it.
      GenerateSpec spec = Spec(1, samples, Independent() ? 150 : 20);
      spec.sampling.temperature = temperature;
      // Either way the logits depend on what was drawn; one sample alone soon runs in circles,
      // where guesses are right.
      spec.sampling.penalties = {
          .repetition = 1.02, .presence = 0.1, .frequency = samples == 1 ? -1.0 : 0.01};
      GenerateStatus with, without;
      // By this clock a step takes the same time with and without guesses.
      const TickingClock clock;
      const Completions guessed = Run(spec, {.clock = &clock}, &with);
      const Completions plain = Run(spec, {.prompt_lookup = false}, &without);
      EXPECT_EQ(without.drafted, 0);
      EXPECT_EQ(with.tokens, without.tokens);
      if (temperature == 0 && samples == 1 && Independent()) {
        EXPECT_GT(with.accepted, 30);
        EXPECT_EQ(with.steps + with.accepted, without.steps);
      }
      // Nothing is guessed where that could change bits.
      EXPECT_TRUE(Independent() || with.drafted == 0);
      for (const auto& [key, completion] : guessed) {
        EXPECT_EQ(completion.ids, plain.at(key).ids) << temperature;
        EXPECT_EQ(completion.logprobs, plain.at(key).logprobs) << temperature;
      }
    }
  }
}

TEST_P(EngineTest, DeadlinesEndSequencesOneByOne) {
  GenerateSpec spec = Spec(1, 2, 40);
  spec.sampling.deadline_s = 8;
  const TickingClock clock;
  // One decodes at a time: the second one's wait does not count.
  spec.memory.sequences_max = 1;
  const EngineOptions options = {.clock = &clock};
  const Completions cut = Run(spec, options);
  spec.sampling.deadline_s = 0;
  const Completions whole = Run(spec, options);
  for (const auto& [key, completion] : cut) {
    EXPECT_EQ(completion.finish, Completion::Finish::kDeadline);
    // A step looks at the clock when it begins, when it ends, and for the deadline.
    EXPECT_EQ(completion.ids.size(), 4u);
    EXPECT_EQ(completion.logprobs.size(), 4u);
    const std::vector<int32_t>& all = whole.at(key).ids;
    EXPECT_EQ(completion.ids, std::vector<int32_t>(all.begin(), all.begin() + 4));
    EXPECT_EQ(whole.at(key).finish, Completion::Finish::kLength);
  }
}

TEST_P(EngineTest, AnUpdateIsSeenAtOnce) {
  const GenerateSpec spec = Spec(1, 2, 20);
  Engine engine(config_, weights_, *tokenizer_);
  Completions before, after;
  auto collect = [](Completions* to) {
    return GenerateSink{.on_completion =
                            [to](Completion c) {
                              (*to)[{c.group_index, c.sample}] = std::move(c);
                            },
                        .on_progress = {},
                        .cancelled = {}};
  };
  ASSERT_TRUE(engine.Generate(spec, collect(&before)).ok());
  {
    torch::NoGradGuard no_grad;
    weights_.layers[1].down.neg_();
  }
  ASSERT_TRUE(engine.Generate(spec, collect(&after)).ok());
  EXPECT_NE(before.at({0, 0}).ids, after.at({0, 0}).ids);
  EXPECT_EQ(after.at({0, 0}).ids, Run(spec).at({0, 0}).ids);
}

TEST_P(EngineTest, Endings) {
  GenerateSpec spec = Spec(1, 60, 40);
  spec.sampling.ignore_eos = false;
  spec.end_ids = {'e', 'q'};
  int stopped = 0;
  for (const auto& [key, c] : Run(spec)) {
    const int32_t last = c.ids.back();
    const bool ends = last == 256 || last == 'e' || last == 'q';
    EXPECT_EQ(c.finish == Completion::Finish::kStop, ends);
    EXPECT_TRUE(ends || c.ids.size() == 40u);
    stopped += ends;
  }
  EXPECT_GT(stopped, 0);
  // Tokens asked for end a completion also where those of the model do not.
  spec.sampling.ignore_eos = true;
  spec.sampling.stop_ids = {'q', 'x'};
  int beyond = 0;
  for (const auto& [key, c] : Run(spec)) {
    const int32_t last = c.ids.back();
    EXPECT_EQ(c.finish == Completion::Finish::kStop, last == 'q' || last == 'x');
    beyond +=
        std::count(c.ids.begin(), c.ids.end(), 256) + std::count(c.ids.begin(), c.ids.end(), 'e');
  }
  EXPECT_GT(beyond, 0);

  // The context of 300 positions ends first, behind a prompt of 127.
  spec = Spec(3, 1, 1000);
  for (const auto& [key, c] : Run(spec)) {
    const size_t prompt = spec.groups[static_cast<size_t>(key.first)].ids.size();
    EXPECT_EQ(c.ids.size(), 300 - prompt);
    EXPECT_EQ(c.finish, Completion::Finish::kLength);
    EXPECT_EQ(c.text, ToValidUtf8(c.text));
  }
}

TEST_P(EngineTest, StopStringsCutTheText) {
  GenerateSpec spec = Spec(1, 8, 60);
  const Completions free = Run(spec);
  // The stop string is two neighbouring tokens of a completion whose text is plain ASCII there.
  const Completion& model = free.at({0, 0});
  std::string stop;
  for (size_t i = 5; i + 1 < model.ids.size() && stop.empty(); ++i) {
    if (model.ids[i] < 128 && model.ids[i + 1] < 128) {
      stop = {static_cast<char>(model.ids[i]), static_cast<char>(model.ids[i + 1])};
    }
  }
  ASSERT_FALSE(stop.empty());
  spec.sampling.stop = {"never in there", stop};
  const Completion cut = Run(spec).at({0, 0});
  EXPECT_EQ(cut.finish, Completion::Finish::kStop);
  EXPECT_THAT(cut.text, ::testing::Not(HasSubstr(stop)));
  EXPECT_EQ(model.text.substr(0, cut.text.size()), cut.text);
  EXPECT_EQ(cut.ids, std::vector<int32_t>(model.ids.begin(),
                                          model.ids.begin() + static_cast<long>(cut.ids.size())));
}

TEST_P(EngineTest, ProgressAndCancelling) {
  const GenerateSpec spec = Spec(2, 3, 30);
  Engine engine(config_, weights_, *tokenizer_);
  GenerateStatus last;
  int completions = 0, asked = 0;
  ASSERT_TRUE(engine
                  .Generate(spec, {.on_completion = [&](const Completion&) { ++completions; },
                                   .on_progress = [&](const GenerateStatus& s) { last = s; },
                                   .cancelled = {}})
                  .ok());
  EXPECT_EQ(last.tokens, 2 * 3 * 30);
  EXPECT_EQ(last.completions, 6);
  EXPECT_EQ(last.active, 0);
  EXPECT_EQ(completions, 6);

  const absl::Status status =
      engine.Generate(spec, {.on_completion = {},
                             .on_progress = [&](const GenerateStatus& s) { last = s; },
                             .cancelled = [&] { return ++asked == 5; }});
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(last.tokens, 5 * 6 - 6);
}

TEST_P(EngineTest, AProfileCountsEveryPartsWork) {
  const GenerateSpec spec = Spec(2, 3, 9);
  StepProfile profile;
  {
    const ProfileCollection collecting(&profile);
    Run(spec, {.prompt_lookup = false});
  }
  const GenerationWork work(config_, static_cast<int64_t>(torch::elementSize(GetParam())));
  Work prefill, matmul, attention;
  const auto add = [](Work* sum, const Work& w) {
    sum->flops += w.flops;
    sum->bytes += w.bytes;
  };
  int64_t prompts = 0;
  for (const PromptGroupSpec& group : spec.groups) {
    add(&prefill, work.Prefill(static_cast<int64_t>(group.ids.size())));
    prompts += static_cast<int64_t>(group.ids.size());
  }
  // The first token of a sequence comes from its prompt's logits, so there are 8 steps of 6
  // sequences.
  for (int64_t step = 1; step <= 8; ++step) {
    add(&matmul, work.DecodeMatmul(6));
    for (int layer = 0; layer < 2; ++layer) {
      add(&attention, work.LayerAttention(3 * prompts + 6 * step, prompts + 6 * step));
    }
  }
  const auto expect = [&](Part part, const Work& w, int64_t calls) {
    EXPECT_DOUBLE_EQ(profile.of(part).flops, w.flops) << NameOf(part);
    EXPECT_DOUBLE_EQ(profile.of(part).bytes, w.bytes) << NameOf(part);
    EXPECT_EQ(profile.of(part).calls, calls) << NameOf(part);
    EXPECT_GT(profile.of(part).seconds, 0) << NameOf(part);
  };
  expect(Part::kPrefill, prefill, 2);
  expect(Part::kDecodeMatmul, matmul, 8);
  expect(Part::kDecodeAttention, attention, 8 * 2);
  // Six first tokens are drawn, then six a step; every logit is read.
  expect(Part::kSampling, {0, 4.0 * 260 * 6 * 9}, 6 + 8);
  EXPECT_GT(profile.of(Part::kDecodeElementwise).seconds, 0);
}

TEST_P(EngineTest, BadRequestsAreRefused) {
  auto message = [&](const std::function<void(GenerateSpec*)>& change) {
    GenerateSpec spec = Spec(1, 1, 4);
    change(&spec);
    const absl::Status status = Error(spec);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(message([](auto* s) { s->groups[0].ids = {}; }), HasSubstr("without tokens"));
  EXPECT_THAT(message([](auto* s) { s->groups[0].ids = {1, 260}; }), HasSubstr("260"));
  EXPECT_THAT(message([](auto* s) { s->groups[0].ids = {-1}; }), HasSubstr("-1"));
  EXPECT_THAT(message([](auto* s) { s->groups[0].ids.assign(300, 1); }), HasSubstr("context"));
  EXPECT_THAT(message([](auto* s) { s->sampling.max_new_tokens = 0; }), HasSubstr("max_new"));
  EXPECT_THAT(message([](auto* s) { s->sampling.temperature = -1; }), HasSubstr("temperature"));
  EXPECT_THAT(message([](auto* s) { s->sampling.temperature = NAN; }), HasSubstr("temperature"));
  EXPECT_THAT(message([](auto* s) { s->sampling.top_p = 0; }), HasSubstr("top_p"));
  EXPECT_THAT(message([](auto* s) { s->sampling.top_k = -1; }), HasSubstr("top_k"));
  EXPECT_THAT(message([](auto* s) { s->sampling.min_p = 1.5; }), HasSubstr("min_p is 1.5"));
  EXPECT_THAT(message([](auto* s) { s->sampling.penalties.repetition = 0; }),
              HasSubstr("repetition_penalty is 0"));
  EXPECT_THAT(message([](auto* s) { s->sampling.penalties.presence = INFINITY; }),
              HasSubstr("presence_penalty"));
  EXPECT_THAT(message([](auto* s) { s->sampling.stop_ids = {260}; }), HasSubstr("stop_ids: token"));
  EXPECT_THAT(message([](auto* s) { s->sampling.deadline_s = -1; }), HasSubstr("deadline_s"));
  EXPECT_THAT(message([](auto* s) {
                s->sampling.deadline_s = 1;
                s->deterministic = true;
              }),
              HasSubstr("exclude each other"));
  EXPECT_TRUE(Error(GenerateSpec{}).ok());  // Nothing is asked, and nothing is done.

  // This is one byte less than one sequence needs.
  GenerateSpec small = Spec(1, 1, 4);
  const int64_t needed = KvBytes(config_, GetParam(), 5) + KvBytes(config_, GetParam(), 4 + 63);
  small.memory.kv_bytes_max = needed - 1;
  const absl::Status full = Error(small);
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()), HasSubstr("lower max_new_tokens"));
  small.memory.kv_bytes_max = needed;
  EXPECT_TRUE(Error(small).ok());

  torch::NoGradGuard no_grad;
  weights_.final_norm.fill_(NAN);
  EXPECT_EQ(Error(Spec(1, 1, 4)).code(), absl::StatusCode::kInternal);
}

// By default memory is half of what is free beside what is reserved.
TEST_P(EngineTest, MemoryFollowsWhatIsFree) {
  GenerateSpec spec = Spec(1, 3, 4);
  GenerateStatus last;
  int32_t most = 0;
  const auto active = [&](const GenerateMemory& memory) {
    spec.memory = memory;
    most = 0;
    const absl::Status status =
        Engine(config_, weights_, *tokenizer_)
            .Generate(spec, {.on_completion = {},
                             .on_progress =
                                 [&](const GenerateStatus& s) { most = std::max(most, s.active); },
                             .cancelled = {}});
    EXPECT_TRUE(status.ok()) << status;
    return most;
  };
  EXPECT_EQ(active({}), 3);
  EXPECT_EQ(active({.sequences_max = 2}), 2);
  spec.memory = {.reserved_bytes = int64_t{1} << 60};
  const absl::Status none = Engine(config_, weights_, *tokenizer_).Generate(spec, {});
  EXPECT_EQ(none.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(none.message()), HasSubstr("0.0 MiB are half of what is free now"));
}

}  // namespace
}  // namespace whetstone
