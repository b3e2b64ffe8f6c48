#include "coordinator/config/model_rules.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/second_turn.h"
#include "coordinator/config/problem_rules.h"

namespace whetstone {
namespace {

constexpr char kAssistant[] = "assistant";

bool HasAnswer(const v1::NamedPrompt& prompt) {
  return std::any_of(prompt.messages().begin(), prompt.messages().end(),
                     [](const v1::Message& message) { return message.role() == kAssistant; });
}

// Checks that prompt and answer fit into the model's context.
void CheckLengths(const v1::Campaign& campaign, const LongestPrompt& prompt, int64_t context,
                  std::vector<BrokenRule>* broken) {
  const int64_t answer = campaign.generate().max_new_tokens();
  // A parent is an answer that came before; one that failed comes with what was wrong with it.
  const bool repairs = campaign.search().repairs() > 0;
  const bool parents = campaign.search().parents() > 0 || repairs;
  const int64_t room =
      (context - prompt.tokens - (repairs ? kSecondTurnTokens : 0)) / (parents ? 2 : 1);
  const bool generates = campaign.train().steps() > 0 || campaign.has_eval();
  if (answer <= room || !generates) return;
  if (room < 1) {
    broken->push_back(
        {"problems", absl::StrCat("the prompt of ", prompt.name, " has ", prompt.tokens,
                                  " tokens, and the model's context is ", context,
                                  ": no room is left for an answer; leave this problem out")});
    return;
  }
  broken->push_back(
      {"generate.max_new_tokens",
       absl::StrCat(
           answer, " is beyond the model: its context is ", context, " tokens",
           prompt.name.empty() ? ""
                               : absl::StrCat(", and the longest prompt (problem ", prompt.name,
                                              ") has ", prompt.tokens),
           parents ? ", before a parent (search) as long as an answer" : "",
           repairs ? absl::StrCat(" and ", kSecondTurnTokens, " for what was wrong with it") : "",
           "; give at most ", room)});
}

// Returns how an answer goes on that repeats the reference, or the end of it from some line on.
// Empty: none begins with the prefix.
std::string Continuation(const v1::Problem& problem, const std::string& response_prefix) {
  const std::string open_fence = "```cpp";
  const size_t fence = response_prefix.rfind(open_fence);
  if (fence == std::string::npos) return "";
  const std::string begun = response_prefix.substr(fence + open_fence.size());
  const std::string lines = absl::StrCat("\n", problem.reference());
  const size_t at = lines.find(begun);
  return at == std::string::npos ? "" : lines.substr(at + begun.size());
}

}  // namespace

v1::InspectModelRequest InspectRequestOf(const v1::Campaign& campaign) {
  v1::InspectModelRequest request;
  request.set_model(campaign.model());
  request.set_kl_reference(campaign.train().kl_reference());
  request.set_weights_only(!Learns(campaign));
  request.mutable_chat()->set_thinking(campaign.chat().thinking());
  request.mutable_chat()->set_date(campaign.chat().date());
  request.set_deterministic(campaign.deterministic());
  return request;
}

void AddPrompts(const v1::Problem& problem, const std::vector<std::vector<v1::Message>>& prompts,
                const std::string& response_prefix, v1::InspectModelRequest* request) {
  for (const std::vector<v1::Message>& messages : prompts) {
    v1::NamedPrompt* const prompt = request->add_prompts();
    prompt->set_name(problem.id());
    prompt->mutable_messages()->Assign(messages.begin(), messages.end());
    prompt->set_response_prefix(response_prefix);
    prompt->set_continuation(Continuation(problem, response_prefix));
  }
}

std::vector<v1::Message> SecondTurn(const v1::Problem& problem, std::vector<v1::Message> prompt) {
  v1::Message& answer = prompt.emplace_back();
  answer.set_role(kAssistant);
  answer.set_content(AnswerText(problem.reference()));
  v1::Message& failure = prompt.emplace_back();
  failure.set_role("user");
  failure.set_content(MendText(std::string(kFailureBytes, 'x')));
  return prompt;
}

std::vector<BrokenRule> CheckModelRules(const v1::Campaign& campaign,
                                        const v1::InspectModelRequest& request,
                                        const v1::InspectModelResponse& response) {
  std::vector<BrokenRule> broken;
  const v1::ModelFacts& model = response.model();
  if (!model.error().empty()) {
    const bool elsewhere = !campaign.policy().endpoint().empty();
    broken.push_back({elsewhere ? "policy.endpoint" : "model", model.error()});
  }
  if (!response.kl_reference().error().empty()) {
    broken.push_back({"train.kl_reference", response.kl_reference().error()});
  }
  if (!model.error().empty()) return broken;
  // Of a model behind an endpoint the context is not known.
  if (model.context_length() > 0) {
    CheckLengths(campaign, FindLongestPrompt(request, response), model.context_length(), &broken);
  }
  for (int i = 0; i < campaign.generate().stop_ids_size(); ++i) {
    const int64_t id = campaign.generate().stop_ids(i);
    if (id < model.vocab_size()) continue;
    broken.push_back({absl::StrCat("generate.stop_ids[", i, "]"),
                      absl::StrCat(id, " is none of the model's ", model.vocab_size(), " tokens")});
  }
  return broken;
}

std::string FactsText(const v1::ModelFacts& facts) {
  if (facts.parameters() == 0) return facts.family();
  return absl::StrFormat("%s, %.1f M parameters, %.2f GB, context %d", facts.family(),
                         static_cast<double>(facts.parameters()) / 1e6,
                         static_cast<double>(facts.weight_bytes()) / 1e9, facts.context_length());
}

LongestPrompt FindLongestPrompt(const v1::InspectModelRequest& request,
                                const v1::InspectModelResponse& response) {
  LongestPrompt longest;
  const int prompts = std::min(request.prompts_size(), response.prompt_tokens_size());
  for (int i = 0; i < prompts; ++i) {
    const v1::NamedPrompt& prompt = request.prompts(i);
    if (response.prompt_tokens(i) <= longest.tokens || HasAnswer(prompt)) continue;
    longest = {prompt.name(), response.prompt_tokens(i)};
  }
  return longest;
}

}  // namespace whetstone
