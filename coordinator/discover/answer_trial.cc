#include "coordinator/discover/answer_trial.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "coordinator/prompt/prompt_file.h"

namespace whetstone {
namespace {

constexpr double kPatienceS = 1;
// A program that does not do the work is wrong with so many draws of inputs, or it passes: what is
// wrong now and then (few inputs have a rate that is too low) would pass when it is next checked.
constexpr int kDraws = 3;

}  // namespace

absl::StatusOr<bool> AnswerTrial::IsRight(const Answers& answered, bool time) {
  const absl::StatusOr<v1::Problem> problem = ProblemOf(answered);
  if (absl::IsInvalidArgument(problem.status())) {
    inputs_matter_ = false;
    why_ = std::string(problem.status().message());
    return false;
  }
  RETURN_IF_ERROR(problem.status());
  ASSIGN_OR_RETURN(const bool right, Agrees(*problem, problem->reference(), time));
  if (!right) return false;
  ASSIGN_OR_RETURN(const std::string clearing, ClearingOutputsFirst(*problem));
  return Agrees(*problem, clearing, /*time=*/false);
}

absl::StatusOr<std::vector<NegativeControl>> AnswerTrial::PassingControls(const Answers& answered,
                                                                          size_t enough) {
  ASSIGN_OR_RETURN(const v1::Problem problem, ProblemOf(answered));
  ASSIGN_OR_RETURN(std::vector<NegativeControl> controls, MakeNegativeControls(problem));
  RETURN_IF_ERROR(worker_->PutUncalibrated(problem).status());
  // The last ones, which ignore an input, pass most easily.
  std::reverse(controls.begin(), controls.end());
  std::vector<NegativeControl> passing;
  for (const NegativeControl& control : controls) {
    if (control.needs_timing) continue;
    console_->Status(absl::StrCat("whether the inputs tell right from wrong: ", control.name));
    v1::Outcome outcome = v1::WRONG_ANSWER;
    for (int draw = 0; draw < kDraws && outcome == v1::WRONG_ANSWER; ++draw) {
      ASSIGN_OR_RETURN(const v1::Verdict verdict,
                       worker_->Measure(problem, control.source,
                                        /*time=*/false, /*fresh=*/draw > 0));
      outcome = verdict.outcome();
    }
    if (outcome == v1::CORRECT || outcome == v1::SUSPECT) passing.push_back(control);
    if (passing.size() == enough) break;
  }
  return passing;
}

absl::StatusOr<v1::Problem> AnswerTrial::ProblemOf(const Answers& answered) {
  ASSIGN_OR_RETURN(const ImportedProblem made, ImportAnswered(files_, answered, console_));
  ASSIGN_OR_RETURN(v1::Problem problem, ParsePrompt(made.text, files_.file));
  // Where all sizes are small, what takes longer never ends.
  if (!said_.count(kChecksKey) && !said_.count(kTimedKey)) {
    problem.mutable_limits()->set_run_s(kPatienceS);
  }
  return problem;
}

absl::StatusOr<bool> AnswerTrial::Agrees(const v1::Problem& problem, const std::string& source,
                                         bool time) {
  console_->Status(absl::StrCat("whether the function agrees with itself: run ", ++runs_));
  inputs_matter_ = false;
  const absl::Status put = worker_->PutUncalibrated(problem).status();
  why_ = std::string(put.message());
  if (absl::IsInvalidArgument(put)) return false;
  RETURN_IF_ERROR(put);
  // What is not for the inputs (a nap, a speed that is doubted) may be chance: once more, then.
  for (const bool again : {false, true}) {
    inputs_matter_ = true;
    const absl::StatusOr<v1::Verdict> verdict =
        worker_->Measure(problem, source, time, /*fresh=*/again, kBriefly);
    why_ = std::string(verdict.status().message());
    if (absl::IsInvalidArgument(verdict.status())) return false;
    RETURN_IF_ERROR(verdict.status());
    const v1::Outcome outcome = verdict->outcome();
    if (outcome == v1::CORRECT) return true;
    why_ = absl::StrCat(v1::Outcome_Name(outcome), ": ", verdict->detail());
    inputs_matter_ = outcome == v1::WRONG_ANSWER || outcome == v1::CRASH ||
                     outcome == v1::TIMEOUT || outcome == v1::MEMORY_LIMIT;
    if (inputs_matter_) return false;
  }
  return false;
}

void AnswerTrial::TellChanges(const std::string& what_for, const Answers& before,
                              const Answers& after, const std::string& more) const {
  std::vector<std::string> lines;
  for (const auto& [key, answer] : after) {
    if (key == kTimedKey) continue;
    const auto found = before.find(key);
    if (found == before.end() || answer != found->second) {
      lines.push_back(absl::StrCat(key, "=", answer));
    }
  }
  if (!more.empty()) lines.push_back(more);
  console_->Line(absl::StrCat(what_for, " (", kAnswerOption, " KEY=VALUE says otherwise):\n  ",
                              absl::StrJoin(lines, "\n  ")));
}

}  // namespace whetstone
