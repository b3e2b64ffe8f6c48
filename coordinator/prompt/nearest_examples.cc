#include "coordinator/prompt/nearest_examples.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "coordinator/prompt/identifiers.h"

namespace whetstone {
namespace {

// What a term counts for in one function, or weighs; sorted, so that sums are the same everywhere.
using Terms = std::map<int, double>;

const std::set<std::string, std::less<>>& TypeWords() {
  static const auto* const kWords = new std::set<std::string, std::less<>>{
      "auto",      "bool",     "char",    "const",      "double",      "float",
      "int",       "int16_t",  "int32_t", "int64_t",    "int8_t",      "long",
      "ptrdiff_t", "short",    "signed",  "size_t",     "static",      "uint16_t",
      "uint32_t",  "uint64_t", "uint8_t", "unsigned",   "void",        "volatile",
      "constexpr", "inline",   "std",     "__restrict", "__restrict__"};
  return *kWords;
}

const std::set<std::string, std::less<>>& ControlWords() {
  static const auto* const kWords = new std::set<std::string, std::less<>>{
      "for",  "while", "do",       "if",     "else", "return", "switch",
      "case", "break", "continue", "sizeof", "true", "false",  "goto"};
  return *kWords;
}

bool IsName(absl::string_view token) {
  return IsWordChar(token[0]) && !absl::ascii_isdigit(static_cast<unsigned char>(token[0])) &&
         ControlWords().count(token) == 0;
}

// Returns where the comment that begins at `at` ends; `at` itself if none does.
size_t SkipComment(absl::string_view code, size_t at) {
  const absl::string_view rest = code.substr(at);
  if (absl::StartsWith(rest, "//")) return std::min(code.find('\n', at), code.size());
  if (!absl::StartsWith(rest, "/*")) return at;
  const size_t end = code.find("*/", at + 2);
  return end == absl::string_view::npos ? code.size() : end + 2;
}

// Words, numbers and single other characters; no comments and no blanks.
std::vector<absl::string_view> Tokens(absl::string_view code) {
  std::vector<absl::string_view> tokens;
  for (size_t at = 0; at < code.size();) {
    if (const size_t end = SkipComment(code, at); end != at) {
      at = end;
      continue;
    }
    size_t end = at + 1;
    while (IsWordChar(code[at]) && end < code.size() && IsWordChar(code[end])) ++end;
    if (!absl::ascii_isspace(static_cast<unsigned char>(code[at]))) {
      tokens.push_back(code.substr(at, end - at));
    }
    at = end;
  }
  return tokens;
}

// Numbers the terms of all functions.
class Vocabulary {
 public:
  Terms Count(absl::string_view code) {
    Terms terms;
    std::vector<absl::string_view> body;
    bool in_body = false;
    for (const absl::string_view token : Tokens(code)) {
      in_body = in_body || token == "{";
      if (TypeWords().count(token) > 0) {
        ++terms[NumberOf(absl::StrCat("type ", token))];
      } else if (in_body && token != "{" && token != "}") {
        body.push_back(token);
      }
    }
    for (const size_t length : {2, 4, 6, 8}) {
      for (size_t at = 0; at + length <= body.size(); ++at) {
        ++terms[NumberOf(Shape(body, at, length))];
      }
    }
    return terms;
  }

 private:
  static std::string Shape(const std::vector<absl::string_view>& body, size_t at, size_t length) {
    std::map<absl::string_view, size_t> names;
    std::string shape;
    for (size_t i = at; i < at + length; ++i) {
      if (IsName(body[i])) {
        absl::StrAppend(&shape, " $", names.emplace(body[i], names.size()).first->second);
      } else {
        absl::StrAppend(&shape, " ", body[i]);
      }
    }
    return shape;
  }

  int NumberOf(const std::string& term) {
    return numbers_.emplace(term, static_cast<int>(numbers_.size())).first->second;
  }

  std::unordered_map<std::string, int> numbers_;
};

// Turns counts into weights, scaled to a vector of length 1.
void Weigh(const std::map<int, int>& examples_with, size_t examples, Terms* terms) {
  double squares = 0;
  for (auto& [term, value] : *terms) {
    const auto found = examples_with.find(term);
    const double with = found == examples_with.end() ? 0 : found->second;
    value = (1 + std::log(value)) * std::log((static_cast<double>(examples) + 1) / (with + 1));
    squares += value * value;
  }
  if (squares == 0) return;
  for (auto& [term, value] : *terms) value /= std::sqrt(squares);
}

double Cosine(const Terms& left, const Terms& right) {
  double sum = 0;
  for (const auto& [term, weight] : left) {
    if (const auto found = right.find(term); found != right.end()) sum += weight * found->second;
  }
  return sum;
}

// Returns the indices of all vectors, the nearest first.
std::vector<size_t> ByNearness(const Terms& function, const std::vector<Terms>& vectors) {
  std::vector<std::pair<double, size_t>> far;
  for (size_t i = 0; i < vectors.size(); ++i) far.emplace_back(-Cosine(function, vectors[i]), i);
  std::sort(far.begin(), far.end());
  std::vector<size_t> order;
  for (const auto& [distance, index] : far) order.push_back(index);
  return order;
}

}  // namespace

std::vector<WorkedExample> NearestExamples(const std::vector<WorkedExample>& examples,
                                           const std::vector<std::string>& functions,
                                           size_t count) {
  if (count >= examples.size() || functions.empty()) return examples;
  Vocabulary vocabulary;
  std::vector<Terms> vectors;
  std::map<int, int> examples_with;
  for (const WorkedExample& example : examples) {
    vectors.push_back(vocabulary.Count(example.prompt_code));
    for (const auto& [term, occurrences] : vectors.back()) ++examples_with[term];
  }
  for (Terms& vector : vectors) Weigh(examples_with, examples.size(), &vector);

  std::vector<std::vector<size_t>> orders;
  for (const std::string& function : functions) {
    Terms terms = vocabulary.Count(function);
    Weigh(examples_with, examples.size(), &terms);
    orders.push_back(ByNearness(terms, vectors));
  }
  std::set<size_t> taken;
  std::vector<size_t> next(orders.size(), 0);
  for (size_t turn = 0; taken.size() < count; turn = (turn + 1) % orders.size()) {
    while (!taken.insert(orders[turn][next[turn]++]).second) {
    }
  }
  std::vector<WorkedExample> nearest;
  for (const size_t index : taken) nearest.push_back(examples[index]);
  return nearest;
}

}  // namespace whetstone
