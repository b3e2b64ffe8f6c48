#include "coordinator/prompt/render.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/problem/struct_type.h"
#include "coordinator/prompt/identifiers.h"
#include "coordinator/prompt/signature.h"

namespace whetstone {
namespace {
constexpr char kRequest[] =
    "Rewrite this function so that it runs faster. Keep its name and signature.";

// Returns the place behind the parenthesis that closes the one at `open`; npos: none does.
size_t BehindClosing(absl::string_view code, size_t open) {
  int depth = 0;
  for (size_t at = open; at < code.size(); ++at) {
    depth += code[at] == '(' ? 1 : code[at] == ')' ? -1 : 0;
    if (depth == 0) return at + 1;
  }
  return absl::string_view::npos;
}

}  // namespace

std::vector<v1::Message> RenderMessages(absl::string_view prose, absl::string_view code) {
  v1::Message message;
  message.set_role("user");
  message.set_content(
      absl::StrCat(prose, prose.empty() ? "" : "\n\n", kRequest, "\n```cpp\n", code, "\n```"));
  return {message};
}

std::vector<v1::Message> RenderMessages(const v1::Problem& problem) {
  const std::string structs = StructText(problem);
  if (structs.empty()) return RenderMessages(problem.prose(), problem.reference());
  // What stood above the function in the file may be blank now (WithoutStructs).
  return RenderMessages(
      problem.prose(),
      absl::StrCat(structs, "\n", absl::StripLeadingAsciiWhitespace(problem.reference())));
}

std::vector<std::vector<v1::Message>> RenderHinted(const std::vector<v1::Message>& messages,
                                                   const std::vector<std::string>& hints) {
  std::vector<std::vector<v1::Message>> prompts;
  for (const std::string& hint : hints) {
    std::vector<v1::Message>& prompt = prompts.emplace_back(messages);
    if (!hint.empty()) absl::StrAppend(prompt.back().mutable_content(), "\n", hint);
  }
  return prompts;
}

std::string SignatureText(absl::string_view code, absl::string_view name) {
  for (size_t at = code.find(name); at != absl::string_view::npos; at = code.find(name, at + 1)) {
    const size_t open = code.find_first_not_of(' ', at + name.size());
    if (at > 0 && IsWordChar(code[at - 1])) continue;
    if (open == absl::string_view::npos || code[open] != '(') continue;
    const size_t end = BehindClosing(code, open);
    if (end == absl::string_view::npos) continue;
    if (!absl::StartsWith(absl::StripLeadingAsciiWhitespace(code.substr(end)), "{")) continue;
    const size_t line = code.rfind('\n', at) + 1;  // the text's beginning behind npos
    return std::string(code.substr(line, end - line));
  }
  return "";
}

std::string RenderResponsePrefix(absl::string_view response_prefix, absl::string_view signature) {
  return absl::StrReplaceAll(response_prefix, {{kSignatureWord, signature}});
}

std::string RenderResponsePrefix(absl::string_view response_prefix, const v1::Problem& problem) {
  const absl::StatusOr<Signature> signature = ParseSignature(problem);
  const std::string text =
      signature.ok() ? SignatureText(problem.reference(), signature->name) : std::string();
  return RenderResponsePrefix(response_prefix, text.empty() ? problem.signature() : text);
}

std::string RenderAnswer(absl::string_view code) { return absl::StrCat("```cpp\n", code, "\n```"); }

}  // namespace whetstone
