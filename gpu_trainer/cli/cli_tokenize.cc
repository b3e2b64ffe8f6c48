#include "common/status_macros.h"
#include "common/utf8.h"
#include "gpu_trainer/cli/cli.h"
#include "gpu_trainer/cli/cli_common.h"
#include "gpu_trainer/tokenizer/chat.h"

namespace whetstone {
namespace {

// Reads {"thinking": false, "date": "26 Jul 2024"}, both optional.
absl::StatusOr<ChatOptions> ChatOptionsOf(const nlohmann::json& line) {
  ChatOptions options;
  if (line.contains("thinking")) {
    if (!line["thinking"].is_boolean()) {
      return absl::InvalidArgumentError("\"thinking\" is not true or false");
    }
    options.thinking = line["thinking"].get<bool>();
  }
  if (line.contains("date")) {
    ASSIGN_OR_RETURN(options.date, StringField(line, "date"));
  }
  return options;
}

// Prints the text of ids, whole and as it comes token by token; the last piece is what the end
// brings.
absl::Status Detokenize(const Tokenizer& tokenizer, const nlohmann::json& line) {
  ASSIGN_OR_RETURN(const std::vector<int32_t> ids, IdsField(line, "ids"));
  const bool skip = line.contains("skip_special") && line["skip_special"] == true;
  Utf8Stream stream;
  std::vector<std::string> pieces;
  for (const int32_t id : ids) {
    pieces.emplace_back();
    if (!(skip && tokenizer.IsSpecial(id))) stream.Take(tokenizer.TokenBytes(id), &pieces.back());
  }
  pieces.emplace_back();
  stream.Finish(&pieces.back());
  PrintLine(
      {{"text", tokenizer.Decode(ids, skip ? Tokenizer::kSkipSpecial : Tokenizer::kKeepSpecial)},
       {"pieces", pieces}});
  return absl::OkStatus();
}

absl::Status Tokenize(const std::string& model, const std::string& texts) {
  ASSIGN_OR_RETURN(const auto tokenizer, Tokenizer::Load(model));
  const absl::StatusOr<ChatFormat> chat = ChatFormat::Load(model);
  return ForEachJsonLine(texts, [&](const nlohmann::json& line) -> absl::Status {
    if (line.contains("ids")) return Detokenize(*tokenizer, line);
    std::string text;
    if (line.contains("messages")) {
      RETURN_IF_ERROR(chat.status());
      ASSIGN_OR_RETURN(const std::vector<ChatMessage> messages, MessagesField(line));
      ASSIGN_OR_RETURN(const ChatOptions chat_options, ChatOptionsOf(line));
      ASSIGN_OR_RETURN(text, chat->Render(messages, ChatFormat::kGenerate, chat_options));
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
                   "lines {\"text\": \"…\"}, {\"messages\": […]} or {\"ids\": […]}; - is stdin")
      ->required();
  command->callback(
      [options, exit_code] { *exit_code = ExitCode(Tokenize(options->model, options->texts)); });
}

}  // namespace whetstone
