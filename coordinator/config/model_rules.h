// These rules hold what a campaign asks of its model beside what the trainer found the model to be
// (InspectModel of trainer.proto).
//
//   v1::InspectModelRequest request = InspectRequestOf(campaign);
//   AddPrompts(problem, {messages}, response_prefix, &request);
//   for (const BrokenRule& rule : CheckModelRules(campaign, request, response)) …
#ifndef WHETSTONE_COORDINATOR_CONFIG_MODEL_RULES_H_
#define WHETSTONE_COORDINATOR_CONFIG_MODEL_RULES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "whetstone/v1/campaign.pb.h"
#include "whetstone/v1/problem.pb.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

struct BrokenRule {
  std::string key;   // of the campaign
  std::string what;  // is wrong, and what to do
};

// Returns the request about the campaign's models, still without prompts.
v1::InspectModelRequest InspectRequestOf(const v1::Campaign& campaign);

// Adds what is asked about one problem: each of `prompts`, and an answer that begins with
// `response_prefix` and may go on as the reference does.
void AddPrompts(const v1::Problem& problem, const std::vector<std::vector<v1::Message>>& prompts,
                const std::string& response_prefix, v1::InspectModelRequest* request);

// Returns `prompt` with a second turn (common/second_turn.h), the longest that is known beforehand:
// the problem's reference has failed. With search.repairs it is one of the prompts: a chat template
// may refuse answers that came before.
std::vector<v1::Message> SecondTurn(const v1::Problem& problem, std::vector<v1::Message> prompt);

// Returns what is wrong: a model that can't serve, prompts and answers beyond its context, tokens
// it does not have.
std::vector<BrokenRule> CheckModelRules(const v1::Campaign& campaign,
                                        const v1::InspectModelRequest& request,
                                        const v1::InspectModelResponse& response);

// Describes a model without error for people: "llama, 134.5 M parameters, 0.27 GB, context 8192".
std::string FactsText(const v1::ModelFacts& facts);

struct LongestPrompt {
  std::string name;  // empty: the request has no prompts
  int64_t tokens = 0;
};
// Of prompts without an answer in them: what a second turn takes is known by its bounds.
LongestPrompt FindLongestPrompt(const v1::InspectModelRequest& request,
                                const v1::InspectModelResponse& response);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_CONFIG_MODEL_RULES_H_
