#include "gpu_trainer/tokenizer/chat.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "gpu_trainer/tokenizer/jinja/jinja.h"

namespace whetstone {
namespace {

using jinja::Value;
using nlohmann::json;

// Returns bos_token and the like, which templates name. A token is written as text or as an object.
std::map<std::string, Value> SpecialTokens(const json& config) {
  std::map<std::string, Value> tokens;
  for (const char* key : {"bos_token", "eos_token", "pad_token", "unk_token"}) {
    if (!config.contains(key)) continue;
    const json& token = config[key];
    if (token.is_string()) tokens[key] = Value::Of(token.get<std::string>());
    if (token.is_object() && token.contains("content") && token["content"].is_string()) {
      tokens[key] = Value::Of(token["content"].get<std::string>());
    }
  }
  return tokens;
}

// Returns the template's source, or nothing if there is none. Of several named ones it is the one
// called "default".
std::string TemplateOf(const json& config) {
  if (!config.contains("chat_template")) return "";
  const json& value = config["chat_template"];
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) {
    for (const json& entry : value) {
      if (entry.is_object() && entry.value("name", "") == "default") {
        return entry.value("template", "");
      }
    }
  }
  return "";
}

}  // namespace

struct ChatFormat::Format {
  JinjaTemplate program;
  std::map<std::string, Value> variables;
};

absl::StatusOr<ChatFormat> ChatFormat::Load(const std::string& directory) {
  const std::string config_path = directory + "/tokenizer_config.json";
  const std::string jinja_path = directory + "/chat_template.jinja";
  json config = json::object();
  if (std::filesystem::exists(config_path)) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(config_path));
    config = json::parse(text, nullptr, false);
    if (config.is_discarded() || !config.is_object()) {
      return absl::InvalidArgumentError(
          absl::StrCat(config_path, " is not a JSON object: damaged? Copy or download it again."));
    }
  }
  std::string where = config_path, source;
  try {
    source = TemplateOf(config);
  } catch (const json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(config_path, ": ", error.what()));
  }
  if (std::filesystem::exists(jinja_path)) {  // It wins over the config, as in transformers.
    where = jinja_path;
    ASSIGN_OR_RETURN(source, ReadFile(jinja_path));
  }
  if (source.empty()) {
    return absl::NotFoundError(
        absl::StrCat(directory,
                     " has no chat template (chat_template.jinja, or chat_template in "
                     "tokenizer_config.json); use an instruction-tuned model"));
  }
  auto program = JinjaTemplate::Parse(source);
  if (!program.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": chat template: ", program.status().message()));
  }
  ChatFormat chat;
  chat.format_ = std::make_shared<const Format>(Format{*std::move(program), SpecialTokens(config)});
  chat.can_tell_today_ = absl::StrContains(source, "strftime_now");

  // What follows an answer is the end of turn; where nothing does, the eos token.
  const std::string answer =
      "\x01"
      "answer"
      "\x01";
  const auto closed = chat.Render({{"user", "x"}, {"assistant", answer}}, kClosed);
  if (!closed.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": ", closed.status().message()));
  }
  const size_t at = closed->rfind(answer);
  if (at != std::string::npos) {
    const std::string rest(absl::StripAsciiWhitespace(closed->substr(at + answer.size())));
    chat.end_of_turn_ = rest.substr(0, rest.find_first_of(" \t\r\n"));
  }
  const auto eos = chat.format_->variables.find("eos_token");
  if (chat.end_of_turn_.empty() && eos != chat.format_->variables.end()) {
    chat.end_of_turn_ = eos->second.text;
  }
  return chat;
}

absl::StatusOr<std::string> ChatFormat::Render(const std::vector<ChatMessage>& messages,
                                               Ending ending, const ChatOptions& options) const {
  if (messages.empty()) return absl::InvalidArgumentError("a chat without messages");
  Value::List list;
  for (const ChatMessage& message : messages) {
    list.push_back(Value::OfDict(
        {{"role", Value::Of(message.role)}, {"content", Value::Of(message.content)}}));
  }
  std::map<std::string, Value> variables = format_->variables;
  variables["messages"] = Value::OfList(std::move(list));
  variables["add_generation_prompt"] = Value::Of(ending == kGenerate);
  if (options.thinking) variables["enable_thinking"] = Value::Of(*options.thinking);
  if (!options.date.empty()) variables["date_string"] = Value::Of(options.date);
  variables["tools"] = Value::None();
  variables["documents"] = Value::None();
  auto text = format_->program.Render(variables);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("chat template: ", text.status().message()));
  }
  return text;
}

}  // namespace whetstone
