#include <chrono>
#include <cstdio>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "gpu_trainer/cli/cli.h"
#include "gpu_trainer/cli/cli_common.h"
#include "gpu_trainer/engine/engine.h"
#include "gpu_trainer/tokenizer/chat.h"

namespace whetstone {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

struct GenerateOptions {
  std::string model, prompts;
  int samples = 1;
  SamplingSpec sampling;
  uint64_t seed = 0;
  bool deterministic = false;
  bool prompt_lookup = true;
  bool as_json = false;
  int sequences = 0;
  double kv_mib = 0;
  ComputeOptions compute;
};

// A prompt is taken as it is; messages go through the model's chat template.
absl::StatusOr<std::vector<PromptGroupSpec>> ReadPrompts(const GenerateOptions& options,
                                                         const LoadedModel& model,
                                                         const absl::StatusOr<ChatFormat>& chat) {
  std::vector<PromptGroupSpec> groups;
  RETURN_IF_ERROR(ForEachJsonLine(options.prompts, [&](const json& line) -> absl::Status {
    std::string text;
    if (line.contains("messages") == line.contains("prompt")) {
      return absl::InvalidArgumentError("either \"prompt\" or \"messages\" is needed");
    }
    if (line.contains("prompt")) {
      ASSIGN_OR_RETURN(text, StringField(line, "prompt"));
    } else {
      RETURN_IF_ERROR(chat.status());
      ASSIGN_OR_RETURN(const std::vector<ChatMessage> messages, MessagesField(line));
      ASSIGN_OR_RETURN(text, chat->Render(messages, ChatFormat::kGenerate));
    }
    PromptGroupSpec group;
    group.group_index = static_cast<int32_t>(groups.size());
    group.ids = model.tokenizer->Encode(text);
    if (group.ids.empty()) return absl::InvalidArgumentError("the prompt is empty");
    for (int32_t sample = 0; sample < options.samples; ++sample) group.samples.push_back(sample);
    groups.push_back(std::move(group));
    return absl::OkStatus();
  }));
  return groups;
}

void PrintCompletion(const Completion& completion, bool as_json) {
  const char* finish = completion.finish == Completion::Finish::kStop     ? "stop"
                       : completion.finish == Completion::Finish::kLength ? "length"
                                                                          : "deadline";
  if (as_json) {
    PrintLine({{"prompt", completion.group_index},
               {"sample", completion.sample},
               {"ids", completion.ids},
               {"logprobs", completion.logprobs},
               {"text", completion.text},
               {"finish", finish}});
  } else {
    std::printf("--- prompt %d, sample %d, %zu tokens, %s\n%s\n", completion.group_index,
                completion.sample, completion.ids.size(), finish, completion.text.c_str());
    std::fflush(stdout);
  }
}

absl::Status Generate(const GenerateOptions& options) {
  ASSIGN_OR_RETURN(const auto model, LoadModel(options.model, options.compute));
  // A base model has no chat template, which matters only to prompts given as messages.
  const absl::StatusOr<ChatFormat> chat = ChatFormat::Load(options.model);
  GenerateSpec spec;
  spec.seed = options.seed;
  spec.sampling = options.sampling;
  spec.deterministic = options.deterministic;
  spec.memory = {.kv_bytes_max = static_cast<int64_t>(options.kv_mib * (1 << 20)),
                 .sequences_max = options.sequences};
  ASSIGN_OR_RETURN(spec.groups, ReadPrompts(options, *model, chat));
  if (chat.ok()) {
    const std::optional<int32_t> id = model->tokenizer->IdOf(chat->end_of_turn());
    if (id) spec.end_ids.push_back(*id);
  }
  EngineOptions engine_options;
  engine_options.prompt_lookup = options.prompt_lookup;
  Engine engine(model->config, model->weights, *model->tokenizer, engine_options);
  GenerateStatus last;
  const auto begin = std::chrono::steady_clock::now();
  RETURN_IF_ERROR(engine.Generate(
      spec, {.on_completion = [&](const Completion& c) { PrintCompletion(c, options.as_json); },
             .on_progress = [&](const GenerateStatus& status) { last = status; },
             .cancelled = {}}));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double rate = seconds > 0 ? static_cast<double>(last.tokens) / seconds : 0;
  if (options.as_json) {
    PrintLine({{"summary", ordered_json{{"tokens", last.tokens},
                                        {"seconds", seconds},
                                        {"tokens_per_s", rate},
                                        {"steps", last.steps},
                                        {"drafted", last.drafted},
                                        {"accepted", last.accepted}}}});
  } else {
    std::printf("--- %ld tokens in %.2f s: %.1f tokens/s\n", static_cast<long>(last.tokens),
                seconds, rate);
  }
  return absl::OkStatus();
}

}  // namespace

void AddGenerateCommand(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<GenerateOptions>();
  SamplingSpec& sampling = options->sampling;
  CLI::App* command = app.add_subcommand("generate", "Sample completions of prompts");
  command->add_option("--model", options->model, "a Hugging Face directory")->required();
  command
      ->add_option("--prompts", options->prompts,
                   "lines {\"prompt\": \"…\"} or {\"messages\": […]}; - is stdin")
      ->required();
  command->add_option("--n", options->samples, "samples of each prompt")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--max-new-tokens", sampling.max_new_tokens, "longest completion")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command->add_option("--temperature", sampling.temperature, "0: always the likeliest token")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--top-p", sampling.top_p, "share of probability kept; 1: all")
      ->capture_default_str();
  command->add_option("--top-k", sampling.top_k, "tokens kept; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--min-p", sampling.min_p,
                   "tokens less likely than this share of the likeliest go; 0: off")
      ->capture_default_str();
  command
      ->add_option("--repetition-penalty", sampling.penalties.repetition,
                   "as in transformers; 1: off")
      ->capture_default_str();
  command
      ->add_option("--presence-penalty", sampling.penalties.presence,
                   "taken from logits of sampled tokens")
      ->capture_default_str();
  command->add_option("--frequency-penalty", sampling.penalties.frequency, "the same for each time")
      ->capture_default_str();
  command->add_option("--stop", sampling.stop, "a completion ends before this text; repeatable");
  command->add_option("--stop-id", sampling.stop_ids, "a token that ends a completion; repeatable");
  command
      ->add_option("--deadline", sampling.deadline_s,
                   "seconds a completion may decode; 0: no limit")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "of the random numbers")->capture_default_str();
  command->add_flag("--ignore-eos", sampling.ignore_eos, "go on after an end-of-sequence token");
  command->add_flag("--deterministic", options->deterministic,
                    "results do not depend on the batch, bit for bit, on every device");
  command->add_flag("--prompt-lookup,!--no-prompt-lookup", options->prompt_lookup,
                    "guess tokens ahead where that pays (on; changes no result)");
  command
      ->add_option("--kv-mib", options->kv_mib,
                   "most memory for keys and values; 0: half of what is free")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--sequences", options->sequences,
                   "completions decoded together; 0: as many as there is memory for")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_flag("--json", options->as_json, "one JSON object a line");
  AddComputeOptions(command, &options->compute);
  command->callback([options, exit_code] { *exit_code = ExitCode(Generate(*options)); });
}

}  // namespace whetstone
