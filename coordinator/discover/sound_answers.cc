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
#include "coordinator/prompt/prompt_file.h"

namespace whetstone {
namespace {

using Answers = std::map<std::string, std::string>;

constexpr char kChecks[] = "check";
constexpr size_t kSoundChecksMin = 2;
constexpr double kPatienceS = 1;
constexpr char kUsualFloats[] = "uniform(-1, 1)";
constexpr char kPositiveFloats[] = "uniform(0.1, 1)";
constexpr char kPositiveFloat[] = "uniform(0.5, 1.5)";
constexpr char kFewTimes[] = "uniform(1, 8)";
constexpr int64_t kFewMax = 1000;

// Arrays that nobody said are written only are changed in place.
Answers InPlace(Answers answers, const std::set<std::string>& given) {
  for (auto& [key, answer] : answers) {
    if (absl::EndsWith(key, ".kind") && answer == "out" && !given.count(key)) answer = "inout";
  }
  return answers;
}

// A time, a radius, a logarithm's argument is positive, and who is told how often is told a small
// number.
Answers Tame(Answers answers, const std::set<std::string>& given) {
  for (auto& [key, answer] : answers) {
    if (!absl::EndsWith(key, ".fill") || given.count(key)) continue;
    const bool array = answers.count(absl::StrCat(key.substr(0, key.find('.')), ".shape")) > 0;
    int64_t highest = 0;
    const size_t comma = answer.find(", ");
    const bool whole =
        comma != std::string::npos &&
        absl::SimpleAtoi(answer.substr(comma + 2, answer.size() - comma - 3), &highest);
    if (answer == kUsualFloats) {
      answer = array ? kPositiveFloats : kPositiveFloat;
    } else if (whole && highest > kFewMax) {
      answer = kFewTimes;
    }
  }
  return answers;
}

class SoundSearch {
 public:
  SoundSearch(const ImportFiles& files, const std::set<std::string>& given, LocalWorker* worker,
              Console* console)
      : files_(files), given_(given), worker_(worker), console_(console) {}

  absl::StatusOr<Answers> Run(const Answers& answered) {
    console_->Status("whether the function agrees with itself");
    ASSIGN_OR_RETURN(const bool right, IsRight(answered));
    if (right) return answered;
    const std::string why = why_;
    const Answers tame = Tame(answered, given_);
    std::set<Answers> seen;
    for (Answers tried : {answered, InPlace(answered, given_), tame, InPlace(tame, given_)}) {
      if (!seen.insert(tried).second) continue;
      left_out_.clear();
      ASSIGN_OR_RETURN(const bool as_it_is, tried == answered ? false : IsRight(tried));
      ASSIGN_OR_RETURN(const bool sound, as_it_is ? true : LeaveOutSizes(&tried));
      if (!sound) continue;
      ASSIGN_OR_RETURN(tried, WithFewerChanges(answered, std::move(tried)));
      Tell(answered, tried);
      return tried;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        files_.file, ": the function, run against itself, is not right: ", why,
        ". With what it is called matters: say with ", kAnswerOption,
        " how arguments are filled (NAME.fill=uniform(1, 9)), how long they are (NAME.shape=n+1), "
        "whether they are sizes or values (NAME.kind=value)"));
  }

 private:
  // Returns whether the reference is right with these answers; why_ says why not.
  absl::StatusOr<bool> IsRight(const Answers& answered) {
    ASSIGN_OR_RETURN(const ImportedProblem made, ImportAnswered(files_, answered, console_));
    ASSIGN_OR_RETURN(v1::Problem problem, ParsePrompt(made.text, files_.file));
    // All sizes are small: what takes longer never ends.
    problem.mutable_limits()->set_run_s(kPatienceS);
    const absl::Status put = worker_->PutUncalibrated(problem).status();
    why_ = std::string(put.message());
    if (absl::IsInvalidArgument(put)) return false;
    RETURN_IF_ERROR(put);
    const absl::StatusOr<v1::Verdict> verdict =
        worker_->Measure(problem, problem.reference(), /*time=*/true, /*fresh=*/false);
    why_ = std::string(verdict.status().message());
    if (absl::IsInvalidArgument(verdict.status())) return false;
    RETURN_IF_ERROR(verdict.status());
    why_ = absl::StrCat(v1::Outcome_Name(verdict->outcome()), ": ", verdict->detail());
    return verdict->outcome() == v1::CORRECT;
  }

  // Leaves out small sizes. Returns false where the largest is no better, too few are left, or they
  // are not ours to choose.
  absl::StatusOr<bool> LeaveOutSizes(Answers* answered) {
    if (given_.count(kChecks)) return false;
    std::vector<std::string> points = absl::StrSplit((*answered)[kChecks], ','), sound;
    std::reverse(points.begin(), points.end());
    for (const std::string& point : points) {
      Answers one = *answered;
      one[kChecks] = std::string(absl::StripAsciiWhitespace(point));
      ASSIGN_OR_RETURN(const bool right, IsRight(one));
      if (right) {
        sound.insert(sound.begin(), one[kChecks]);
      } else if (sound.empty()) {
        return false;
      } else {
        left_out_.insert(left_out_.begin(), absl::StrCat(one[kChecks], ": ", why_));
      }
    }
    if (sound.size() < kSoundChecksMin) return false;
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
      if (one == answered) continue;  // That is not right.
      ASSIGN_OR_RETURN(const bool right, IsRight(one));
      if (right) changed = std::move(one);
    }
    return changed;
  }

  void Tell(const Answers& answered, const Answers& changed) {
    std::vector<std::string> lines;
    for (const auto& [key, answer] : changed) {
      if (answer != answered.at(key)) lines.push_back(absl::StrCat(key, "=", answer));
    }
    for (const std::string& size : left_out_) lines.push_back(absl::StrCat("not at ", size));
    console_->Line(absl::StrCat("so that the function, run against itself, is right (",
                                kAnswerOption, " KEY=VALUE says otherwise):\n  ",
                                absl::StrJoin(lines, "\n  ")));
  }

  const ImportFiles& files_;
  const std::set<std::string>& given_;
  LocalWorker* const worker_;
  Console* const console_;
  std::string why_;
  std::vector<std::string> left_out_;  // each with why
};

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> SoundAnswers(
    const ImportFiles& files, const std::map<std::string, std::string>& answered,
    const std::set<std::string>& given, LocalWorker* worker, Console* console) {
  return SoundSearch(files, given, worker, console).Run(answered);
}

}  // namespace whetstone
