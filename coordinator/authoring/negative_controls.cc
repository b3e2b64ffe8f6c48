#include "coordinator/authoring/negative_controls.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/problem/expression.h"
#include "common/problem/struct_type.h"
#include "common/status_macros.h"
#include "coordinator/prompt/identifiers.h"
#include "coordinator/prompt/signature.h"
#include "coordinator/prompt/sizes.h"

namespace whetstone {
namespace {

constexpr char kTrueName[] = "whet_true_function";

// Writes the pieces that every control is made of.
class ControlWriter {
 public:
  ControlWriter(const v1::Problem& problem, Signature signature)
      : problem_(problem), signature_(std::move(signature)) {
    for (const auto* list :
         {&problem.sizes().check(), &problem.sizes().timed(), &problem.sizes().hidden()}) {
      for (const v1::SizePoint& point : *list) points_.push_back(&point);
    }
  }

  // Returns the asked function with this body.
  std::string Function(absl::string_view body) const {
    return absl::StrCat(problem_.signature(), " {\n", body, "}\n");
  }

  std::string ReturnNumber(absl::string_view number) const {
    return Return(Value(signature_.return_type, number));
  }

  // Returns "    return VALUE;\n", or nothing for a void function.
  std::string Return(absl::string_view value) const {
    return problem_.has_returns() ? absl::StrCat("    return ", value, ";\n") : "";
  }

  // Returns an element of `cpp_type` that is `number`, or a struct of nothing else.
  std::string Value(const std::string& cpp_type, absl::string_view number) const {
    const v1::StructType* type = FindStruct(problem_, cpp_type);
    if (type == nullptr) return std::string(number);
    std::vector<std::string> values;
    for (const v1::StructType::Field& field : type->fields()) {
      values.emplace_back(number);
      for (auto extent = field.extents().rbegin(); extent != field.extents().rend(); ++extent) {
        const std::vector<std::string> all(*extent, values.back());
        values.back() = absl::StrCat("{", absl::StrJoin(all, ", "), "}");
      }
    }
    return absl::StrCat(cpp_type, "{", absl::StrJoin(values, ", "), "}");
  }

  // Sets every element of `arg` to `number`.
  std::string Set(const v1::Argument& arg, absl::string_view number) const {
    return absl::StrCat("    for (long whet_i = 0; whet_i < ", Count(arg, /*largest=*/false),
                        "; ++whet_i) ", arg.name(),
                        "[whet_i] = ", Value(TypeOf(arg.name()), number), ";\n");
  }

  // Returns the arguments' names, one of them replaced.
  std::string Arguments(absl::string_view replaced = "", absl::string_view by = "") const {
    std::vector<std::string> names;
    for (const Parameter& parameter : signature_.parameters) {
      names.push_back(parameter.name == replaced ? std::string(by) : parameter.name);
    }
    return absl::StrJoin(names, ", ");
  }

  // Calls the reference under its other name, and returns what it does.
  std::string Call(absl::string_view arguments) const {
    return absl::StrCat("    ", problem_.has_returns() ? "return " : "", kTrueName, "(", arguments,
                        ");\n");
  }

  std::string SetOutputs(absl::string_view value) const {
    std::string body;
    for (const v1::Argument& arg : problem_.args()) {
      if (IsOutput(arg)) absl::StrAppend(&body, Set(arg, value));
    }
    return body;
  }

  // Returns the reference under another name. Its includes come first, so it may stand above
  // anything.
  std::string RenamedReference() const {
    return MapIdentifiers(problem_.reference(),
                          [&](const std::string& word) {
                            return word == signature_.name ? std::string(kTrueName) : word;
                          }) +
           "\n";
  }

  std::string Stale() const {
    std::string fields;
    std::string match = "true";
    std::string keep;
    std::string copy;
    for (const v1::Argument& arg : problem_.args()) {
      const std::string& name = arg.name();
      if (arg.has_size()) {
        absl::StrAppend(&fields, "    ", TypeOf(name), " ", name, ";\n");
        absl::StrAppend(&match, " && old.", name, " == ", name);
        absl::StrAppend(&keep, "    made.", name, " = ", name, ";\n");
      }
      if (!IsOutput(arg)) continue;
      const std::string count = Count(arg, /*largest=*/false);
      absl::StrAppend(&fields, "    ", TypeOf(name), "* ", name, ";\n");
      absl::StrAppend(&keep, "    made.", name, " = new ", TypeOf(name), "[", count, "];\n");
      absl::StrAppend(&keep, "    for (long whet_i = 0; whet_i < ", count, "; ++whet_i) made.",
                      name, "[whet_i] = ", name, "[whet_i];\n");
      absl::StrAppend(&copy, "        for (long whet_i = 0; whet_i < ", count, "; ++whet_i) ", name,
                      "[whet_i] = old.", name, "[whet_i];\n");
    }
    std::string call = absl::StrCat(kTrueName, "(", Arguments(), ");\n");
    if (problem_.has_returns()) {
      absl::StrAppend(&fields, "    ", signature_.return_type, " whet_returned;\n");
      call = absl::StrCat("made.whet_returned = ", call);
    }
    return absl::StrCat(
        RenamedReference(), "struct WhetSaved {\n", fields, "};\n",
        Function(absl::StrCat(
            "    static WhetSaved whet_saved[", points_.size(), "];\n    static int whet_count;\n",
            "    for (int whet_k = 0; whet_k < whet_count; ++whet_k) {\n",
            "        const WhetSaved& old = whet_saved[whet_k];\n        if (!(", match,
            ")) continue;\n", copy,
            problem_.has_returns() ? "        return old.whet_returned;\n" : "        return;\n",
            "    }\n    WhetSaved& made = whet_saved[whet_count++];\n    ", call, keep,
            Return("made.whet_returned"))));
  }

