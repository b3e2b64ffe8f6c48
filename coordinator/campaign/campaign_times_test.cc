// What a step's time is booked as, driven by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/campaign/campaign_state.h"
#include "coordinator/durable/campaign_plan_testing.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two steps of two rollouts; the trainer and the one worker are on hosts of their own.
class CampaignTimesTest : public testing::Test {
 protected:
  void Send(Seconds now, CampaignEvent event) {
    for (const Action& action : state_.Handle({std::move(event)}, now)) {
      if (const auto* a = std::get_if<action::Probe>(&action)) probes_[a->service] = a->call;
      if (const auto* a = std::get_if<action::PutProblem>(&action)) put_ = a->call;
      if (const auto* a = std::get_if<action::LoadPolicy>(&action)) load_ = a->call;
      if (const auto* a = std::get_if<action::Generate>(&action)) generate_ = a->call;
      if (const auto* a = std::get_if<action::Measure>(&action)) measures_.push_back(a->call);
      if (const auto* a = std::get_if<action::Update>(&action)) {
        update_ = a->call;
        response_ = {};
        *response_.mutable_name() = a->request.name();
        response_.set_applied(true);
      }
      if (const auto* a = std::get_if<action::StepDone>(&action)) {
        row_ = a->row;
        line_ = a->line;
      }
    }
  }
  void ProbeWorker(Seconds now) {
    v1::WorkerInfo info;
    info.set_hostname("cpu");
    info.set_host_id("cpu");
    info.set_slots(2);
    info.set_cores(8);
    Send(now, event::WorkerProbed{probes_[0], info});
  }
  // Both completions come, and the generation ends.
  void Generate(Seconds now) {
    Send(now, event::Prompt{generate_, {}});
    for (int sample = 0; sample < 2; ++sample) {
      v1::Completion completion;
      completion.set_sample(sample);
      completion.set_text(absl::StrCat("```cpp\nint f", sample, "();\n```"));
      Send(now, event::Completion{generate_, completion});
    }
    Send(now, event::GenerateEnded{generate_});
  }
  void Answer(Seconds now) {
    v1::Verdict verdict;
    verdict.set_outcome(v1::WRONG_ANSWER);
    for (const uint64_t call : std::exchange(measures_, {})) {
      Send(now, event::VerdictArrived{call, verdict});
    }
  }

  const CampaignPlan plan_ =
      MakeTestPlan({.steps = 2, .warmup = 0, .group_size = 2, .prompts_per_step = 1});
  CampaignState state_{&plan_, {"worker a"}};
  std::map<int, uint64_t> probes_;
  uint64_t put_ = 0, load_ = 0, generate_ = 0, update_ = 0;
  std::vector<uint64_t> measures_;
  v1::UpdateResponse response_;
  std::map<std::string, double> row_;
  std::string line_;
};

TEST_F(CampaignTimesTest, PreparationIsNoServiceThatWasDown) {
  Send(0, event::Tick{});
  Send(5, event::ServiceReady{kTrainer});
  Send(5, event::ServiceReady{0});
  v1::TrainerInfo trainer;
  trainer.set_host_id("gpu");
  Send(6, event::TrainerProbed{probes_[kTrainer], trainer});
  ProbeWorker(6);
  event::PolicyLoaded loaded{load_};
  loaded.response.mutable_holder()->set_epoch(1);
  Send(16, loaded);
  Generate(18);
  Send(48, event::ProblemKnown{put_, {}});  // thirty seconds in which all wait for the calibration
  Answer(50);
  Send(53, event::UpdateDone{update_, response_});
  EXPECT_DOUBLE_EQ(row_["time/step"], 53);
  EXPECT_DOUBLE_EQ(row_["time/prepare"], 5 + 1 + 10 + 30) << "start, probe, load, calibration";
  EXPECT_DOUBLE_EQ(row_["time/generate"], 2);
  EXPECT_DOUBLE_EQ(row_["time/wait_verdicts"], 2);
  EXPECT_DOUBLE_EQ(row_["time/update"], 3);
  EXPECT_DOUBLE_EQ(row_["time/checkpoint"], 0) << "nothing was saved";
  EXPECT_DOUBLE_EQ(row_["time/wait_services"], 0) << "nothing was ever down";
  EXPECT_THAT(line_, HasSubstr("87% preparation"));
  EXPECT_THAT(line_, Not(HasSubstr("down")));

  // Now one is: from the moment in which nothing else goes on until it is there again.
  Send(53, event::ServiceLost{0, "connection reset"});
  Generate(54);
  Send(84, event::ServiceReady{0});
  ProbeWorker(85);
  Send(86, event::ProblemKnown{put_, {}});
  Send(87, event::ProblemKnown{put_, {}});
  Answer(88);
  Send(89, event::UpdateDone{update_, response_});
  EXPECT_DOUBLE_EQ(row_["time/step"], 36);
  EXPECT_DOUBLE_EQ(row_["time/wait_services"], 30);
  EXPECT_DOUBLE_EQ(row_["time/generate"], 1);
  EXPECT_THAT(line_, HasSubstr("83% a service that was down; see its log"));
}

}  // namespace
}  // namespace whetstone
