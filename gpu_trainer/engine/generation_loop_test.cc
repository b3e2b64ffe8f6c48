// These tests run the loop over a runner whose logits are written down. They see who is admitted
// when, what becomes of drafts, and when prompts are dropped.
#include "gpu_trainer/engine/generation_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gpu_trainer/engine/engine_testing.h"

namespace whetstone {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kVocab = 260;

// Returns the token after `token` in any sequence: t + 1, and 'a' again after 'd'.
int32_t Next(int32_t token) { return token == 'd' ? 'a' : token + 1; }

class FakeRunner final : public ModelRunner {
 public:
  explicit FakeRunner(bool takes_drafts, bool draws = false)
      : takes_drafts_(takes_drafts), draws_(draws) {}

  torch::Tensor Prefill(int32_t prefix, const std::vector<int32_t>& ids) override {
    EXPECT_TRUE(prefixes.insert(prefix).second);
    torch::Tensor logits = torch::zeros({1, kVocab});
    logits[0][Next(ids.back())] = 9;
    return logits;
  }
  void DropPrefix(int32_t prefix) override { EXPECT_EQ(prefixes.erase(prefix), 1u); }
  bool TakesDrafts() const override { return takes_drafts_; }

  absl::StatusOr<std::vector<SampledToken>> Step(const std::vector<DecodeInput>& inputs,
                                                 LogitsFn on_logits) override {
    batches.push_back(static_cast<int>(inputs.size()));
    std::vector<SampledToken> drawn;
    std::set<int32_t> slots;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const DecodeInput& input = inputs[i];
      EXPECT_EQ(prefixes.count(input.prefix), 1u);
      EXPECT_TRUE(slots.insert(input.slot).second);
      EXPECT_EQ(input.suffix + 1, input.next.position);
      EXPECT_TRUE(takes_drafts_ || input.draft.empty());
      drawn.push_back({.id = Next(input.token), .logprob = -1});
      if (draws_) continue;
      torch::Tensor logits = torch::zeros({input.rows(), kVocab});
      logits[0][Next(input.token)] = 9;
      for (int64_t j = 1; j < input.rows(); ++j) {
        logits[j][Next(input.draft[static_cast<size_t>(j - 1)])] = 9;
      }
      on_logits(i, i + 1, logits.const_data_ptr<float>());
    }
    if (!draws_) drawn.clear();
    return drawn;
  }
  int64_t graph_steps() const override { return 0; }

  std::set<int32_t> prefixes;
  std::vector<int> batches;  // The sequences of each step.

 private:
  const bool takes_drafts_, draws_;
};

class GenerationLoopTest : public ::testing::Test {
 protected:
  GenerationLoopTest() : tokenizer_(*Tokenizer::Parse(ByteTokenizerJson(), "test")) {
    config_.vocab = kVocab;
    config_.context = 100;
    spec_.sampling.temperature = 0;
    spec_.sampling.max_new_tokens = 6;
  }

  void AddGroup(int32_t group_index, const std::string& prompt, std::vector<int32_t> samples) {
    spec_.groups.push_back({.group_index = group_index,
                            .ids = tokenizer_->Encode(prompt),
                            .samples = std::move(samples)});
  }

  // Returns each completion as "group.sample text", in the order of their ends.
  std::vector<std::string> Run(int64_t slots, FakeRunner* runner) {
    std::vector<std::string> ended;
    const TokenSampler sampler(0, 0, spec_.sampling, kVocab);
    const GenerateSink sink = {.on_completion =
                                   [&](const Completion& c) {
                                     ended.push_back(std::to_string(c.group_index) + "." +
                                                     std::to_string(c.sample) + " " + c.text);
                                     EXPECT_EQ(c.ids.size(), c.logprobs.size());
                                   },
                               .on_progress = [&](const GenerateStatus& status) { last_ = status; },
                               .cancelled = {}};
    const TickingClock clock;
    const absl::Status status = GenerationLoop({.spec = spec_,
                                                .sink = sink,
                                                .config = config_,
                                                .tokenizer = *tokenizer_,
                                                .sampler = sampler,
                                                .clock = clock},
                                               slots, runner)
                                    .Run();
    EXPECT_TRUE(status.ok()) << status;
    return ended;
  }

  ModelConfig config_;
  const std::unique_ptr<Tokenizer> tokenizer_;
  GenerateSpec spec_;
  GenerateStatus last_;
};

TEST_F(GenerationLoopTest, SlotsAreFilledAgainAndPromptsDropped) {
  AddGroup(1, "xa", {0, 1});
  AddGroup(2, "xc", {0});
  FakeRunner runner(/*takes_drafts=*/false);
  EXPECT_THAT(Run(2, &runner), ElementsAre("1.0 bcdabc", "1.1 bcdabc", "2.0 dabcda"));
  // The first token of each comes from its prompt, without a step.
  EXPECT_THAT(runner.batches, ElementsAre(2, 2, 2, 2, 2, 1, 1, 1, 1, 1));
  EXPECT_TRUE(runner.prefixes.empty());
  EXPECT_EQ(last_.tokens, 18);
  EXPECT_EQ(last_.completions, 3);
  EXPECT_EQ(last_.active, 0);
  EXPECT_EQ(last_.steps, 10);
}

TEST_F(GenerationLoopTest, ASequenceMayEndWithItsFirstToken) {
  spec_.sampling.stop_ids = {'b'};
  AddGroup(1, "xa", {0, 1});
  AddGroup(2, "xb", {0});
  FakeRunner runner(/*takes_drafts=*/false);
  EXPECT_THAT(Run(1, &runner), ElementsAre("1.0 b", "1.1 b", "2.0 cdab"));
  EXPECT_THAT(runner.batches, ElementsAre(1, 1, 1));
}

TEST_F(GenerationLoopTest, RightGuessesSaveSteps) {
  spec_.sampling.max_new_tokens = 30;
  AddGroup(1, "abcda", {0});
  FakeRunner plain(/*takes_drafts=*/false), guessing(/*takes_drafts=*/true);
  const std::vector<std::string> want = Run(1, &plain);
  EXPECT_EQ(last_.steps, 29);
  EXPECT_EQ(last_.drafted, 0);
  EXPECT_EQ(Run(1, &guessing), want);
  EXPECT_GT(last_.accepted, 10);
  EXPECT_EQ(last_.steps + last_.accepted, 29);
  EXPECT_EQ(last_.tokens, 30);
}

TEST_F(GenerationLoopTest, ARunnerMayDraw) {
  AddGroup(1, "xa", {0, 1});
  FakeRunner runner(/*takes_drafts=*/false, /*draws=*/true);
  EXPECT_THAT(Run(2, &runner), ElementsAre("1.0 bcdabc", "1.1 bcdabc"));
}

TEST_F(GenerationLoopTest, NothingAskedForNeedsNoRunner) {
  EXPECT_THAT(Run(0, nullptr), ElementsAre());
  EXPECT_EQ(last_.steps, 0);
}

}  // namespace
}  // namespace whetstone
