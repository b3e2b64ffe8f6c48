#include "coordinator/discover/rule_search.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "coordinator/proof/best.h"
#include "coordinator/rewrites/rewriter.h"

namespace whetstone {
namespace {

using Clock = std::chrono::steady_clock;

std::string ProgressText(const v1::Problem& problem, const Budget& budget, Clock::time_point end,
                         int measured, double fastest) {
  std::string text = absl::StrFormat("%s: %d programs measured, the fastest %.2fx", problem.id(),
                                     measured, fastest);
  if (budget.seconds) {
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(end - Clock::now()).count();
    absl::StrAppend(&text, ", at most ", std::max<int64_t>(0, left), " s more");
  }
  if (budget.candidates) absl::StrAppend(&text, " of at most ", *budget.candidates);
  return text;
}

}  // namespace

absl::StatusOr<RewriteSearch> SearchByRules(const v1::Problem& problem,
                                            const RewriteOptions& options, const Budget& budget,
                                            const RuleSearchTools& tools) {
  RETURN_IF_ERROR(tools.worker->PutUncalibrated(problem).status());
  ASSIGN_OR_RETURN(Rewriter rewriter, Rewriter::Make(problem));
  const auto end = Clock::now() + std::chrono::milliseconds(
                                      static_cast<int64_t>(1000 * budget.seconds.value_or(0)));
  int measured = 0;
  RewriteTools search;
  search.propose = [&](const std::vector<std::string>& sources) {
    return rewriter.Propose(sources, tools.stopped);
  };
  search.measure = [&](const std::string& source, double least) -> absl::StatusOr<v1::Verdict> {
    if (const v1::Verdict* known = tools.log ? tools.log->Find(source, least) : nullptr) {
      return *known;
    }
    absl::StatusOr<v1::Verdict> verdict =
        tools.worker->Measure(problem, source, /*time=*/true, /*fresh=*/false, least);
    if (verdict.ok() && tools.log) RETURN_IF_ERROR(tools.log->Add(source, *verdict));
    if (!verdict.ok() && tools.worker_failure) *tools.worker_failure = verdict.status();
    return verdict;
  };
  search.enough = [&] {
    return tools.stopped() || (budget.seconds && Clock::now() >= end) ||
           (budget.candidates && measured >= *budget.candidates);
  };
  search.progress = [&](int now_measured, double fastest) {
    measured = now_measured;
    tools.console->Status(ProgressText(problem, budget, end, measured, fastest));
  };
  return SearchRewrites(problem, options, search);
}

bool WentThrough(const RewriteSearch& search) {
  return search.ended.ok() || absl::IsFailedPrecondition(search.ended);
}

std::string SearchText(const v1::Problem& problem, const RewriteSearch& search,
                       const RewriteOptions& options, const std::string& remedy) {
  if (absl::IsFailedPrecondition(search.ended)) return std::string(search.ended.message());
  std::string text = absl::StrCat(problem.id(), ": ");
  if (search.ended.ok() && search.measured == 0 && search.too_long == 0) {
    return absl::StrCat(text, "no rule fits");
  }
  absl::StrAppend(&text, search.measured, " programs measured, ", search.right, " right");
  if (search.too_long > 0) {
    absl::StrAppend(&text, ", ", search.too_long, " too long to be looked at",
                    remedy.empty() ? "" : absl::StrCat(" (", remedy, ")"));
  }
  if (!search.ended.ok()) absl::StrAppend(&text, ", then stopped");
  if (!search.long_ended.ok() && !absl::IsCancelled(search.long_ended)) {
    absl::StrAppend(&text, "; among the long ones: ", search.long_ended.message());
  }
  if (search.measured > 0 && search.right == 0) {
    return absl::StrCat(text,
                        "; where sums may be added in another order, a wider tolerance (compare in "
                        "the prompt file) accepts more of them");
  }
  if (!search.fastest) return absl::StrCat(text, "; none is clearly faster than the reference");
  absl::StrAppend(&text, "; the fastest:");
  const auto append = [&](const FoundRewrite& rewrite) {
    absl::StrAppendFormat(&text, "\n  %7.2fx  %s", rewrite.speedup,
                          absl::StrJoin(rewrite.rules, ", then "));
  };
  const bool short_enough = std::any_of(
      search.kept.begin(), search.kept.end(),
      [&](const FoundRewrite& rewrite) { return rewrite.source == search.fastest->source; });
  if (!short_enough) {
    append(*search.fastest);
    const size_t chars = search.fastest->source.size();
    const bool fits = chars <= options.chars_kept + problem.signature().size();
    absl::StrAppendFormat(&text, " (%d characters, too long %s)", chars,
                          fits ? "for what it gains" : "to teach");
  }
  for (const FoundRewrite& rewrite : search.kept) append(rewrite);
  return text;
}

std::vector<FoundRewrite> ToShow(const RewriteSearch& search) {
  std::vector<FoundRewrite> shown = search.kept;
  const bool kept = std::any_of(shown.begin(), shown.end(), [&](const FoundRewrite& rewrite) {
    return search.fastest && rewrite.source == search.fastest->source;
  });
  if (search.fastest && !kept) shown.insert(shown.begin(), *search.fastest);
  return shown;
}

std::string ExamplesOf(const v1::Problem& problem, const std::vector<FoundRewrite>& programs) {
  std::string lines;
  size_t place = 0;
  for (const FoundRewrite& rewrite : programs) {
    const nlohmann::ordered_json example = {{"id", absl::StrCat(problem.id(), "/", ++place)},
                                            {"family", problem.id()},
                                            {"prompt_code", problem.reference()},
                                            {"rewrite", absl::StripSuffix(rewrite.source, "\n")},
                                            {"techniques", rewrite.rules},
                                            {"gain", rewrite.speedup},
                                            {"canonical_hash", rewrite.canonical_hash}};
    absl::StrAppend(&lines, example.dump(), "\n");
  }
  return lines;
}

absl::StatusOr<v1::Verdict> ProveProgram(const v1::Problem& problem, const FoundRewrite& program,
                                         const std::string& folder, LocalWorker* worker) {
  ASSIGN_OR_RETURN(v1::Verdict verdict,
                   worker->Measure(problem, program.source, /*time=*/true, /*fresh=*/true));
  if (verdict.outcome() != v1::CORRECT) {
    return absl::FailedPreconditionError(
        absl::StrCat("the fastest program was right when it was found, and then ",
                     v1::Outcome_Name(verdict.outcome()), ": ", verdict.detail()));
  }
  RETURN_IF_ERROR(WriteProof(folder, problem, program.source, verdict, {{"rules", program.rules}}));
  return verdict;
}

}  // namespace whetstone