  std::string Ignoring(const v1::Argument& arg) const {
    const std::string& name = arg.name();
    std::string body;
    if (arg.has_scalar()) {
      body = Call(Arguments(name, Value(TypeOf(name), "0")));
    } else if (arg.array().direction() == v1::Array::INOUT) {
      body = absl::StrCat(Set(arg, "0"), Call(Arguments()));
    } else {
      // The zeros are never freed: there are a few calls in a process that ends soon.
      body =
          absl::StrCat("    const ", TypeOf(name), "* whet_zeros = new ", TypeOf(name), "[",
                       Count(arg, /*largest=*/true), "]();\n", Call(Arguments(name, "whet_zeros")));
    }
    return absl::StrCat(RenamedReference(), Function(body));
  }

  std::string ClearingFirst() const {
    std::string body;
    for (const v1::Argument& arg : problem_.args()) {
      const bool written_only = arg.has_array() && arg.array().direction() == v1::Array::OUT;
      if (written_only) absl::StrAppend(&body, Set(arg, "0"));
    }
    return absl::StrCat(RenamedReference(), Function(absl::StrCat(body, Call(Arguments()))));
  }

  static bool IsOutput(const v1::Argument& arg) {
    return arg.has_array() && arg.array().direction() != v1::Array::IN;
  }

 private:
  std::string TypeOf(const std::string& name) const {
    for (const Parameter& parameter : signature_.parameters) {
      if (parameter.name == name) return parameter.type;
    }
    return "";
  }

  // Returns the number of elements as a C++ expression over the size parameters. Shapes may use
  // variables that are no parameter, so it is a table of the problem's own size points. Points that
  // the parameters cannot tell apart give the smallest (safe to write) or largest (safe to read)
  // count.
  std::string Count(const v1::Argument& arg, bool largest) const {
    std::map<std::string, int64_t> by_condition;
    for (const v1::SizePoint* point : points_) {
      const absl::StatusOr<int64_t> count = ElementCount(arg.array(), *point);
      if (!count.ok()) continue;
      const auto [it, is_new] = by_condition.insert({Condition(*point), *count});
      if (!is_new)
        it->second = largest ? std::max(it->second, *count) : std::min(it->second, *count);
    }
    std::string text = "(";
    for (const auto& [condition, count] : by_condition) {
      absl::StrAppend(&text, condition, " ? ", count, "L : ");
    }
    return absl::StrCat(text, "0L)");
  }

  // Returns a condition that is true for the calls at `point`: "n == 3 && m == 4".
  std::string Condition(const v1::SizePoint& point) const {
    const std::map<std::string, int64_t> values(point.values().begin(), point.values().end());
    std::vector<std::string> parts;
    for (const v1::Argument& arg : problem_.args()) {
      if (!arg.has_size()) continue;
      const absl::StatusOr<Expression> expression = Expression::Parse(arg.size());
      if (!expression.ok()) continue;
      parts.push_back(absl::StrCat("(long)", arg.name(),
                                   " == ", expression->Evaluate(values).value_or(0), "L"));
    }
    return parts.empty() ? "true" : absl::StrCat("(", absl::StrJoin(parts, " && "), ")");
  }

  const v1::Problem& problem_;
  const Signature signature_;
  std::vector<const v1::SizePoint*> points_;
};

}  // namespace

absl::StatusOr<std::vector<NegativeControl>> MakeNegativeControls(const v1::Problem& problem) {
  ASSIGN_OR_RETURN(Signature signature, ParseSignature(problem));
  const ControlWriter writer(problem, std::move(signature));
  const bool writes = std::any_of(problem.args().begin(), problem.args().end(),
                                  [](const auto& arg) { return ControlWriter::IsOutput(arg); });
  std::vector<NegativeControl> controls;
  if (writes) controls.push_back({"empty body", writer.Function(writer.ReturnNumber("0"))});
  for (const auto& [name, value] : {std::pair("zeros", "0"), std::pair("constant", "1")}) {
    controls.push_back({name, writer.Function(absl::StrCat(writer.SetOutputs(value),
                                                           writer.ReturnNumber(value)))});
  }
  controls.push_back({"stale output", writer.Stale(), /*needs_timing=*/true});
  for (const v1::Argument& arg : problem.args()) {
    const bool input =
        arg.has_scalar() || (arg.has_array() && arg.array().direction() != v1::Array::OUT);
    if (input)
      controls.push_back({absl::StrCat("ignores ", arg.name()), writer.Ignoring(arg),
                          /*needs_timing=*/false, arg.name()});
  }
  return controls;
}

absl::StatusOr<std::string> ClearingOutputsFirst(const v1::Problem& problem) {
  ASSIGN_OR_RETURN(Signature signature, ParseSignature(problem));
  return ControlWriter(problem, std::move(signature)).ClearingFirst();
}

}  // namespace whetstone
