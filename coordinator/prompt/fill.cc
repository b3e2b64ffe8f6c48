#include "coordinator/prompt/fill.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/nearest.h"
#include "common/status_macros.h"
#include "coordinator/prompt/signature.h"

namespace whetstone {
namespace {

struct FillRule {
  const char* name;
  v1::Fill::Kind kind;
  size_t parameters;
  const char* usage;
};

constexpr FillRule kRules[] = {
    {"uniform", v1::Fill::UNIFORM, 2, "uniform(lo, hi)"},
    {"normal", v1::Fill::NORMAL, 2, "normal(mean, sd)"},
    {"zero", v1::Fill::ZERO, 0, "zero"},
    {"iota", v1::Fill::IOTA, 0, "iota"},
    {"permutation", v1::Fill::PERMUTATION, 0, "permutation"},
    {"sorted", v1::Fill::SORTED, 2, "sorted(lo, hi)"},
};

absl::Status Error(absl::string_view what) { return absl::InvalidArgumentError(what); }

absl::StatusOr<std::vector<double>> ParseParameters(absl::string_view text) {
  std::vector<double> result;
  if (absl::StripAsciiWhitespace(text).empty()) return result;
  for (const absl::string_view word : absl::StrSplit(text, ',')) {
    double value = 0;
    if (!absl::SimpleAtod(absl::StripAsciiWhitespace(word), &value) || !std::isfinite(value)) {
      return Error(absl::StrCat("'", absl::StripAsciiWhitespace(word), "' is not a number"));
    }
    result.push_back(value);
  }
  return result;
}

// The parameters must make sense for elements of `type`.
absl::Status CheckParameters(const v1::Fill& fill, v1::ElementType type) {
  if (fill.kind() == v1::Fill::NORMAL) {
    if (!IsFloating(type)) {
      return Error(absl::StrCat("normal needs a floating type, not ", ElementTypeName(type)));
    }
    if (fill.parameters(1) <= 0) return Error("normal(mean, sd) needs sd > 0");
  }
  if (fill.kind() == v1::Fill::PERMUTATION && IsFloating(type)) {
    return Error(absl::StrCat("permutation needs an integer type, not ", ElementTypeName(type)));
  }
  if (fill.kind() != v1::Fill::UNIFORM && fill.kind() != v1::Fill::SORTED) return absl::OkStatus();
  if (fill.parameters(0) > fill.parameters(1)) {
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

}  // namespace

absl::StatusOr<v1::Fill> ParseFill(absl::string_view text, v1::ElementType type) {
  text = absl::StripAsciiWhitespace(text);
  const size_t open = text.find('(');
  const absl::string_view name = absl::StripAsciiWhitespace(text.substr(0, open));
  std::vector<double> parameters;
  if (open != absl::string_view::npos) {
    if (!absl::EndsWith(text, ")")) return Error(absl::StrCat("'", text, "' lacks its ')'"));
    ASSIGN_OR_RETURN(parameters, ParseParameters(text.substr(open + 1, text.size() - open - 2)));
  }
  std::vector<std::string> known;
  for (const FillRule& rule : kRules) {
    known.push_back(rule.usage);
    if (name != rule.name) continue;
    if (parameters.size() != rule.parameters) {
      return Error(
          absl::StrCat("'", text, "' has ", parameters.size(), " parameters: write ", rule.usage));
    }
    v1::Fill fill;
    fill.set_kind(rule.kind);
    for (const double value : parameters) fill.add_parameters(value);
    RETURN_IF_ERROR(CheckParameters(fill, type));
    return fill;
  }
  return Error(absl::StrCat("unknown fill '", name, "'; did you mean '", Nearest(name, known),
                            "'? Fills are ", absl::StrJoin(known, ", ")));
}

}  // namespace whetstone
