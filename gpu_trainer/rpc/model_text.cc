#include "gpu_trainer/rpc/model_text.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "gpu_trainer/rpc/request_settings.h"

namespace whetstone {
namespace {

constexpr char kOfOneModel[] =
    "; config.json, tokenizer.json and weights must be those of one model: copy them again";

// Returns the beginning of a text, for a message.
std::string Beginning(const std::string& text) {
  constexpr size_t kShown = 40;
  return absl::StrCat("\"", absl::Utf8SafeCEscape(ToValidUtf8(text.substr(0, kShown))),
                      text.size() > kShown ? "…\"" : "\"");
}

// Returns code, and every printable character of ASCII.
std::string Probe() {
  std::string probe =
      "#include <cstdint>\n\nint64_t sum(const int32_t* a, int n) {\n\tint64_t s = 0;\n"
      "  for (int i = 0; i < n; ++i) s += a[i];\n  return s;\n}\n";
  for (char c = ' '; c <= '~'; ++c) probe += c;
  return probe;
}

// Checks that code survives; some tokenizers put a space before it.
absl::Status CheckRoundTrip(const std::string& directory, const Tokenizer& tokenizer) {
  const std::string probe = Probe();
  const std::string back = tokenizer.Decode(tokenizer.Encode(probe), Tokenizer::kKeepSpecial);
  if (absl::EndsWith(back, probe)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      directory, "/tokenizer.json: text does not survive encoding and decoding: ", Beginning(probe),
      " comes back as ", Beginning(back), kOfOneModel));
}

absl::Status CheckVocabulary(const std::string& directory, const ModelConfig& config,
                             const Tokenizer& tokenizer) {
  if (tokenizer.size() > config.vocab) {
    return absl::InvalidArgumentError(absl::StrCat(
        directory, "/tokenizer.json has token ids up to ", tokenizer.size() - 1,
        ", but the model knows ", config.vocab, " (vocab_size in config.json)", kOfOneModel));
  }
  for (const int32_t id : config.eos_ids) {
    if (id < config.vocab) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(directory, ": the eos_token_id ", id,
                     " of config.json or generation_config.json is none of the model's ",
                     config.vocab, " tokens", kOfOneModel));
  }
  return absl::OkStatus();
}

// Checks that some token ends an answer, or every answer would go on until it is cut off.
absl::Status CheckEnd(const std::string& directory, const ModelConfig& config,
                      const ModelText& text) {
  if (std::any_of(config.eos_ids.begin(), config.eos_ids.end(),
                  [&](int32_t id) { return !text.tokenizer->TokenBytes(id).empty(); })) {
    return absl::OkStatus();
  }
  if (text.chat.ok() && text.tokenizer->IdOf(text.chat->end_of_turn()).has_value()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      directory,
      ": no token ends an answer: tokenizer.json has none of the eos_token_id in config.json and "
      "generation_config.json, nor the chat template's end of turn",
      kOfOneModel));
}

}  // namespace

absl::StatusOr<std::string> ModelText::PromptText(const Messages& messages) const {
  if (!chat.ok()) return chat.status();
  std::vector<ChatMessage> list;
  for (const v1::Message& message : messages) list.push_back({message.role(), message.content()});
  return chat->Render(list, ChatFormat::kGenerate, chat_options);
}

absl::StatusOr<std::vector<int32_t>> ModelText::PromptIds(
    const Messages& messages, const std::string& response_prefix) const {
  ASSIGN_OR_RETURN(const std::string prompt, PromptText(messages));
  return tokenizer->Encode(prompt + response_prefix);
}

absl::StatusOr<ModelText> LoadModelText(const std::string& directory, const ModelConfig& config,
                                        const v1::ChatSettings& chat, bool deterministic) {
  ModelText text;
  ASSIGN_OR_RETURN(text.tokenizer, Tokenizer::Load(directory));
  RETURN_IF_ERROR(CheckVocabulary(directory, config, *text.tokenizer));
  RETURN_IF_ERROR(CheckRoundTrip(directory, *text.tokenizer));
  ASSIGN_OR_RETURN(text.chat_options, ChatOptionsOf(chat));
  text.chat = ChatFormat::Load(directory);
  if (!text.chat.ok() && !absl::IsNotFound(text.chat.status())) return text.chat.status();
  RETURN_IF_ERROR(CheckEnd(directory, config, text));
  if (deterministic && text.chat.ok() && text.chat->can_tell_today() &&
      text.chat_options.date.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the chat template of ", directory,
        " tells the model today's date, and another day the prompts would differ: with "
        "'deterministic', set chat.date, for example \"26 Jul 2024\""));
  }
  return text;
}

absl::StatusOr<std::vector<int32_t>> CheckPrompt(const ModelText& text,
                                                 const ModelText::Messages& messages,
                                                 const std::string& response_prefix,
                                                 const std::string& continuation) {
  ASSIGN_OR_RETURN(const std::string prompt, text.PromptText(messages));
  std::vector<int32_t> ids = text.tokenizer->Encode(prompt + response_prefix);
  const std::string asked = text.tokenizer->Normalized(prompt);
  const std::string back = text.tokenizer->Decode(ids, Tokenizer::kKeepSpecial);
  for (const v1::Message& message : messages) {
    // Templates may strip what surrounds a message.
    const std::string said =
        text.tokenizer->Normalized(absl::StripAsciiWhitespace(message.content()));
    if (!absl::StrContains(asked, said)) {
      return absl::InvalidArgumentError(absl::StrCat("the chat template does not hand on what the ",
                                                     message.role(), " says: ", Beginning(said)));
    }
    if (!absl::StrContains(back, said)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the prompt does not survive encoding and decoding: ", Beginning(said)));
    }
  }
  if (!absl::EndsWith(back, text.tokenizer->Normalized(response_prefix))) {
    return absl::InvalidArgumentError(
        absl::StrCat("the response prefix does not survive encoding and decoding: ",
                     Beginning(response_prefix)));
  }
  const std::vector<int32_t> whole =
      text.tokenizer->Encode(prompt + response_prefix + continuation);
  if (!response_prefix.empty() &&
      (whole.size() < ids.size() || !std::equal(ids.begin(), ids.end(), whole.begin()))) {
    const std::string line = response_prefix.substr(response_prefix.rfind('\n') + 1);
    return absl::InvalidArgumentError(absl::StrCat(
        "the response prefix does not end on a token boundary: its last line, ", Beginning(line),
        ", and what may follow, ", Beginning(continuation), ", share a token; end it elsewhere"));
  }
  return ids;
}

}  // namespace whetstone
