#include "coordinator/prompt/turn_prompts.h"

#include <cstddef>
#include <string>

#include "coordinator/prompt/nearest_examples.h"
#include "coordinator/prompt/render.h"

namespace whetstone {

WarmupOptions WarmupOptionsOf(const v1::Campaign& campaign,
                              const std::vector<v1::Problem>& problems) {
  const v1::WarmupConfig& warmup = campaign.warmup();
  const std::string& response_prefix = campaign.generate().response_prefix();
  WarmupOptions options;
  options.epochs = warmup.epochs();
  options.batch_size = warmup.batch_size();
  options.seed = campaign.seed();
  options.max_response_chars = static_cast<size_t>(warmup.max_response_chars());
  options.response_prefix = response_prefix;
  options.curriculum = warmup.order() == "curriculum";
  options.nearest = static_cast<size_t>(warmup.nearest());
  options.copies = static_cast<size_t>(warmup.references());
  options.demonstrations = warmup.demonstrations() > 0;
  for (const v1::Problem& problem : problems) {
    options.functions.push_back(problem.reference());
    options.references.push_back(
        ReferenceExample(problem, RenderResponsePrefix(response_prefix, problem)));
  }
  return options;
}

std::vector<std::vector<std::vector<v1::Message>>> TurnPrompts(
    const v1::Campaign& campaign, const std::vector<WorkedExample>& examples,
    const std::vector<v1::Problem>& problems) {
  const WarmupOptions options = WarmupOptionsOf(campaign, problems);
  const auto& hints = campaign.train().hints();
  std::vector<std::vector<WorkedExample>> demonstrations(problems.size());
  if (options.demonstrations) {
    demonstrations = Demonstrations(ChooseExamples(examples, options), options.functions,
                                    static_cast<size_t>(campaign.warmup().demonstrations()));
  }
  std::vector<std::vector<std::vector<v1::Message>>> prompts;
  for (size_t i = 0; i < problems.size(); ++i) {
    const std::vector<v1::Message> messages = RenderMessages(problems[i]);
    prompts.push_back(RenderHinted(messages, {hints.begin(), hints.end()}));
    for (const WorkedExample& example : demonstrations[i]) {
      prompts.back().push_back(RenderDemonstrated(messages, example.prompt_code, example.rewrite));
    }
  }
  return prompts;
}

}  // namespace whetstone
