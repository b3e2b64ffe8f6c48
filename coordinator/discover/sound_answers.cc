#include "coordinator/discover/sound_answers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "coordinator/authoring/negative_controls.h"
#include "coordinator/prompt/prompt_file.h"

namespace whetstone {
namespace {

using Answers = std::map<std::string, std::string>;

constexpr char kChecks[] = "check";
constexpr char kTimedSizes[] = "timed";
constexpr size_t kSoundChecksMin = 2;
constexpr double kPatienceS = 1;
constexpr char kUsualFloats[] = "uniform(-1, 1)";
constexpr char kPositiveFloats[] = "uniform(0.1, 1)";
constexpr char kPositiveFloat[] = "uniform(0.5, 1.5)";
constexpr char kFewTimes[] = "uniform(1, 8)";
constexpr uint64_t kFewMax = 1000;

// Arrays that nobody said are written only are changed in place.
Answers InPlace(Answers answers, const std::set<std::string>& said) {
  for (auto& [key, answer] : answers) {
    if (absl::EndsWith(key, ".kind") && answer == "out" && !said.count(key)) answer = "inout";
  }
  return answers;
}

// Returns b of "uniform(a, b)", of whole numbers; 0 of anything else.
uint64_t HighestOf(const std::string& fill) {
  uint64_t highest = 0;
  const size_t comma = fill.find(", ");
  const bool whole = comma != std::string::npos &&
                     absl::SimpleAtoi(fill.substr(comma + 2, fill.size() - comma - 3), &highest);
  return whole ? highest : 0;
}

// A time, a radius, a logarithm's argument is positive, and who is told how often is told a small
// number. Whole numbers in arrays stay as they are: they may be places in another.
Answers Tame(Answers answers, const std::set<std::string>& said) {
  for (auto& [key, answer] : answers) {
    if (!absl::EndsWith(key, ".fill") || said.count(key)) continue;
    const bool array = answers.count(absl::StrCat(key.substr(0, key.find('.')), ".shape")) > 0;
    if (answer == kUsualFloats) {
      answer = array ? kPositiveFloats : kPositiveFloat;
    } else if (!array && HighestOf(answer) > kFewMax) {
      answer = kFewTimes;
    }
  }
  return answers;
}

class SoundSearch {
 public:
  SoundSearch(const ImportFiles& files, const std::set<std::string>& said, LocalWorker* worker,
              Console* console)
      : files_(files), said_(said), worker_(worker), console_(console) {}

  absl::StatusOr<Answers> Run(const Answers& answered) {
    ASSIGN_OR_RETURN(const bool right, Holds(answered));
    if (right) return answered;
    const std::string why = why_;
    if (!inputs_matter_) {
      return absl::InvalidArgumentError(absl::StrCat(files_.file, ": ", why));
    }
    // Answers to what is asked only of arrays that are changed in place are there as well then.
    Answers in_place;
    RETURN_IF_ERROR(ImportAnswered(files_, InPlace(answered, said_), console_, &in_place).status());
    const Answers variants[] = {answered, in_place, Tame(answered, said_), Tame(in_place, said_)};
    for (const bool fewer_sizes : {false, true}) {
      std::set<Answers> seen;
      if (!fewer_sizes) seen.insert(answered);
      for (Answers tried : variants) {
        if (!seen.insert(tried).second) continue;
        left_out_.clear();
        ASSIGN_OR_RETURN(const bool sound, fewer_sizes ? LeaveOutSizes(&tried) : IsRight(tried));
        if (!sound) continue;
        ASSIGN_OR_RETURN(tried, WithFewerChanges(answered, std::move(tried)));
        ASSIGN_OR_RETURN(const bool holds, Holds(tried));
        if (!holds) continue;
        Tell(answered, tried);
        return tried;
      }
    }
    return absl::InvalidArgumentError(absl::StrCat(
        files_.file, ": the function, run against itself, is not right: ", why,
        ". With what it is called matters: say with ", kAnswerOption,
        " how arguments are filled (NAME.fill=uniform(1, 9)), how long they are (NAME.shape=n+1), "
        "whether they are sizes or values (NAME.kind=value), at which sizes it is checked and "
        "timed (check=, timed=)"));
  }

 private:
  // Returns whether the reference is right with these answers, timed too, and only writes what it
  // is said to write only; why_ says why not.
  absl::StatusOr<bool> Holds(const Answers& answered) { return IsRight(answered, /*time=*/true); }

