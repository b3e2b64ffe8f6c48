#include "coordinator/authoring/written_result.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordinator/authoring/code_text.h"
#include "coordinator/authoring/made_again.h"
#include "coordinator/authoring/source_types.h"

namespace whetstone {
namespace {

// Returns where the statement at `at` ends: its ';'.
size_t EndOfStatement(const std::string& masked, size_t at) {
  int depth = 0;
  for (; at < masked.size(); ++at) {
    if (absl::StrContains("({[", masked.substr(at, 1))) ++depth;
    if (absl::StrContains(")}]", masked.substr(at, 1))) --depth;
    if (masked[at] == ';' && depth == 0) return at;
  }
  return std::string::npos;
}

// Gives what the function itself returns to `call`; false: it cannot be told.
bool PassReturns(const CodeText& text, const CppFunction& function, const std::string& call,
                 std::vector<TextEdit>* edits) {
  const std::string& masked = text.masked();
  for (const size_t at : text.OwnReturns(function.open, function.close)) {
    const size_t end = EndOfStatement(masked, at);
    if (end > function.close) return false;
    edits->push_back({at + 6, text.Next(at + 6), absl::StrCat(" ", call, "(")});
    edits->push_back({end, end, ")"});
  }
  return true;
}

}  // namespace

std::optional<ArrayResult> WithWrittenResult(const std::string& code, const CppFunction& function) {
  CodeText text(code);
  const std::string& masked = text.masked();
  const std::optional<FunctionHead> head = HeadOf(text, function);
  if (!head) return std::nullopt;
  const auto& [type, name, open, close] = *head;
  const SourceTypes types(code);
  if (type == "void" || absl::EndsWith(type, "*") || absl::EndsWith(type, "&") ||
      types.IsPlain(type))
    return std::nullopt;
  std::vector<TextEdit> edits;
  if (type == "bool") {
    edits.push_back({function.head, name, "int "});
    if (!PassReturns(text, function, "static_cast<bool>", &edits)) return std::nullopt;
    return ArrayResult{*Edited(code, std::move(edits)), "what it returns (bool) is an int"};
  }
  const std::string given = text.Fresh("result_given");
  const std::optional<WrittenOut> out = WriteOut(type, given, "result", types, &text);
  if (!out) return std::nullopt;
  const std::string write = text.Fresh("write_result");
  edits.push_back({function.head, name, out->length.empty() ? "void " : "size_t "});
  const bool none = absl::StripAsciiWhitespace(masked.substr(open + 1, close - open - 1)).empty();
  edits.push_back(
      {close, close, absl::StrCat(none ? "" : ", ", absl::StrJoin(out->parameters, ", "))});
  edits.push_back(
      {function.open + 1, function.open + 1,
       absl::StrCat("\n  const auto ", write, " = [&](const ", type, "& ", given, ") {", out->code,
                    out->length.empty() ? "" : absl::StrCat(" return ", out->length, ";"), " };")});
  if (!PassReturns(text, function, write, &edits)) return std::nullopt;
  std::optional<std::string> edited = Edited(code, std::move(edits));
  if (!edited) return std::nullopt;
  return ArrayResult{*std::move(edited),
                     absl::StrCat("what it returns (", type, ") is written to arrays (",
                                  absl::StrJoin(out->parameters, ", "), ")",
                                  out->length.empty() ? "" : ", and how long it is is returned")};
}

}  // namespace whetstone
