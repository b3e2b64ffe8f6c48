#include "common/status_macros.h"
#include "gpu_trainer/cli_common.h"
#include "gpu_trainer/tokenizer/chat.h"

namespace whetstone {
namespace {

absl::Status Tokenize(const std::string& model, const std::string& texts) {
  ASSIGN_OR_RETURN(const auto tokenizer, Tokenizer::Load(model));
  const absl::StatusOr<ChatFormat> chat = ChatFormat::Load(model);
  return ForEachJsonLine(texts, [&](const nlohmann::json& line) -> absl::Status {
    std::string text;
    if (line.contains("messages")) {
      RETURN_IF_ERROR(chat.status());
      ASSIGN_OR_RETURN(const std::vector<ChatMessage> messages, MessagesField(line));
      ASSIGN_OR_RETURN(text, chat->Render(messages, ChatFormat::kGenerate));
    } else {
      ASSIGN_OR_RETURN(text, StringField(line, "text"));
    }
    const std::vector<int32_t> ids = tokenizer->Encode(text);
    PrintLine({{"ids", ids}, {"text", tokenizer->Decode(ids, Tokenizer::kKeepSpecial)}});
    return absl::OkStatus();
  });
}

}  // namespace

void AddTokenizeCommand(CLI::App& app, int* exit_code) {
  struct Options {
    std::string model, texts;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("tokenize", "Text to token ids and back");
  command->add_option("--model", options->model, "a Hugging Face directory")->required();
  command
      ->add_option("--texts", options->texts,
                   "lines {\"text\": \"…\"} or {\"messages\": […]}; - is stdin")
      ->required();
  command->callback(
      [options, exit_code] { *exit_code = ExitCode(Tokenize(options->model, options->texts)); });
}

}  // namespace whetstone
