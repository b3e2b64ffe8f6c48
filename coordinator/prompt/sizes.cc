#include "coordinator/prompt/sizes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/nearest.h"
#include "common/problem/expression.h"
#include "common/problem/sized_fill.h"
#include "common/status_macros.h"
#include "coordinator/prompt/fill.h"
#include "coordinator/prompt/signature.h"
#include "coordinator/prompt/types.h"

namespace whetstone {
namespace {

constexpr size_t kPointsMax = 64;

// A Use is one expression of the front matter and where it stands.
struct Use {
  std::string key;  // "args.a.shape"
  Expression expression;
};

// Returns the fields of an argument that is filled, and their fills.
std::vector<std::pair<FieldLayout, const v1::Fill*>> FieldsOf(const v1::Problem& problem,
                                                              const v1::Argument& arg) {
  return arg.has_array() ? FilledFields(problem, arg.array()) : FilledFields(problem, arg.scalar());
}

absl::StatusOr<std::vector<Use>> CollectUses(const v1::Problem& problem) {
  std::vector<Use> uses;
  const auto add = [&](std::string key, const std::string& text) -> absl::Status {
    ASSIGN_OR_RETURN(Expression expression, Expression::Parse(text));
    uses.push_back({std::move(key), std::move(expression)});
    return absl::OkStatus();
  };
  for (const v1::Argument& arg : problem.args()) {
    if (arg.has_size()) {
      RETURN_IF_ERROR(add(absl::StrCat("args.", arg.name(), ".size"), arg.size()));
    }
    for (const std::string& extent : arg.array().shape()) {
      RETURN_IF_ERROR(add(absl::StrCat("args.", arg.name(), ".shape"), extent));
    }
    for (const auto& [field, fill] : FieldsOf(problem, arg)) {
      if (fill == nullptr) continue;
      for (const std::string& bound : fill->bounds()) {
        RETURN_IF_ERROR(add(absl::StrCat("args.", arg.name(), ".fill"), bound));
      }
    }
  }
  if (!problem.cost().flops().empty()) {
    RETURN_IF_ERROR(add("cost.flops", problem.cost().flops()));
  }
  if (!problem.cost().bytes().empty()) {
    RETURN_IF_ERROR(add("cost.bytes", problem.cost().bytes()));
  }
  return uses;
}

// A SizeList is what the author wrote of one list of sizes, and what becomes of it.
struct SizeList {
  const char* name;
  const google::protobuf::RepeatedPtrField<v1::FrontMatter::Size>& given;
  google::protobuf::RepeatedPtrField<v1::SizePoint>* points;

