#include "coordinator/durable/campaign_plan_testing.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "coordinator/config/campaign_parser.h"

namespace whetstone {

CampaignPlan MakeTestPlan(const TestPlanOptions& options) {
  CampaignPlan plan;
  std::vector<std::string> sets = {"checkpoint.every=2", "train.lr_schedule=cosine"};
  sets.insert(sets.end(), options.sets.begin(), options.sets.end());
  plan.campaign =
      *ParseCampaign("name: sim\nmodel: /model\nproblems: [a.md, b.md]\n", "sim", "/", sets);
  plan.campaign.mutable_train()->set_steps(options.steps);
  plan.campaign.mutable_train()->set_group_size(options.group_size);
  plan.campaign.mutable_train()->set_prompts_per_step(options.prompts_per_step);
  plan.campaign_id = "sim-1";
  plan.checkpoint_dir = "/ckpt";
  std::vector<std::string> ids = {"a", "b"};
  for (const std::string& file : plan.campaign.eval().problems()) {
    ids.push_back(std::filesystem::path(file).stem().string());
  }
  for (const std::string& id : ids) {
    PlannedProblem planned;
    planned.problem.set_id(id);
    planned.problem.mutable_limits()->set_total_s(30);
    planned.hash = absl::StrCat("hash-", id);
    v1::Message message;
    message.set_role("user");
    message.set_content(id);
    planned.messages = {message};
    plan.problems.push_back(planned);
  }
  for (int64_t i = 0; i < options.warmup; ++i) {
    v1::SftExample example;
    example.set_response(absl::StrCat("answer ", i));
    plan.warmup.push_back({example});
  }
  return plan;
}

}  // namespace whetstone
