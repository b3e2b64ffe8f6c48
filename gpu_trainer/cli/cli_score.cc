#include "common/status_macros.h"
#include "gpu_trainer/cli/cli.h"
#include "gpu_trainer/cli/cli_common.h"
#include "gpu_trainer/engine/engine.h"

namespace whetstone {
namespace {

struct ScoreOptions {
  std::string model, tokens;
  ComputeOptions compute;
};

absl::Status Score(const ScoreOptions& options) {
  ASSIGN_OR_RETURN(const auto model, LoadModel(options.model, options.compute));
  Engine engine(model->config, model->weights, *model->tokenizer);
  return ForEachJsonLine(options.tokens, [&](const nlohmann::json& line) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<int32_t> ids, IdsField(line, "ids"));
    ASSIGN_OR_RETURN(const std::vector<float> logprobs, engine.Score(ids));
    PrintLine({{"logprobs", logprobs}});
    return absl::OkStatus();
  });
}

}  // namespace

void AddScoreCommand(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<ScoreOptions>();
  CLI::App* command = app.add_subcommand("score", "Log-probability of every token after the first");
  command->add_option("--model", options->model, "a Hugging Face directory")->required();
  command->add_option("--tokens", options->tokens, "lines {\"ids\": […]}; - is stdin")->required();
  AddComputeOptions(command, &options->compute);
  command->callback([options, exit_code] { *exit_code = ExitCode(Score(*options)); });
}

}  // namespace whetstone