  std::string key() const { return absl::StrCat("sizes.", name); }
};

std::string PointText(const v1::SizePoint& point) {
  const std::map<std::string, int64_t> ordered(point.values().begin(), point.values().end());
  std::vector<std::string> parts;
  for (const auto& [name, value] : ordered) parts.push_back(absl::StrCat(name, "=", value));
  return absl::StrJoin(parts, ", ");
}

// Returns the variables that the size points must give: with plain integers the one that the
// arguments name, with maps the keys of the first map.
absl::StatusOr<std::vector<std::string>> FindVariables(const FrontMatter& front,
                                                       const std::vector<SizeList>& lists,
                                                       const std::vector<Use>& uses) {
  std::set<std::string> used;
  for (const Use& use : uses) {
    if (absl::StartsWith(use.key, "cost.") || absl::EndsWith(use.key, ".fill")) continue;
    used.insert(use.expression.names().begin(), use.expression.names().end());
  }
  std::vector<std::string> variables(used.begin(), used.end());
  for (const SizeList& list : lists) {
    if (list.given.empty()) continue;
    if (!list.given[0].has_plain()) {
      variables.clear();
      for (const auto& variable : list.given[0].by_name()) variables.push_back(variable.key());
    } else if (variables.size() != 1) {
      return front.Error(
          list.key(),
          absl::StrCat("plain integers need exactly one size variable, but the arguments use ",
                       variables.empty() ? "none" : absl::StrJoin(variables, ", "),
                       ": write every size as a map, as in {r: 3, c: 5}"));
    }
    break;
  }
  return variables;
}

absl::Status CheckSizeNames(const FrontMatter& front, const std::vector<Use>& uses,
                            const std::vector<std::string>& variables) {
  std::set<std::string> used;
  for (const Use& use : uses) {
    for (const std::string& name : use.expression.names()) {
      used.insert(name);
      if (std::find(variables.begin(), variables.end(), name) != variables.end()) continue;
      return front.Error(use.key, absl::StrCat("'", use.key, "': '", name,
                                               "' is not a size variable; did you mean '",
                                               Nearest(name, variables), "'? Variables are ",
                                               absl::StrJoin(variables, ", ")));
    }
  }
  for (const std::string& name : variables) {
    if (used.count(name) > 0) continue;
    return front.Error("sizes", absl::StrCat("size variable '", name, "' is used by no argument"));
  }
  return absl::OkStatus();
}

// Returns the values of one size, which stands at `key`: one for each variable.
absl::StatusOr<v1::SizePoint> ReadPoint(const FrontMatter& front, const std::string& key,
                                        const v1::FrontMatter::Size& given,
                                        const std::vector<std::string>& variables) {
  v1::SizePoint point;
  if (given.has_plain()) {
    if (variables.size() != 1) {
      return front.Error(key, absl::StrCat("'", key, "' must be a map, as in {r: 3, c: 5}"));
    }
    (*point.mutable_values())[variables[0]] = given.plain();
  } else {
    for (const v1::FrontMatter::Variable& variable : given.by_name()) {
      RETURN_IF_ERROR(front.RequireKey(key, variable.key(), variables));
      (*point.mutable_values())[variable.key()] = variable.value();
    }
    for (const std::string& name : variables) {
      RETURN_IF_ERROR(front.Require(absl::StrCat(key, ".", name)));
    }
  }
  for (const std::string& name : variables) {
    const int64_t value = point.values().at(name);
    if (value >= 1) continue;
    return front.Error(given.has_plain() ? key : absl::StrCat(key, ".", name),
                       absl::StrCat("size ", name, "=", value, " in '",
                                    key.substr(0, key.find('[')), "' must be at least 1"));
  }
  return point;
}

absl::Status ReadList(const FrontMatter& front, const std::vector<std::string>& variables,
                      const SizeList& list) {
  if (static_cast<size_t>(list.given.size()) > kPointsMax) {
    return front.Error(list.key(), absl::StrCat("'", list.key(), "' has ", list.given.size(),
                                                " entries, more than ", kPointsMax));
  }
  std::set<std::string> seen;
  for (const v1::FrontMatter::Size& given : list.given) {
    const std::string key = absl::StrCat(list.key(), "[", seen.size(), "]");
    ASSIGN_OR_RETURN(const v1::SizePoint point, ReadPoint(front, key, given, variables));
    if (!seen.insert(PointText(point)).second) {
      return front.Error(
          key, absl::StrCat("size ", PointText(point), " stands in '", list.key(), "' twice"));
    }
    *list.points->Add() = point;
  }
  return absl::OkStatus();
}

// Bounds that are made of sizes must make a range that fits its type.
absl::Status CheckBounds(const v1::Problem& problem, const v1::Argument& arg,
                         const std::map<std::string, int64_t>& sizes) {
  for (const auto& [field, fill] : FieldsOf(problem, arg)) {
    if (fill == nullptr || fill->bounds().empty()) continue;
    const absl::StatusOr<v1::Fill> sized = FillAt(*fill, sizes);
    const absl::Status fits = sized.ok() ? CheckFill(*sized, field.type) : sized.status();
    if (fits.ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat("the fill of '", arg.name(),
                                                   field.name.empty() ? "" : ".", field.name,
                                                   "': ", fits.message()));
  }
  return absl::OkStatus();
}

// A value that counts upwards must fit its type.
absl::Status CheckFillFits(const v1::Problem& problem, const v1::Argument& arg, int64_t count) {
  for (const auto& [field, fill] : FilledFields(problem, arg.array())) {
    const bool counts = fill != nullptr &&
                        (fill->kind() == v1::Fill::IOTA || fill->kind() == v1::Fill::PERMUTATION);
    if (!counts || IsFloating(field.type)) continue;
    if (static_cast<double>(count - 1) <= IntegerMax(field.type)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "'", arg.name(), field.name.empty() ? "" : ".", field.name, "' would count to ", count - 1,
        ", more than ", ElementTypeName(field.type), " holds"));
  }
  return absl::OkStatus();
}

// Says what is wrong with `problem` at `size`, without file and line.
absl::Status CheckPoint(const v1::Problem& problem, const Signature& signature,
                        const std::vector<Use>& uses, const v1::SizePoint& size) {
  const std::map<std::string, int64_t> values(size.values().begin(), size.values().end());
  double bytes = 0;
  for (int i = 0; i < problem.args_size(); ++i) {
    const v1::Argument& arg = problem.args(i);
    if (arg.has_size()) {
      ASSIGN_OR_RETURN(const Expression expression, Expression::Parse(arg.size()));
      ASSIGN_OR_RETURN(const int64_t value, expression.Evaluate(values));
      const int64_t max = CppIntegerMax(signature.parameters[i].type);
      if (value < 0 || value > max) {
        return absl::InvalidArgumentError(absl::StrCat("'", arg.name(), "' is ", value,
                                                       ", beyond the signature's ",
                                                       signature.parameters[i].type));
      }
    }
    if (!arg.has_size()) RETURN_IF_ERROR(CheckBounds(problem, arg, values));
    if (!arg.has_array()) continue;
    absl::StatusOr<int64_t> count = ElementCount(arg.array(), size);
    if (!count.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", arg.name(), "': ", count.status().message()));
    }
    RETURN_IF_ERROR(CheckFillFits(problem, arg, *count));
    ASSIGN_OR_RETURN(const ElementLayout element, LayoutIn(problem, arg.array()));
    bytes += static_cast<double>(*count) * static_cast<double>(element.bytes);
  }
  const double limit = static_cast<double>(problem.limits().memory_mb()) * (1 << 20);
  if (bytes > limit) {
    return absl::InvalidArgumentError(
        absl::StrCat("the arguments need ", static_cast<int64_t>(bytes / (1 << 20)) + 1,
                     " MiB, more than limits.memory_mb (", problem.limits().memory_mb(), ")"));
  }
  for (const Use& use : uses) {
    if (use.key.rfind("cost.", 0) != 0) continue;
    ASSIGN_OR_RETURN(const int64_t value, use.expression.Evaluate(values));
    if (value < 0) return absl::InvalidArgumentError(absl::StrCat(use.key, " is ", value));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int64_t> ElementCount(const v1::Array& array, const v1::SizePoint& size) {
  const std::map<std::string, int64_t> values(size.values().begin(), size.values().end());
  int64_t count = 1;
  for (const std::string& extent : array.shape()) {
    ASSIGN_OR_RETURN(const Expression expression, Expression::Parse(extent));
    ASSIGN_OR_RETURN(const int64_t value, expression.Evaluate(values));
    if (value < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("extent ", extent, " is ", value, ", must be at least 1"));
    }
    if (__builtin_mul_overflow(count, value, &count)) {
      return absl::InvalidArgumentError("the number of elements passes 64 bits");
    }
  }
  return count;
}

absl::Status ReadSizes(const FrontMatter& front, v1::Problem* problem) {
  RETURN_IF_ERROR(front.Require("sizes"));
  const v1::FrontMatter::Sizes& given = front.keys().sizes();
  v1::Sizes* sizes = problem->mutable_sizes();
  const std::vector<SizeList> lists = {{"check", given.check(), sizes->mutable_check()},
                                       {"timed", given.timed(), sizes->mutable_timed()},
                                       {"hidden", given.hidden(), sizes->mutable_hidden()}};
  ASSIGN_OR_RETURN(const std::vector<Use> uses, CollectUses(*problem));
  ASSIGN_OR_RETURN(const std::vector<std::string> variables, FindVariables(front, lists, uses));
  if (variables.empty()) {
    return front.Error("sizes", "no argument uses a size variable: nothing to measure by size");
  }
  RETURN_IF_ERROR(CheckSizeNames(front, uses, variables));
  ASSIGN_OR_RETURN(const Signature signature, ParseSignature(*problem));
  for (const SizeList& list : lists) {
    RETURN_IF_ERROR(ReadList(front, variables, list));
    if (list.points->empty() && list.points != sizes->mutable_hidden()) {
      return front.Error("sizes", absl::StrCat("'", list.key(), "' needs at least one size"));
    }
    for (const v1::SizePoint& point : *list.points) {
      const absl::Status status = CheckPoint(*problem, signature, uses, point);
      if (status.ok()) continue;
      return front.Error(list.key(), absl::StrCat("at size ", PointText(point), " of '", list.key(),
                                                  "': ", status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace whetstone