  // The same; without timing in half the time, which is not the last word.
  absl::StatusOr<bool> IsRight(const Answers& answered, bool time = false) {
    ASSIGN_OR_RETURN(const v1::Problem problem, ProblemOf(answered));
    ASSIGN_OR_RETURN(const bool right, Agrees(problem, problem.reference(), time));
    if (!right) return false;
    ASSIGN_OR_RETURN(const std::string clearing, ClearingOutputsFirst(problem));
    return Agrees(problem, clearing, /*time=*/false);
  }

  absl::StatusOr<v1::Problem> ProblemOf(const Answers& answered) {
    ASSIGN_OR_RETURN(const ImportedProblem made, ImportAnswered(files_, answered, console_));
    ASSIGN_OR_RETURN(v1::Problem problem, ParsePrompt(made.text, files_.file));
    // Where all sizes are small, what takes longer never ends.
    if (!said_.count(kChecks) && !said_.count(kTimedSizes)) {
      problem.mutable_limits()->set_run_s(kPatienceS);
    }
    return problem;
  }

  absl::StatusOr<bool> Agrees(const v1::Problem& problem, const std::string& source, bool time) {
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
          worker_->Measure(problem, source, time, /*fresh=*/time || again);
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

  // Leaves out the smallest sizes, up to the largest at which it fails. Returns false where none or
  // too few are left, or they are not ours to choose.
  absl::StatusOr<bool> LeaveOutSizes(Answers* answered) {
    if (said_.count(kChecks)) return false;
    std::vector<std::string> sizes = absl::StrSplit((*answered)[kChecks], ','), sound;
    while (!sizes.empty()) {
      Answers one = *answered;
      one[kChecks] = std::string(absl::StripAsciiWhitespace(sizes.back()));
      ASSIGN_OR_RETURN(const bool right, IsRight(one));
      if (!right) break;
      sound.insert(sound.begin(), one[kChecks]);
      sizes.pop_back();
    }
    if (sound.size() < kSoundChecksMin || sizes.empty()) return false;
    left_out_ = absl::StrCat(absl::StrJoin(sizes, ","), ": ", why_);
    (*answered)[kChecks] = absl::StrJoin(sound, ", ");
    return true;
  }

  // What is usual is worth keeping: of an array that is written only a program must write all, and
  // wide ranges show more.
  absl::StatusOr<Answers> WithFewerChanges(const Answers& answered, Answers changed) {
    for (const auto& [key, usual] : answered) {
      if (key == kChecks || changed[key] == usual) continue;
      Answers one = changed;
      one[key] = usual;
      // What is asked only of an array that is changed in place is asked no more.
      const std::string name = key.substr(0, key.rfind('.') + 1);
      if (absl::EndsWith(key, ".kind")) {
        std::erase_if(one, [&](const auto& each) {
          return absl::StartsWith(each.first, name) && !answered.count(each.first);
        });
      }
      if (one == answered) continue;  // That is not right.
      ASSIGN_OR_RETURN(const bool right, IsRight(one));
      if (right) changed = std::move(one);
    }
    return changed;
  }

  void Tell(const Answers& answered, const Answers& changed) {
    std::vector<std::string> lines;
    for (const auto& [key, answer] : changed) {
      const auto before = answered.find(key);
      if (before == answered.end() || answer != before->second) {
        lines.push_back(absl::StrCat(key, "=", answer));
      }
    }
    if (!left_out_.empty()) lines.push_back(absl::StrCat("not at ", left_out_));
    console_->Line(absl::StrCat("so that the function, run against itself, is right (",
                                kAnswerOption, " KEY=VALUE says otherwise):\n  ",
                                absl::StrJoin(lines, "\n  ")));
  }

  const ImportFiles& files_;
  const std::set<std::string>& said_;
  LocalWorker* const worker_;
  Console* const console_;
  int runs_ = 0;
  std::string why_;
  bool inputs_matter_ = true;  // to what why_ says
  std::string left_out_;       // sizes, and why
};

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> SoundAnswers(
    const ImportFiles& files, const std::map<std::string, std::string>& answered,
    const std::set<std::string>& said, LocalWorker* worker, Console* console) {
  return SoundSearch(files, said, worker, console).Run(answered);
}

}  // namespace whetstone
