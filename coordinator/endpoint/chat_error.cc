#include "coordinator/endpoint/chat_error.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/utf8.h"
#include "coordinator/endpoint/chat.h"

namespace whetstone {
namespace {

using nlohmann::json;

constexpr size_t kMessageCharacters = 300;

// Returns a member that is a string, or "".
std::string StringIn(const json& object, const char* name) {
  if (!object.is_object()) return "";
  const auto member = object.find(name);
  return member != object.end() && member->is_string() ? member->get<std::string>() : "";
}

// A Complaint is what an error's body says, in the words of whichever server.
struct Complaint {
  std::vector<std::string> parameters;  // named as such
  std::vector<std::string> messages;
  bool silent = false;  // it has no message but the whole body
};

// Reads FastAPI's list of details, [{"loc": ["body", "seed"], "msg": "Extra inputs…"}].
void ReadDetails(const json& details, Complaint* complaint) {
  for (const json& detail : details) {
    if (!detail.is_object()) continue;
    std::vector<std::string> path;
    const auto location = detail.find("loc");
    if (location != detail.end() && location->is_array()) {
      for (const json& step : *location) {
        if (!step.is_string() || step == "body") continue;
        path.push_back(step.get<std::string>());
        complaint->parameters.push_back(path.back());
      }
    }
    const std::string message = StringIn(detail, "msg");
    if (message.empty()) continue;
    complaint->messages.push_back(
        path.empty() ? message : absl::StrCat(absl::StrJoin(path, "."), ": ", message));
  }
}

Complaint ReadComplaint(const std::string& body) {
  Complaint complaint;
  const json root = ParseServerJson(body);
  if (!root.is_object()) {
    complaint.messages.push_back(body);
    return complaint;
  }
  const auto error = root.find("error");
  const json& of = error != root.end() && error->is_object() ? *error : root;
  if (const std::string parameter = StringIn(of, "param"); !parameter.empty()) {
    complaint.parameters.push_back(parameter);
  }
  for (const std::string& message :
       {StringIn(of, "message"), StringIn(root, "error"), StringIn(root, "detail")}) {
    if (!message.empty()) complaint.messages.push_back(message);
  }
  // A provider behind a provider.
  if (const auto metadata = of.find("metadata"); metadata != of.end()) {
    const std::string raw = StringIn(*metadata, "raw");
    const json inner = ParseServerJson(raw);
    const bool has_error = inner.is_object() && inner.contains("error");
    const json& said = has_error ? inner["error"] : inner;
    if (const std::string parameter = StringIn(said, "param"); !parameter.empty()) {
      complaint.parameters.push_back(parameter);
    }
    const std::string message = StringIn(said, "message");
    if (!raw.empty()) complaint.messages.push_back(message.empty() ? raw : message);
  }
  const auto detail = root.find("detail");
  if (detail != root.end() && detail->is_array()) ReadDetails(*detail, &complaint);
  complaint.silent = complaint.messages.empty();
  if (complaint.silent) complaint.messages.push_back(body);
  return complaint;
}

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool IsQuote(char c) { return c == '\'' || c == '"' || c == '`'; }

// Returns where the message has the name as a word of its own, or npos.
size_t FindName(const std::string& message, const std::string& name) {
  for (size_t at = message.find(name); at != std::string::npos; at = message.find(name, at + 1)) {
    const char before = at > 0 ? message[at - 1] : ' ';
    const size_t end = at + name.size();
    const char after = end < message.size() ? message[end] : ' ';
    if (IsNameCharacter(before) || IsNameCharacter(after)) continue;
    if (name == "stop" && !(IsQuote(before) && IsQuote(after))) continue;
    return at;
  }
  return std::string::npos;
}

// Returns whether a server says that it does not take something, in one of the usual words.
bool SaysUnknown(const std::string& text) {
  const std::string lower = absl::AsciiStrToLower(text);
  for (const char* word :
       {"unsupported", "not support", "unknown", "unrecognized", "not recognized", "unexpected",
        "extra", "not permitted", "not allowed", "not implemented", "not accept", "valid parameter",
        "invalid parameter", "duplicate", "same time", "cannot both", "give one", "not available",
        "deprecated"}) {
    if (absl::StrContains(lower, word)) return true;
  }
  // They say the same, and some servers take only one of them.
  return FindName(text, "max_tokens") != std::string::npos &&
         FindName(text, "max_completion_tokens") != std::string::npos;
}

// Returns the parameter that is named first in the text, of those that were sent.
std::optional<std::string> FirstNamed(const std::string& text, const json& parameters) {
  std::optional<std::string> first;
  size_t first_at = std::string::npos;
  for (const auto& [name, value] : parameters.items()) {
    const size_t at = FindName(text, name);
    if (at >= first_at) continue;
    first_at = at;
    first = name;
  }
  if (first == "max_completion_tokens" && parameters.contains("max_tokens") &&
      FindName(text, "max_tokens") != std::string::npos) {
    first = "max_tokens";
  }
  return first;
}

}  // namespace

std::string OneLine(absl::string_view text, size_t characters) {
  std::string line;
  bool space = false;
  size_t count = 0;
  while (!text.empty()) {
    const Utf8Step step = DecodeUtf8(text);
    text.remove_prefix(step.bytes);
    // Controls of C1, and those that turn the direction of writing, are no more printable than C0.
    const bool invisible = step.code <= 0x20 || (step.code >= 0x7F && step.code <= 0xA0) ||
                           (step.code >= 0x2028 && step.code <= 0x202E) ||
                           (step.code >= 0x2066 && step.code <= 0x2069);
    if (invisible) {
      space = !line.empty();
      continue;
    }
    if (count + (space ? 1 : 0) >= characters) return line + "…";
    if (std::exchange(space, false)) {
      line += ' ';
      ++count;
    }
    AppendUtf8(step.code, &line);
    ++count;
  }
  return line;
}

std::string ServerMessage(const std::string& body) {
  return OneLine(absl::StrJoin(ReadComplaint(body).messages, "; "), kMessageCharacters);
}

std::optional<std::string> RefusedParameter(const HttpResponse& response, const json& parameters) {
  for (const int status : {400, 422, 500, 501}) {
    if (response.status != status) continue;
    const Complaint complaint = ReadComplaint(response.body);
    std::string text = absl::StrJoin(complaint.messages, "; ");
    text.resize(std::min(text.size(), text.find("'input':")));  // the request itself, repeated
    // A value that is out of range is not a parameter that the server does not know.
    if (!complaint.silent && !SaysUnknown(text)) return std::nullopt;
    for (const std::string& name : complaint.parameters) {
      if (parameters.contains(name)) return name;
    }
    return FirstNamed(text, parameters);
  }
  return std::nullopt;
}

int StatusInBody(const HttpResponse& response) {
  if (response.status < 200 || response.status >= 300) return response.status;
  const json root = ParseServerJson(response.body);
  const auto error = root.is_object() ? root.find("error") : root.end();
  if (error == root.end() || !error->is_object()) return response.status;
  const auto code = error->find("code");
  const bool is_status = code != error->end() && code->is_number_unsigned() &&
                         code->get<uint64_t>() >= 400 && code->get<uint64_t>() < 600;
  return is_status ? code->get<int>() : 502;
}

bool RefusesThePrompt(const HttpResponse& response) {
  if (response.status != 400 && response.status != 403) return false;
  const json root = ParseServerJson(response.body);
  if (!root.is_object() || !root.contains("error")) return false;
  const json& error = root["error"];
  if (error.is_object() && error.contains("metadata") && error["metadata"].is_object() &&
      error["metadata"].contains("flagged_input")) {
    return true;
  }
  const std::string code = StringIn(error, "code");
  for (const char* about_it : {"content_filter", "content_policy_violation", "invalid_prompt"}) {
    if (code == about_it) return true;
  }
  return false;
}

absl::Status StatusOfResponse(const HttpResponse& response, const std::string& url,
                              const std::string& model) {
  const std::string said = ServerMessage(response.body);
  const std::string answer =
      absl::StrCat(url, " answers ", response.status, said.empty() ? "" : absl::StrCat(": ", said));
  switch (response.status) {
    case 401:
      return absl::UnauthenticatedError(
          absl::StrCat(answer, "; see to the key (policy.key_env or policy.key_file)"));
    case 403:
      return absl::PermissionDeniedError(
          absl::StrCat(answer, "; the key may not use the model '", model, "' there"));
    case 404:
      return absl::InvalidArgumentError(
          absl::StrCat(answer,
                       "; either the path of policy.endpoint is wrong (it mostly ends with "
                       "/v1) or the server has no model '",
                       model, "'"));
    case 429:
      // Waiting brings no money.
      if (absl::StrContains(response.body, "insufficient_quota")) {
        return absl::ResourceExhaustedError(answer);
      }
      return absl::UnavailableError(answer);
    case 408:
    case 409:
    case 424:
    case 425:
    case 498:
      return absl::UnavailableError(answer);
    default:
      break;
  }
  if (response.status >= 500) return absl::UnavailableError(answer);
  if (response.status >= 300 && response.status < 400) {
    return absl::InvalidArgumentError(
        absl::StrCat(url, " answers ", response.status,
                     ", a redirect, which is not followed; give policy.endpoint the URL that it "
                     "leads to"));
  }
  return absl::InvalidArgumentError(answer);
}

}  // namespace whetstone
