// These checks ask the trainer whether a campaign's model will serve, before anything is made or
// measured.
#ifndef WHETSTONE_COORDINATOR_LOOP_MODEL_CHECK_H_
#define WHETSTONE_COORDINATOR_LOOP_MODEL_CHECK_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/source_place.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/rpc/trainer_client.h"
#include "coordinator/terminal/stop_signals.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

struct CheckedModel {
  v1::ModelFacts facts;
  std::string longest_prompt;  // its problem's id
  int64_t longest_prompt_tokens = 0;
};

// CheckLocalModel is for a campaign without a cluster: it asks `whet-trainer inspect`, or the
// campaign's endpoint, and starts nothing else. `place` says where a key of the campaign was given.
// INVALID_ARGUMENT "PLACE: 'KEY': …" says what is wrong with the models, or with the campaign
// beside them; other errors are those of InspectModelLocally. `signals` is borrowed.
absl::StatusOr<CheckedModel> CheckLocalModel(
    const CampaignPlan& plan, const std::function<SourcePlace(const std::string& key)>& place,
    const StopSignals* signals);

// CheckRemoteModel is for one with a cluster: it asks the trainer there, again for up to a minute
// where it cannot be reached. INVALID_ARGUMENT "'KEY': …" is as above; FAILED_PRECONDITION says
// that the trainer is too old to tell; other errors are the call's. `trainer` and `signals` are
// borrowed.
absl::Status CheckRemoteModel(const CampaignPlan& plan, TrainerClient* trainer,
                              StopSignals* signals);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_LOOP_MODEL_CHECK_H_
