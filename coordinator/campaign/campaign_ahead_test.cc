// These campaigns sample rollouts before the updates of earlier steps, and further ones for a step
// whose groups lack spread.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordinator/campaign/campaign_fakes.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

struct Waited {
  // `share` is the part of the time, after the first steps, in which the trainer waited.
  double share = 0;
  // `needed` is how many slots the last step asks for.
  double needed = 0;
  // `line` is the console's line of the last step.
  std::string line;
};

// The campaign measures so slowly that the trainer has to wait, unless it goes on meanwhile.
Waited WaitedIn(int max_staleness, int slots) {
  World world({.seed = 7,
               .workers = 2,
               .shared = false,
               .slots = slots,
               .steps = 30,
               .warmup = 0,
               .group_size = 8,
               .sets = {absl::StrCat("train.max_staleness=", max_staleness)},
               .measure = 6});
  EXPECT_EQ(world.Live(), "");
  EXPECT_EQ(world.stalest(), max_staleness);
  Waited waited;
  double wait = 0, all = 0;
  for (const JournalEntry& entry : world.journal()) {
    const auto* update = std::get_if<UpdateEntry>(&entry);
    if (update == nullptr || update->name.step() <= 5) continue;
    wait += update->row.at("time/wait_verdicts");
    all += update->row.at("time/step");
    waited.needed = update->row.at("measure/slots_needed");
    EXPECT_NEAR(update->row.at("time/wait_verdicts_share"),
                update->row.at("time/wait_verdicts") / update->row.at("time/step"), 1e-12);
    EXPECT_EQ(update->row.at("measure/slots"), 2 * slots);
    EXPECT_EQ(update->row.count("staleness"), max_staleness > 0 ? 1u : 0u);
  }
  waited.share = wait / all;
  waited.line = world.lines().back();
  return waited;
}

TEST(CampaignAheadTest, WithSlotsEnoughTheTrainerHardlyWaits) {
  const Waited strict = WaitedIn(0, 3), ahead = WaitedIn(1, 3);
  EXPECT_GT(strict.share, 0.2);
  EXPECT_LT(ahead.share, 0.1);
  EXPECT_THAT(strict.line, HasSubstr("train.max_staleness 1 would generate the next step"));
}

TEST(CampaignAheadTest, WithTooFewSlotsItIsSaidHowManyWouldDo) {
  const Waited few = WaitedIn(1, 1);
  EXPECT_GT(few.share, 0.2);
  EXPECT_GT(few.needed, 2);
  EXPECT_THAT(few.line, HasSubstr(absl::StrCat(few.needed,
                                               " slots would keep up with the trainer, "
                                               "there are 2")));
  EXPECT_LT(WaitedIn(1, static_cast<int>(std::ceil(few.needed / 2))).share, 0.1) << few.needed;
}

// ---- dynamic sampling ---------------------------------------------------------------------------

TEST(DynamicSamplingTest, GroupsWithoutSpreadAreReplacedAndCounted) {
  World world({.seed = 3,
               .workers = 2,
               .shared = false,
               .steps = 12,
               .warmup = 0,
               .sets = {"train.dynamic_sampling.max_refills=2"},
               .flat = 0.5});
  ASSERT_EQ(world.Live(), "");
  EXPECT_GT(world.refilled(), 4);
  // `rewards` is by step and group.
  std::map<int64_t, std::map<int, std::vector<double>>> rewards;
  double discarded = 0;
  const std::vector<v1::UpdateRequest> requests = *world.Requests();
  for (const JournalEntry& entry : world.journal()) {
    if (const auto* verdict = std::get_if<VerdictEntry>(&entry)) {
      EXPECT_FALSE(verdict->dropped);
      rewards[verdict->step][verdict->group_index].push_back(verdict->reward);
    }
    const auto* update = std::get_if<UpdateEntry>(&entry);
    if (update == nullptr) continue;
    double first = 0, learned = 0;
    std::map<int, std::vector<double>>& groups = rewards[update->name.step()];
    for (const int group : {0, 1}) {
      for (const double reward : groups[group]) first += reward / 8;
    }
    const v1::GrpoBatch& batch = requests[static_cast<size_t>(update->name.step() - 1)].grpo();
    for (const v1::RolloutGroup& group : batch.groups()) {
      for (const v1::Rollout& rollout : group.rollouts()) {
        learned += rollout.reward() / (4 * batch.groups_size());
      }
    }
    EXPECT_NEAR(update->row.at("reward"), first, 1e-12) << "whatever the refills brought";
    EXPECT_EQ(update->row.count("reward_learned"), batch.groups_size() > 0 ? 1u : 0u);
    if (batch.groups_size() > 0) {
      EXPECT_NEAR(update->row.at("reward_learned"), learned, 1e-12);
    }
    EXPECT_EQ(update->row.at("discarded_groups"),
              static_cast<double>(groups.size()) - batch.groups_size());
    EXPECT_EQ(update->row.at("num_completions"), 4.0 * static_cast<double>(groups.size()));
    discarded += update->row.at("discarded_groups");
  }
  EXPECT_GT(discarded, 8);
  EXPECT_TRUE(std::any_of(world.lines().begin(), world.lines().end(), [](const std::string& line) {
    return absl::StrContains(line, " groups discarded");
  }));
}

TEST(DynamicSamplingTest, EndsAtItsBound) {
  World world({.seed = 3,
               .steps = 3,
               .warmup = 0,
               .sets = {"train.dynamic_sampling.max_refills=2"},
               .flat = 1});
  ASSERT_EQ(world.Live(), "");
  const std::vector<v1::UpdateRequest> requests = *world.Requests();
  for (const v1::UpdateRequest& request : requests) {
    EXPECT_EQ(request.grpo().groups_size(), 0);
  }
  int rollouts = 0;
  for (const JournalEntry& entry : world.journal()) {
    rollouts += std::holds_alternative<RolloutEntry>(entry) ? 1 : 0;
    const auto* update = std::get_if<UpdateEntry>(&entry);
    if (update == nullptr) continue;
    EXPECT_EQ(update->row.at("discarded_groups"), 6);
    EXPECT_EQ(update->row.count("reward_learned"), 0u);
  }
  EXPECT_EQ(rollouts, 3 * 3 * 2 * 4);
}

}  // namespace
}  // namespace whetstone
