#include "coordinator/proof/benchmark_comparison.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/problem/struct_type.h"

namespace whetstone {
namespace {

std::string RuleText(const BenchmarkProblem& b) {
  const v1::Compare& c = b.problem.compare();
  const char* rule = c.rule() == v1::Compare::SCALED        ? "kScaled"
                     : c.rule() == v1::Compare::ELEMENTWISE ? "kElementwise"
                                                            : "kExact";
  return absl::StrCat(rule, ", ", BenchmarkNumber(c.rtol()), ", ", BenchmarkNumber(c.atol()));
}

// Returns the text "  if (!Right<…>(…)) return false;\n" for each field of `count` elements at
// `got` and `want`, in a loop where the field is an array.
template <typename Typed>
std::string RightCalls(const BenchmarkProblem& b, const Typed& typed, const std::string& got,
                       const std::string& want, const std::string& count) {
  std::string text;
  const ElementLayout element = LayoutIn(b.problem, typed).value_or(ElementLayout());
  for (const BenchmarkField& field : BenchmarkFields(element)) {
    const auto values = [&](const std::string& data) {
      if (!element.is_struct()) return data;
      return absl::StrCat("Field(", data, ", ", count, ", &::", element.struct_name,
                          "::", field.name, field.at, ").data()");
    };
    absl::StrAppend(&text, field.loop, "if (!Right<",
                    BenchmarkElement(element.fields[field.first].type), ">(", RuleText(b), ", ",
                    values(got), ", ", values(want), ", ", count, ")) return false;\n");
  }
  return text;
}

}  // namespace

std::string OutputComparison(const BenchmarkProblem& b) {
  std::string text =
      "// Whether the candidate's call was right.\n"
      "bool Same([[maybe_unused]] Data& before, Data& got, [[maybe_unused]] Data& want) {\n";
  if (!b.problem.checker().empty()) {
    std::vector<std::string> arguments;
    for (int i = 0; i < b.problem.args_size(); ++i) {
      const Parameter& p = b.ParameterOf(i);
      if (!p.pointer) {
        arguments.push_back("got." + p.name);
        continue;
      }
      if (b.problem.args(i).array().direction() == v1::Array::INOUT) {
        arguments.push_back(absl::StrCat("before.", p.name, ".data()"));
      }
      arguments.push_back(absl::StrCat("got.", p.name, ".data()"));
    }
    if (b.problem.has_returns()) arguments.push_back("got.whet_returned");
    return absl::StrCat(text, "  return checker::check(", absl::StrJoin(arguments, ", "),
                        ");\n}\n");
  }
  for (int i = 0; i < b.problem.args_size(); ++i) {
    const v1::Argument& arg = b.problem.args(i);
    if (arg.kind_case() != v1::Argument::kArray || arg.array().direction() == v1::Array::IN) {
      continue;
    }
    const std::string name = arg.name();
    text +=
        RightCalls(b, arg.array(), absl::StrCat("got.", name, ".data()"),
                   absl::StrCat("want.", name, ".data()"), absl::StrCat("got.", name, ".count()"));
  }
  if (b.problem.has_returns()) {
    text += RightCalls(b, b.problem.returns(), "&got.whet_returned", "&want.whet_returned", "1");
  }
  return text + "  return true;\n}\n";
}

}  // namespace whetstone
