// Two campaigns live side by side on one trainer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/campaign/campaign_fakes.h"
#include "coordinator/campaign/deadlines.h"

namespace whetstone {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Property;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kWaits[] = "the trainer, which serves campaign ";

class CampaignHolderTest : public testing::Test {
 protected:
  WorldOptions Options(const std::string& campaign) {
    WorldOptions options;
    options.trainer = &trainer_;
    options.campaign_id = campaign;
    options.shared = false;
    options.steps = 2;
    options.warmup = 1;
    return options;
  }
  static auto EndsWith(absl::StatusCode code, const std::string& text) {
    return AllOf(Property(&absl::Status::code, code),
                 Property(&absl::Status::message, HasSubstr(text)));
  }
  static auto Done() { return Property(&absl::Status::ok, true); }

  FakeTrainer trainer_;
};

TEST_F(CampaignHolderTest, TheSecondBeginsWhenTheFirstHasEnded) {
  World first(Options("a-1"));
  WorldOptions later = Options("b-2");
  later.begins = 5;
  World second(later);
  EXPECT_EQ(World::LiveTogether({&first, &second}), "");
  EXPECT_THAT(first.ends(), ElementsAre(Done()));
  EXPECT_THAT(first.waited(), Not(Contains(StartsWith(kWaits))));
  EXPECT_THAT(second.ends(), ElementsAre(Done()));
  EXPECT_THAT(second.waited(), Contains(StartsWith(absl::StrCat(kWaits, "a-1, heard of "))));
  EXPECT_LT(second.lived(), 2 * first.lived() + 5) << "it heard at once that the trainer is free";
}

TEST_F(CampaignHolderTest, WhoeverWaitsForVerdictsKeepsTheTrainer) {
  WorldOptions slow = Options("a-1");
  slow.warmup = 0;
  slow.slow = 70;  // longer than the lease
  World first(slow);
  WorldOptions later = Options("b-2");
  later.begins = 5;
  World second(later);
  EXPECT_EQ(World::LiveTogether({&first, &second}), "");
  EXPECT_THAT(first.ends(), ElementsAre(Done()));
  EXPECT_GT(first.lived(), first.plan().campaign.patience().trainer_s());
  // Each time it was resumed it waited again.
  ASSERT_GE(second.ends().size(), 2u);
  EXPECT_THAT(second.ends()[0],
              EndsWith(absl::StatusCode::kFailedPrecondition, "take the trainer from it with"));
  EXPECT_TRUE(second.ends().back().ok());
}

TEST_F(CampaignHolderTest, WhoeverIsPausedKeepsTheTrainer) {
  WorldOptions paused = Options("a-1");
  paused.pause_from = 4;
  paused.pause_until = 404;
  World first(paused);
  WorldOptions later = Options("b-2");
  later.begins = 5;
  World second(later);
  EXPECT_EQ(World::LiveTogether({&first, &second}), "");
  EXPECT_THAT(first.ends(), ElementsAre(Done()));
  EXPECT_EQ(first.pauses(), 1);
  EXPECT_GT(first.lived(), 404);
  EXPECT_THAT(first.waited(), Contains("whet unpause"));
  ASSERT_GE(second.ends().size(), 2u);
  EXPECT_THAT(second.ends()[0],
              EndsWith(absl::StatusCode::kFailedPrecondition, "take the trainer from it with"));
  EXPECT_TRUE(second.ends().back().ok());
}

TEST_F(CampaignHolderTest, AStolenTrainerEndsTheOtherCampaignWhichGoesOnLater) {
  World first(Options("a-1"));
  WorldOptions thief = Options("b-2");
  thief.begins = 8;
  thief.steal = true;
  World second(thief);
  EXPECT_EQ(World::LiveTogether({&first, &second}), "");
  ASSERT_THAT(first.ends(), SizeIs(2));
  EXPECT_THAT(first.ends()[0], EndsWith(absl::StatusCode::kAborted, "b-2"));
  EXPECT_TRUE(first.ends()[1].ok());
  EXPECT_THAT(first.waited(), Contains(StartsWith(absl::StrCat(kWaits, "b-2, heard of "))));
  EXPECT_THAT(second.ends(), ElementsAre(Done()));
}

// Whatever is lost on the way, each policy sees the updates of its own campaign alone (Live), and
// both come to their end.
TEST_F(CampaignHolderTest, FaultsMixNoTwoPolicies) {
  int stolen = 0, waited = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    trainer_ = {};
    std::vector<WorldOptions> options = {Options("a-1"), Options("b-2")};
    for (WorldOptions& of : options) {
      of.seed = 2 * seed + (of.campaign_id == "a-1" ? 0 : 1);
      of.workers = 2;
      of.faults = 15;
      of.steps = 4;
      of.measure = seed % 3 == 0 ? 15 : 2;
    }
    options[1].begins = static_cast<Seconds>(seed % 40);
    options[1].steal = seed % 2 == 0;
    World first(options[0]), second(options[1]);
    ASSERT_EQ(World::LiveTogether({&first, &second}), "") << "seed " << seed;
    for (const World* world : {&first, &second}) {
      for (const absl::Status& end : world->ends()) stolen += absl::IsAborted(end) ? 1 : 0;
      for (const std::string& name : world->waited()) waited += name.rfind(kWaits, 0) == 0 ? 1 : 0;
    }
  }
  EXPECT_GT(stolen, 10);
  EXPECT_GT(waited, 60);
}

}  // namespace
}  // namespace whetstone
