#include "coordinator/prompt/fill.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/nearest.h"
#include "common/problem/expression.h"
#include "common/status_macros.h"
#include "coordinator/prompt/signature.h"

namespace whetstone {
namespace {

constexpr int kAnyNumber = -1;  // of parameters, but one at least

struct FillRule {
  const char* name;
  v1::Fill::Kind kind;
  int parameters;
  const char* usage;
};

constexpr FillRule kRules[] = {
    {"uniform", v1::Fill::UNIFORM, 2, "uniform(lo, hi)"},
    {"normal", v1::Fill::NORMAL, 2, "normal(mean, sd)"},
    {"zero", v1::Fill::ZERO, 0, "zero"},
    {"iota", v1::Fill::IOTA, 0, "iota"},
    {"permutation", v1::Fill::PERMUTATION, 0, "permutation"},
    {"sorted", v1::Fill::SORTED, 2, "sorted(lo, hi)"},
    {"one_of", v1::Fill::ONE_OF, kAnyNumber, "one_of(a, b, …)"},
};

absl::Status Error(absl::string_view what) { return absl::InvalidArgumentError(what); }

// Reads what stands in the parentheses: numbers, or whole numbers made of sizes.
absl::Status ParseParameters(absl::string_view text, v1::Fill* fill) {
  if (absl::StripAsciiWhitespace(text).empty()) return absl::OkStatus();
  const std::vector<std::string> words = SplitExpressions(text);
  bool sized = false;
  for (const std::string& word : words) {
    double value = 0;
    if (absl::SimpleAtod(word, &value) && std::isfinite(value)) {
      fill->add_parameters(value);
      continue;
    }
    const absl::StatusOr<Expression> expression = Expression::Parse(word);
    if (!expression.ok() || expression->names().empty()) {
      return Error(absl::StrCat("'", word, "' is neither a number nor made of sizes"));
    }
    sized = true;
  }
  if (!sized) return absl::OkStatus();
  fill->clear_parameters();
  for (const std::string& word : words) {
    RETURN_IF_ERROR(Expression::Parse(word).status());  // "0.5" is no whole number.
    fill->add_bounds(word);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckFill(const v1::Fill& fill, v1::ElementType type) {
  if (fill.kind() == v1::Fill::NORMAL) {
    if (!IsFloating(type)) {
      return Error(absl::StrCat("normal needs a floating type, not ", ElementTypeName(type)));
    }
    if (fill.parameters(1) <= 0) return Error("normal(mean, sd) needs sd > 0");
  }
  if (fill.kind() == v1::Fill::PERMUTATION && IsFloating(type)) {
    return Error(absl::StrCat("permutation needs an integer type, not ", ElementTypeName(type)));
  }
  const bool range = fill.kind() == v1::Fill::UNIFORM || fill.kind() == v1::Fill::SORTED;
  if (!range && fill.kind() != v1::Fill::ONE_OF) return absl::OkStatus();
  if (range && fill.parameters(0) > fill.parameters(1)) {
    return Error(
        absl::StrCat("the range is empty: ", fill.parameters(0), " > ", fill.parameters(1)));
  }
  if (IsFloating(type)) return absl::OkStatus();
  for (const double value : fill.parameters()) {
    if (value != std::floor(value) || value < IntegerMin(type) || value > IntegerMax(type)) {
      return Error(absl::StrCat(value, " is not a value of type ", ElementTypeName(type)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Fill> ParseFill(absl::string_view text, v1::ElementType type) {
  text = absl::StripAsciiWhitespace(text);
  const size_t open = text.find('(');
  const absl::string_view name = absl::StripAsciiWhitespace(text.substr(0, open));
  v1::Fill fill;
  if (open != absl::string_view::npos) {
    if (!absl::EndsWith(text, ")")) return Error(absl::StrCat("'", text, "' lacks its ')'"));
    RETURN_IF_ERROR(ParseParameters(text.substr(open + 1, text.size() - open - 2), &fill));
  }
  std::vector<std::string> known;
  for (const FillRule& rule : kRules) {
    known.push_back(rule.usage);
    if (name != rule.name) continue;
    const int given = fill.parameters_size() + fill.bounds_size();
    if (rule.parameters == kAnyNumber ? given == 0 : given != rule.parameters) {
      return Error(absl::StrCat("'", text, "' has ", given, " parameters: write ", rule.usage));
    }
    if (rule.kind == v1::Fill::NORMAL && !fill.bounds().empty()) {
      return Error("mean and sd of normal(mean, sd) are numbers");
    }
    if (rule.kind == v1::Fill::ONE_OF && !fill.bounds().empty()) {
      return Error("one_of takes numbers, which no size is made of");
    }
    fill.set_kind(rule.kind);
    if (fill.bounds().empty()) RETURN_IF_ERROR(CheckFill(fill, type));
    return fill;
  }
  return Error(absl::StrCat("unknown fill '", name, "'; did you mean '", Nearest(name, known),
                            "'? Fills are ", absl::StrJoin(known, ", ")));
}

}  // namespace whetstone
