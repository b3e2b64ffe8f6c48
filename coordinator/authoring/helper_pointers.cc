#include "coordinator/authoring/helper_pointers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "coordinator/authoring/given_parameter.h"
#include "coordinator/prompt/identifiers.h"

namespace whetstone {
namespace {

constexpr size_t kNoText = std::string::npos;

// Returns where a word stands in code.
std::vector<size_t> PlacesOf(const std::string& masked, const std::string& word) {
  std::vector<size_t> places;
  for (size_t at = FindWord(masked, word, 0); at != kNoText; at = FindWord(masked, word, at + 1))
    places.push_back(at);
  return places;
}

}  // namespace

std::optional<HelperPointers::Call> HelperPointers::CallAround(size_t use) const {
  const std::string& masked = text_.masked();
  const char before = masked[text_.Before(use)];
  const char behind = masked[text_.Next(text_.WordEnd(use))];
  if ((before != '(' && before != ',') || (behind != ')' && behind != ',')) return std::nullopt;
  Call call;
  int depth = 0;
  for (size_t at = use; at-- > 0;) {
    const char c = masked[at];
    if (c == ';' || c == '{' || c == '}') return std::nullopt;
    if (c == ')' || c == ']') ++depth;
    if (c == ',' && depth == 0) ++call.argument;
    if ((c != '(' && c != '[') || depth-- > 0) continue;
    size_t begin = text_.Before(at) + 1;
    const size_t end = begin;
    while (begin > 0 && IsWordChar(masked[begin - 1])) --begin;
    call.helper = masked.substr(begin, end - begin);
    call.name = begin;
    return c == '(' && !call.helper.empty() ? std::optional(call) : std::nullopt;
  }
  return std::nullopt;
}

bool HelperPointers::TakePointer(size_t use) {
  const std::optional<Call> call = CallAround(use);
  if (!call) return false;
  calls_[call->helper].push_back(call->name);
  const auto known = argument_of_.find(call->helper);
  // One that has it twice is left alone.
  if (known != argument_of_.end()) return known->second == call->argument;
  return Convert(call->helper, call->argument);
}

bool HelperPointers::Convert(const std::string& helper, size_t argument) {
  const std::string& masked = text_.masked();
  argument_of_[helper] = argument;
  size_t open = kNoText, close = kNoText;
  for (const size_t at : PlacesOf(masked, helper)) {
    const size_t begin = text_.Next(at + helper.size());
    const size_t end = masked[begin] == '(' ? text_.Closing(begin) : kNoText;
    if (end == kNoText || end + 1 >= masked.size() || masked[text_.Next(end + 1)] != '{') continue;
    if (open != kNoText) return false;  // two of that name
    definition_of_[helper] = at;
    open = begin;
    close = end;
  }
  if (open == kNoText) return false;
  const std::vector<std::string> parameters =
      SplitParameters(masked.substr(open + 1, close - open - 1));
  if (argument >= parameters.size()) return false;
  size_t begin = open + 1;
  for (size_t i = 0; i < argument; ++i) begin += parameters[i].size() + 1;
  const GivenParameter given = ReadParameter(parameters[argument]);
  const GivenType type = ReadGivenType(given.type);
  if (given.name.empty() || type.core != "vector" || !type.is_const || !type.reference ||
      type.element != element_)
    return false;
  edits_.push_back({begin, begin + parameters[argument].size(),
                    absl::StrCat(argument > 0 ? " " : "", "const ", element_, "* ", given.name)});
  const size_t body = text_.Next(close + 1);
  const size_t end = text_.ClosingBrace(body);
  if (text_.CopyingLambda(body, end) != kNoText) return false;
  const auto uses = text_.UsesOf(given.name, body, end);
  return uses && std::all_of(uses->begin(), uses->end(), [&](size_t use) {
           return masked[text_.Next(use + given.name.size())] == '[' || TakePointer(use);
         });
}

bool HelperPointers::AreAllCallsKnown() const {
  return std::all_of(argument_of_.begin(), argument_of_.end(), [&](const auto& each) {
    const auto calls = calls_.find(each.first);
    const std::vector<size_t> places = PlacesOf(text_.masked(), each.first);
    return std::all_of(places.begin(), places.end(), [&](size_t place) {
      const auto definition = definition_of_.find(each.first);
      return (definition != definition_of_.end() && place == definition->second) ||
             std::count(calls->second.begin(), calls->second.end(), place) > 0;
    });
  });
}

}  // namespace whetstone
