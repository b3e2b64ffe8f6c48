#include "coordinator/authoring/mutant_check.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/authoring/mutants.h"

namespace whetstone {
namespace {

using Level = ProblemFinding::Level;

// They take a fifth of a second each.
constexpr size_t kReachMutantsMax = 16;
constexpr size_t kWrongMutantsMax = 16;

bool Ran(v1::Outcome outcome) {
  return outcome == v1::WRONG_ANSWER || outcome == v1::CRASH || outcome == v1::TIMEOUT ||
         outcome == v1::MEMORY_LIMIT;
}

// How many of a kind were tried, and how many of them somebody noticed.
struct Tally {
  int tried = 0;
  int noticed = 0;
};

}  // namespace

absl::Status CheckMutants(const v1::Problem& problem, const std::string& reference_object,
                          const PromptLocations& locations, const ProblemTools& tools,
                          ProblemReport* report) {
  Tally branches, changes;
  std::set<int> named;  // Lines whose condition has one value only: their changes are no news.
  for (const Mutant& mutant :
       MakeMutants(problem.reference(), kReachMutantsMax, kWrongMutantsMax)) {
    const bool reach = mutant.kind == Mutant::Kind::kReach;
    if (!reach && named.count(mutant.line) > 0) continue;
    ASSIGN_OR_RETURN(const v1::Verdict verdict, tools.measure(mutant.source, /*time=*/false));
    const bool right = verdict.outcome() == v1::CORRECT;
    // One that is no program says nothing, nor does one that the compiler makes the same of.
    if (!right && !Ran(verdict.outcome())) continue;
    if (right && !reference_object.empty() && verdict.object_hash() == reference_object) continue;
    Tally& tally = reach ? branches : changes;
    ++tally.tried;
    if (!right) {
      ++tally.noticed;
      continue;
    }
    const std::string where = absl::StrCat("line ", mutant.line, " of the reference: ");
    if (reach) {
      named.insert(mutant.line);
      report->findings.push_back(
          {Level::kWarning, "inputs", locations.Of("reference"),
           absl::StrCat(where, mutant.change,
                        ": programs that are wrong there pass for right; choose fills or a "
                        "generator, or sizes, that reach it")});
    } else {
      report->findings.push_back(
          {Level::kWarning, "changes", locations.Of("reference"),
           absl::StrCat(where, "a program in which ", mutant.change,
                        " passes for right: if it is wrong, choose inputs that show it, or lower "
                        "the tolerance")});
    }
  }
  if (branches.tried > 0 && branches.noticed == branches.tried) {
    report->findings.push_back({Level::kPassed, "inputs", "",
                                absl::StrCat("take all ", branches.tried,
                                             " branches of the reference that were asked for")});
  }
  if (changes.tried > 0 && changes.noticed == changes.tried) {
    report->findings.push_back(
        {Level::kPassed, "changes", "",
         absl::StrCat(changes.tried, " small changes of the reference, all caught")});
  }
  return absl::OkStatus();
}

}  // namespace whetstone
