#include "coordinator/config/problem_rules.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"

namespace whetstone {

bool Learns(const v1::Campaign& campaign) {
  return campaign.has_warmup() || (campaign.train().steps() > 0 && !campaign.train().frozen());
}

absl::Status CheckProblemRules(const v1::Campaign& campaign, const RuleChecks& rules) {
  const v1::EvalConfig& eval = campaign.eval();
  const bool only_evaluates =
      campaign.has_eval() && !campaign.has_warmup() && campaign.train().steps() == 0;
  if (campaign.problems().empty() && !only_evaluates) {
    return rules.Wrong("problems", "is missing: at least one prompt file");
  }
  if (campaign.has_eval() && eval.problems().empty()) {
    return rules.Wrong("eval.problems",
                       "is missing: prompt files held out of training, or a folder of them, such "
                       "as prompts/valid (leave out 'eval' for no evaluation)");
  }
  // A problem that is trained on is not held out.
  std::set<std::string> seen;
  for (const auto& [list, files] : {std::pair("problems", &campaign.problems()),
                                    std::pair("eval.problems", &eval.problems())}) {
    for (int i = 0; i < files->size(); ++i) {
      const std::string key = absl::StrCat(list, "[", i, "]");
      if ((*files)[i].empty()) return rules.Wrong(key, "is empty");
      if (!seen.insert((*files)[i]).second) {
        return rules.Wrong(key, absl::StrCat("names ", (*files)[i], " a second time"));
      }
    }
  }
  const std::string& best_by = campaign.checkpoint().best_by();
  if (campaign.has_eval() || best_by == "reward") return absl::OkStatus();
  return rules.Wrong("checkpoint.best_by", "is eval, and nothing is evaluated: give 'eval' too");
}

}  // namespace whetstone
