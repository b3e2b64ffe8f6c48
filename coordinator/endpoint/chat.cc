#include "coordinator/endpoint/chat.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/philox.h"
#include "common/utf8.h"

namespace whetstone {
namespace {

using nlohmann::json;

constexpr char kMaxTokens[] = "max_tokens";
constexpr char kMaxCompletionTokens[] = "max_completion_tokens";
constexpr int kJsonDepthMax = 100;

int32_t TokenCount(const json& usage, const char* name) {
  const auto count = usage.find(name);
  if (count == usage.end() || !count->is_number_integer()) return 0;
  if (count->is_number_unsigned() &&
      count->get<uint64_t>() > uint64_t{std::numeric_limits<int32_t>::max()}) {
    return 0;
  }
  const int64_t value = count->get<int64_t>();
  return value < 0 || value > std::numeric_limits<int32_t>::max() ? 0 : static_cast<int32_t>(value);
}

// Returns the texts of an answer's parts, one after the other.
std::string JoinedParts(const json& parts) {
  std::string text;
  for (const json& part : parts) {
    if (!part.is_object()) continue;
    const auto own = part.find("text");
    if (own != part.end() && own->is_string()) text += own->get_ref<const std::string&>();
  }
  return text;
}

// Returns how deep brackets nest outside of strings, in one pass: the parser's own callback looks
// at a value's members again with each of them.
int DepthOf(absl::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

// Returns an answer without what the model thought before it. Some servers leave that in the text.
std::string WithoutThoughts(const std::string& text) {
  constexpr absl::string_view kBegin = "<think>", kEnd = "</think>";
  const size_t end = text.rfind(kEnd.data());
  if (end != std::string::npos) return text.substr(end + kEnd.size());
  const size_t first = text.find_first_not_of(" \n\r\t");
  const bool only_thoughts =
      first != std::string::npos && text.compare(first, kBegin.size(), kBegin.data()) == 0;
  return only_thoughts ? "" : text;
}

absl::Status NoChatCompletion() { return absl::InvalidArgumentError("no chat completion"); }

}  // namespace

bool Dialect::Drop(const std::string& parameter) {
  if (parameter == kMaxTokens && !Takes(kMaxCompletionTokens)) return false;
  if (parameter == kMaxCompletionTokens && !Takes(kMaxTokens)) return false;
  return dropped_.insert(parameter).second;
}

json ChatParameters(const ChatQuery& query, const Dialect& dialect) {
  json parameters = json::object();
  const auto add = [&](const char* name, bool on, json value) {
    if (on && dialect.Takes(name)) parameters[name] = std::move(value);
  };
  const v1::SamplingParams& sampling = query.sampling;
  const bool bounded = sampling.max_new_tokens() > 0;
  add(kMaxCompletionTokens, bounded, sampling.max_new_tokens());
  add(kMaxTokens, bounded, sampling.max_new_tokens());
  add("temperature", true, sampling.temperature());
  add("seed", true, query.seed);
  json stop = json::array();
  for (const std::string& text : sampling.stop()) stop.push_back(text);
  add("stop", !stop.empty(), stop);
  add("top_p", sampling.top_p() > 0 && sampling.top_p() < 1, sampling.top_p());
  add("presence_penalty", sampling.presence_penalty() != 0, sampling.presence_penalty());
  add("frequency_penalty", sampling.frequency_penalty() != 0, sampling.frequency_penalty());
  // These are no part of OpenAI's API, but common.
  add("top_k", sampling.top_k() > 0, sampling.top_k());
  add("min_p", sampling.min_p() > 0, sampling.min_p());
  add("repetition_penalty",
      sampling.repetition_penalty() != 0 && sampling.repetition_penalty() != 1,
      sampling.repetition_penalty());
  return parameters;
}

std::string ChatBody(const ChatQuery& query, const std::string& model, const Dialect& dialect) {
  json body = ChatParameters(query, dialect);
  body["model"] = model;
  json& messages = body["messages"] = json::array();
  for (const v1::Message& message : query.messages) {
    messages.push_back({{"role", message.role()}, {"content", message.content()}});
  }
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

uint32_t SampleSeed(uint64_t seed, int64_t step, int32_t group_index, int32_t sample) {
  constexpr uint64_t kStream = 0x656e64706f696e74;  // "endpoint"
  Philox rng(seed, {static_cast<uint64_t>(step), static_cast<uint64_t>(group_index),
                    static_cast<uint64_t>(sample), kStream});
  return rng.Next32() >> 1;
}

json ParseServerJson(absl::string_view body) {
  // The parser keeps its levels on the heap, but nothing else that is done with a value does.
  if (DepthOf(body) > kJsonDepthMax) return json(json::value_t::discarded);
  return json::parse(ToValidUtf8(body), /*cb=*/nullptr, /*allow_exceptions=*/false);
}

absl::StatusOr<ChatAnswer> ParseChatAnswer(absl::string_view body) {
  const json root = ParseServerJson(body);
  if (!root.is_object()) return NoChatCompletion();
  const auto choices = root.find("choices");
  if (choices == root.end() || !choices->is_array() || choices->empty()) return NoChatCompletion();
  const json& choice = choices->front();
  if (!choice.is_object()) return NoChatCompletion();
  const auto message = choice.find("message");
  if (message == choice.end() || !message->is_object()) return NoChatCompletion();

  ChatAnswer answer;
  const auto content = message->find("content");
  if (content != message->end()) {
    if (content->is_string()) {
      answer.text = content->get<std::string>();
    } else if (content->is_array()) {
      answer.text = JoinedParts(*content);
    } else if (!content->is_null()) {
      return NoChatCompletion();
    }
  }
  answer.bytes = answer.text.size();
  answer.text = WithoutThoughts(answer.text);
  const auto reason = choice.find("finish_reason");
  const auto error = choice.find("error");
  if ((error != choice.end() && !error->is_null()) ||
      (reason != choice.end() && *reason == "error")) {
    return NoChatCompletion();  // broken off in the middle
  }
  if (reason != choice.end() && (*reason == "length" || *reason == "content_filter")) {
    answer.finish = v1::Completion::LENGTH;
  }
  std::erase(answer.text, '\0');
  if (answer.text.size() > kTextBytesMax) {
    size_t end = kTextBytesMax;
    while ((static_cast<unsigned char>(answer.text[end]) & 0xC0) == 0x80) --end;
    answer.text.resize(end);
    answer.finish = v1::Completion::LENGTH;
  }
  const auto usage = root.find("usage");
  if (usage != root.end() && usage->is_object()) {
    answer.prompt_tokens = TokenCount(*usage, "prompt_tokens");
    answer.completion_tokens = TokenCount(*usage, "completion_tokens");
  }
  return answer;
}

}  // namespace whetstone
