#include "coordinator/loop/endpoint_approval.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/loopback.h"
#include "common/second_turn.h"
#include "coordinator/durable/search_archive.h"
#include "coordinator/terminal/ask.h"

namespace whetstone {
namespace {

constexpr int64_t kBytesAToken = 4;

bool IsOnThisMachine(absl::string_view url) {
  absl::string_view host = url.substr(url.find("//") + 2);
  host = host.substr(0, host.find('/'));
  const size_t port = host.find(':', host.substr(0, 1) == "[" ? host.find(']') : 0);
  return IsLoopbackHost(host.substr(0, port));
}

int64_t BytesOf(const std::vector<v1::Message>& messages) {
  int64_t bytes = 0;
  for (const v1::Message& message : messages) {
    bytes += static_cast<int64_t>(message.content().size());
  }
  return bytes;
}

// Returns the most tokens of a prompt. A parent is an answer that came, or a program known before;
// one that failed comes with what was wrong with it.
int64_t MostPromptTokens(const CampaignPlan& plan) {
  const bool parents = Searches(plan.campaign);
  int64_t longest = 0;
  for (const PlannedProblem& planned : plan.problems) {
    int64_t bytes = BytesOf(planned.messages);
    for (const auto& hinted : planned.hinted) bytes = std::max(bytes, BytesOf(hinted));
    int64_t parent = parents ? kBytesAToken * plan.campaign.generate().max_new_tokens() : 0;
    for (const KnownProgram& known : planned.known) {
      parent = std::max(parent, static_cast<int64_t>(known.source.size()));
    }
    longest = std::max(longest, bytes + parent);
  }
  if (plan.campaign.search().repairs() > 0) longest += kSecondTurnBytes;
  return longest / kBytesAToken;
}

}  // namespace

std::string EndpointCostText(const CampaignPlan& plan) {
  const v1::Campaign& c = plan.campaign;
  int64_t requests = c.train().steps() * c.train().prompts_per_step() * c.train().group_size();
  for (int64_t position = 0; position <= plan.updates(); ++position) {
    if (!plan.EvaluationDue(position)) continue;
    requests += static_cast<int64_t>(plan.evaluated().size()) * c.eval().samples();
  }
  const int64_t prompt = MostPromptTokens(plan);
  const int64_t answer = c.generate().max_new_tokens();
  std::string text = absl::StrFormat(
      "%s at %s is asked %d times at most, and again where a request fails; up to %d + %d tokens "
      "(prompt + answer) each, %.3g million in all",
      c.policy().model(), c.policy().endpoint(), requests, prompt, answer,
      static_cast<double>(requests * (prompt + answer)) / 1e6);
  if (c.policy().requests_max() > 0) {
    absl::StrAppend(&text, "; policy.requests_max ends it after ", c.policy().requests_max());
  }
  if (c.policy().tokens_max() > 0) {
    absl::StrAppend(&text, "; policy.tokens_max ends it after ", c.policy().tokens_max(),
                    " tokens");
  }
  return text;
}

absl::Status ApproveEndpoint(const CampaignPlan& plan, bool yes, StopSignals* signals,
                             Console* console) {
  const std::string& endpoint = plan.campaign.policy().endpoint();
  if (endpoint.empty()) return absl::OkStatus();
  const std::string cost = EndpointCostText(plan);
  if (yes || IsOnThisMachine(endpoint)) {
    console->Line(cost);
    return absl::OkStatus();
  }
  if (!console->CanAsk()) {
    return absl::FailedPreconditionError(
        absl::StrCat(cost, ". Nobody has approved that; run this again with --yes"));
  }
  if (AskYes(absl::StrCat(cost, ".\nGo on? [y/N]"), signals, console)) return absl::OkStatus();
  return absl::CancelledError("not approved; nothing was asked");
}

}  // namespace whetstone
