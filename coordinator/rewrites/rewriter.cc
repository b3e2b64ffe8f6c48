#include "coordinator/rewrites/rewriter.h"

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/problem/compile_flags.h"
#include "common/problem/struct_type.h"
#include "common/status_macros.h"
#include "coordinator/process/child_process.h"
#include "coordinator/prompt/signature.h"

namespace whetstone {
namespace {

constexpr std::chrono::minutes kAnswerDeadline{1};

absl::Status OutsideTheProtocol() {
  return absl::InternalError("whet-rewriter: an answer outside the protocol");
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
      {"sources", sources}};
  const std::string request_path = dir_.path() + "/request.json";
  const std::string answer_path = dir_.path() + "/answer.json";
  const std::string log_path = dir_.path() + "/rewriter.log";
  RETURN_IF_ERROR(WriteFileAtomically(request_path, request.dump()));
  RETURN_IF_ERROR(WriteFileAtomically(log_path, ""));
  std::error_code none_yet;
  std::filesystem::remove(answer_path, none_yet);
  ChildOptions options;
  options.argv = {ProgramDirectory() + "/whet-rewriter", request_path, answer_path};
  options.log_path = log_path;
  ASSIGN_OR_RETURN(const std::unique_ptr<ChildProcess> child, ChildProcess::Start(options));
  const std::optional<std::string> ended = child->Wait(kAnswerDeadline, cancelled);
  if (!ended) {
    if (cancelled && cancelled()) return absl::CancelledError("stopped");
    return absl::DeadlineExceededError("whet-rewriter did not answer within a minute");
  }
  if (*ended == "exit code 2") {
    return absl::InvalidArgumentError(absl::StrCat(problem_.id(), ": ", LastLines(log_path, 3)));
  }
  if (*ended != "exit code 0") {
    return absl::InternalError(
        absl::StrCat("whet-rewriter ended with ", *ended, ": ", LastLines(log_path, 3)));
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(answer_path));
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
