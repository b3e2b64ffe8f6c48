#include "gpu_trainer/engine/schedule/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace whetstone {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

GenerateSpec TwoGroups() {
  GenerateSpec spec;
  spec.sampling.max_new_tokens = 10;
  spec.groups = {{.group_index = 7, .ids = {1, 2, 3}, .samples = {0, 1}},
                 {.group_index = 9, .ids = {1, 2, 3, 4, 5, 6, 7, 8}, .samples = {4}}};
  return spec;
}

// Admits all that is possible; returns their samples.
std::vector<int> AdmitAll(Scheduler* scheduler) {
  std::vector<int> samples;
  while (std::optional<Sequence> sequence = scheduler->Admit()) {
    samples.push_back(sequence->result.sample);
    scheduler->Start(*std::move(sequence));
  }
  return samples;
}

TEST(SchedulerTest, AdmitsInOrderAsSlotsGetFree) {
  const GenerateSpec spec = TwoGroups();
  Scheduler scheduler(spec, /*context=*/12, /*slots=*/2);
  EXPECT_THAT(AdmitAll(&scheduler), ElementsAre(0, 1));
  EXPECT_THAT(AdmitAll(&scheduler), IsEmpty());

  std::vector<Sequence>& active = scheduler.active();
  EXPECT_NE(active[0].slot, active[1].slot);
  EXPECT_EQ(active[1].result.group_index, 7);
  EXPECT_EQ(active[1].tokens_max, 9);  // The context ends before max_new_tokens.
  const int32_t slot = active[1].slot;
  active[1].ended = true;
  EXPECT_FALSE(scheduler.Finish(active[1]));
  scheduler.DropEnded();
  ASSERT_EQ(active.size(), 1u);
  EXPECT_EQ(active[0].result.sample, 0);

  EXPECT_THAT(AdmitAll(&scheduler), ElementsAre(4));
  EXPECT_EQ(active[1].group, 1u);
  EXPECT_EQ(active[1].slot, slot);
  EXPECT_EQ(active[1].tokens_max, 4);
}

TEST(SchedulerTest, SaysWhenAPromptIsNeededNoMore) {
  const GenerateSpec spec = TwoGroups();
  Scheduler scheduler(spec, 12, 3);
  EXPECT_THAT(AdmitAll(&scheduler), ElementsAre(0, 1, 4));
  const std::vector<Sequence>& active = scheduler.active();
  EXPECT_FALSE(scheduler.Finish(active[0]));
  EXPECT_TRUE(scheduler.Finish(active[2]));
  EXPECT_TRUE(scheduler.Finish(active[1]));
}

TEST(SchedulerTest, WithoutSamplesNothingIsAdmitted) {
  const GenerateSpec spec;
  Scheduler scheduler(spec, 12, 0);
  EXPECT_FALSE(scheduler.Admit().has_value());
  EXPECT_THAT(scheduler.active(), IsEmpty());
}

}  // namespace
}  // namespace whetstone
