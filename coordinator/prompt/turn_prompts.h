// A problem's policy is asked the same in several ways, which take turns: so groups try different
// things.
#ifndef WHETSTONE_COORDINATOR_PROMPT_TURN_PROMPTS_H_
#define WHETSTONE_COORDINATOR_PROMPT_TURN_PROMPTS_H_

#include <vector>

#include "coordinator/prompt/worked_examples.h"
#include "whetstone/v1/campaign.pb.h"
#include "whetstone/v1/problem.pb.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

// Says what the campaign's warm-up shows: `problems` are those that it learns from, of which it may
// take the nearest examples and references.
WarmupOptions WarmupOptionsOf(const v1::Campaign& campaign,
                              const std::vector<v1::Problem>& problems);

// Returns for each problem its prompts with each of train.hints at the end, then with each of its
// warmup.demonstrations in front; none if the campaign has neither. `examples` are all of
// warmup.examples. Pure and thread-safe.
std::vector<std::vector<std::vector<v1::Message>>> TurnPrompts(
    const v1::Campaign& campaign, const std::vector<WorkedExample>& examples,
    const std::vector<v1::Problem>& problems);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROMPT_TURN_PROMPTS_H_
