#include "coordinator/rewrites/rewriter.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/problem/compile_flags.h"
#include "common/problem/struct_type.h"
#include "common/status_macros.h"
#include "coordinator/prompt/identifiers.h"
#include "coordinator/prompt/signature.h"
#include "coordinator/rewrites/rewriter_call.h"

namespace whetstone {
namespace {

// Returns how many elements each array has, as C++ makes it of the function's parameters; those are
// left out of which the sizes are no parameters, or not so simple.
std::map<std::string, std::string> LengthsOf(const v1::Problem& problem) {
  std::map<std::string, std::string> parameter_of;  // by size
  for (const v1::Argument& argument : problem.args()) {
    if (argument.has_size()) parameter_of.emplace(argument.size(), argument.name());
  }
  std::map<std::string, std::string> lengths;
  for (const v1::Argument& argument : problem.args()) {
    std::string length;
    bool known = argument.has_array();
    for (const std::string& extent : argument.array().shape()) {
      const std::string text = MapIdentifiers(extent, [&](const std::string& name) {
        const auto found = parameter_of.find(name);
        known = known && found != parameter_of.end();
        return known ? found->second : name;
      });
      absl::StrAppend(&length, length.empty() ? "(long)(" : " * (", text, ")");
    }
    if (known && !length.empty()) lengths[argument.name()] = length;
  }
  return lengths;
}

}  // namespace

Rewriter::Rewriter(v1::Problem problem, std::string function, TempDir dir)
    : problem_(std::move(problem)), function_(std::move(function)), dir_(std::move(dir)) {}

absl::StatusOr<Rewriter> Rewriter::Make(const v1::Problem& problem) {
  ASSIGN_OR_RETURN(const Signature signature, ParseSignature(problem));
  ASSIGN_OR_RETURN(TempDir dir, TempDir::Make("rewrite"));
  return Rewriter(problem, signature.name, std::move(dir));
}

absl::StatusOr<std::vector<std::vector<ProposedRewrite>>> Rewriter::Propose(
    const std::vector<std::string>& sources, const std::function<bool()>& cancelled) {
  const v1::CompileRules& rules = problem_.compile();
  const nlohmann::json request = {
      {"flags", ParserFlags(rules)},
      {"headers", std::vector<std::string>(rules.headers().begin(), rules.headers().end())},
      {"structs", StructText(problem_)},
      {"function", function_},
      {"lengths", LengthsOf(problem_)},
      {"sources", sources}};
  ASSIGN_OR_RETURN(const std::string text,
                   CallRewriter(request.dump(), dir_.path(), problem_.id(), cancelled));
  const nlohmann::json answer = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  std::vector<std::vector<ProposedRewrite>> proposed;
  try {
    for (const auto& list : answer.at("rewrites")) {
      std::vector<ProposedRewrite>& of_source = proposed.emplace_back();
      for (const auto& rewrite : list) {
        of_source.push_back(
            {rewrite.at("rule").get<std::string>(), rewrite.at("source").get<std::string>()});
      }
    }
    if (proposed.size() != sources.size()) return OutsideTheProtocol();
    if (const auto why = answer.at("refused").at(0).get<std::string>();
        sources.size() == 1 && !why.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat(problem_.id(), ": rules cannot rewrite the function: ", why));
    }
  } catch (const nlohmann::json::exception&) {
    return OutsideTheProtocol();
  }
  return proposed;
}

}  // namespace whetstone
