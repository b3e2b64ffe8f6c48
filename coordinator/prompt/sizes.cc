#include "coordinator/prompt/sizes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/nearest.h"
#include "common/problem/expression.h"
#include "common/status_macros.h"
#include "coordinator/prompt/signature.h"
#include "coordinator/prompt/types.h"

namespace whetstone {
namespace {

constexpr size_t kPointsMax = 64;
const char* const kLists[] = {"check", "timed", "hidden"};
// Stands for the variable of a size written as a plain integer until that variable is known; no
// file can hold this key.
constexpr char kPlainInteger[] = " ";

// One expression of the front matter and how messages call it.
struct Use {
  std::string what;  // "args.a.shape", a path that YamlMap would print
  Expression expression;
};

absl::StatusOr<std::vector<Use>> CollectUses(const v1::Problem& problem) {
  std::vector<Use> uses;
  const auto add = [&](std::string what, const std::string& text) -> absl::Status {
    ASSIGN_OR_RETURN(Expression expression, Expression::Parse(text));
    uses.push_back({std::move(what), std::move(expression)});
    return absl::OkStatus();
  };
  for (const v1::Argument& arg : problem.args()) {
    if (arg.has_size()) {
      RETURN_IF_ERROR(add(absl::StrCat("args.", arg.name(), ".size"), arg.size()));
    }
    for (const std::string& extent : arg.array().shape()) {
      RETURN_IF_ERROR(add(absl::StrCat("args.", arg.name(), ".shape"), extent));
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

// The line of "args.a.shape" in the file.
absl::Status ErrorAtUse(const YamlMap& top, const Use& use, absl::string_view what) {
  const std::vector<std::string> path = absl::StrSplit(use.what, '.');
  absl::StatusOr<YamlMap> map = top;
  for (size_t i = 0; i + 1 < path.size() && map.ok(); ++i) map = map->Map(path[i]);
  if (!map.ok()) return map.status();
  return map->Error(path.back(), absl::StrCat("'", use.what, "': ", what));
}

std::string PointText(const v1::SizePoint& point) {
  const std::map<std::string, int64_t> ordered(point.values().begin(), point.values().end());
  std::vector<std::string> parts;
  for (const auto& [name, value] : ordered) parts.push_back(absl::StrCat(name, "=", value));
  return absl::StrJoin(parts, ", ");
}

// The variables that the size points must give: with plain integers the one that the arguments
// name, with maps the keys of the first map.
absl::StatusOr<std::vector<std::string>> FindVariables(const YamlMap& sizes,
                                                       const std::vector<Use>& uses) {
  std::set<std::string> used;
  for (const Use& use : uses) {
    if (use.what.rfind("cost.", 0) == 0) continue;
    used.insert(use.expression.names().begin(), use.expression.names().end());
  }
  for (const char* list : kLists) {
    if (!sizes.Has(list)) continue;
    ASSIGN_OR_RETURN(const std::vector<YamlMap> points, sizes.Maps(list, kPlainInteger));
    if (points.empty()) continue;
    if (!points[0].Has(kPlainInteger)) return points[0].keys();
    if (used.size() == 1) return std::vector<std::string>(used.begin(), used.end());
    return sizes.Error(
        list, absl::StrCat("plain integers need exactly one size variable, but the ",
                           "arguments use ", used.empty() ? "none" : absl::StrJoin(used, ", "),
                           ": write every size as a map, as in {r: 3, c: 5}"));
  }
  return std::vector<std::string>(used.begin(), used.end());
}

absl::Status CheckNames(const YamlMap& top, const std::vector<Use>& uses,
                        const std::vector<std::string>& variables) {
  std::set<std::string> used;
  for (const Use& use : uses) {
    for (const std::string& name : use.expression.names()) {
      used.insert(name);
      if (std::find(variables.begin(), variables.end(), name) != variables.end()) continue;
      return ErrorAtUse(top, use,
                        absl::StrCat("'", name, "' is not a size variable; did you mean '",
                                     Nearest(name, variables), "'? Variables are ",
                                     absl::StrJoin(variables, ", ")));
    }
  }
  for (const std::string& name : variables) {
    if (used.count(name) > 0) continue;
    return top.Error("sizes", absl::StrCat("size variable '", name, "' is used by no argument"));
  }
  return absl::OkStatus();
}

absl::Status ReadList(const YamlMap& sizes, const std::string& list,
                      const std::vector<std::string>& variables,
                      google::protobuf::RepeatedPtrField<v1::SizePoint>* out) {
  const std::string single = variables.size() == 1 ? variables[0] : "";
  ASSIGN_OR_RETURN(const std::vector<YamlMap> points, sizes.Maps(list, single));
  if (points.size() > kPointsMax) {
    return sizes.Error(list, absl::StrCat("'sizes.", list, "' has ", points.size(),
                                          " entries, more than ", kPointsMax));
  }
  std::set<std::string> seen;
  for (const YamlMap& point : points) {
    RETURN_IF_ERROR(point.AllowOnly(variables));
    v1::SizePoint* made = out->Add();
    for (const std::string& name : variables) {
      ASSIGN_OR_RETURN(const int64_t value, point.Integer(name));
      if (value < 1) {
        return point.Error(name, absl::StrCat("size ", name, "=", value, " in 'sizes.", list,
                                              "' must be at least 1"));
      }
      (*made->mutable_values())[name] = value;
    }
    if (!seen.insert(PointText(*made)).second) {
      return point.Error(
          "", absl::StrCat("size ", PointText(*made), " stands in 'sizes.", list, "' twice"));
    }
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

// What is wrong with `problem` at `size`, without a place.
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
    if (use.what.rfind("cost.", 0) != 0) continue;
    ASSIGN_OR_RETURN(const int64_t value, use.expression.Evaluate(values));
    if (value < 0) return absl::InvalidArgumentError(absl::StrCat(use.what, " is ", value));
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

int64_t MaxElementCount(const v1::Problem& problem, const v1::Array& array) {
  int64_t max = 0;
  const v1::Sizes& sizes = problem.sizes();
  for (const auto* list : {&sizes.check(), &sizes.timed(), &sizes.hidden()}) {
    for (const v1::SizePoint& point : *list) {
      max = std::max(max, ElementCount(array, point).value_or(0));
    }
  }
  return max;
}

absl::Status ReadSizes(const YamlMap& top, v1::Problem* problem) {
  ASSIGN_OR_RETURN(const YamlMap sizes, top.Map("sizes"));
  RETURN_IF_ERROR(sizes.AllowOnly({"check", "timed", "hidden"}));
  ASSIGN_OR_RETURN(const std::vector<Use> uses, CollectUses(*problem));
  ASSIGN_OR_RETURN(const std::vector<std::string> variables, FindVariables(sizes, uses));
  if (variables.empty()) {
    return top.Error("sizes", "no argument uses a size variable: nothing to measure by size");
  }
  RETURN_IF_ERROR(CheckNames(top, uses, variables));
  ASSIGN_OR_RETURN(const Signature signature, ParseSignature(*problem));
  v1::Sizes* out = problem->mutable_sizes();
  for (const std::string list : kLists) {
    auto* points = list == "check"   ? out->mutable_check()
                   : list == "timed" ? out->mutable_timed()
                                     : out->mutable_hidden();
    if (sizes.Has(list)) {
      RETURN_IF_ERROR(ReadList(sizes, list, variables, points));
    }
    if (points->empty() && list != "hidden") {
      return top.Error("sizes", absl::StrCat("'sizes.", list, "' needs at least one size"));
    }
    for (const v1::SizePoint& point : *points) {
      const absl::Status status = CheckPoint(*problem, signature, uses, point);
      if (status.ok()) continue;
      return sizes.Error(list, absl::StrCat("at size ", PointText(point), " of 'sizes.", list,
                                            "': ", status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace whetstone
