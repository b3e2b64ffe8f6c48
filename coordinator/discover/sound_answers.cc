#include "coordinator/discover/sound_answers.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
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
constexpr uint64_t kSizesMax = uint64_t{1} << 30;

// Arrays that nobody said are written only are changed in place.
Answers InPlace(Answers answers, const std::set<std::string>& said) {
  for (auto& [key, answer] : answers) {
    if (absl::EndsWith(key, ".kind") && answer == "out" && !said.count(key)) answer = "inout";
  }
  return answers;
}

// Returns the parameter that a key is about: "a" of "a.shape".
std::string NameOf(const std::string& key) { return key.substr(0, key.find('.')); }

// Returns b of "uniform(a, b)", of whole numbers; 0 of anything else.
uint64_t HighestOf(const std::string& fill) {
  uint64_t highest = 0;
  const size_t comma = fill.find(", ");
  const bool whole = comma != std::string::npos &&
                     absl::SimpleAtoi(fill.substr(comma + 2, fill.size() - comma - 3), &highest);
  return whole ? highest : 0;
}

// A time, a radius, a logarithm's argument is positive, and who is told how often is told a small
// number. Whole numbers in arrays stay as they are.
Answers Tame(Answers answers, const std::set<std::string>& said) {
  for (auto& [key, answer] : answers) {
    if (!absl::EndsWith(key, ".fill") || said.count(key)) continue;
    const bool array = answers.count(absl::StrCat(NameOf(key), ".shape")) > 0;
    if (answer == kUsualFloats) {
      answer = array ? kPositiveFloats : kPositiveFloat;
    } else if (!array && HighestOf(answer) > kFewMax) {
      answer = kFewTimes;
    }
  }
  return answers;
}

// Returns the sizes, the largest of the last check the last.
std::vector<std::string> SizesIn(const Answers& answers) {
  std::vector<std::string> sizes;
  for (const auto& [key, answer] : answers) {
    if (absl::EndsWith(key, ".kind") && answer == "size") sizes.push_back(NameOf(key));
  }
  const std::vector<std::string> points = absl::StrSplit(answers.at(kChecks), ',');
  std::map<std::string, int64_t> last;
  for (const absl::string_view word : absl::StrSplit(points.back(), ' ', absl::SkipWhitespace())) {
    const std::pair<std::string, std::string> size = absl::StrSplit(word, '=');
    if (!absl::SimpleAtoi(size.second, &last[size.first])) last[size.first] = 0;
  }
  absl::c_sort(sizes,
               [&](const std::string& a, const std::string& b) { return last[a] < last[b]; });
  return sizes;
}

// Returns the least of a size and what numbers filled by `usual` can count to.
std::string CountedTo(const std::string& size, const std::string& usual) {
  const uint64_t highest = HighestOf(usual);
  return highest > kSizesMax ? size : absl::StrCat("min(", size, ", ", highest, ")");
}

// Returns a range in place of `usual`: whole numbers that are places in every array that is as long
// as one of the sizes.
std::string PlacesInAll(const Answers& answers, const std::string& usual) {
  std::string least;
  for (const std::string& size : SizesIn(answers)) {
    least = least.empty() ? size : absl::StrCat("min(", least, ", ", size, ")");
  }
  return absl::StrCat("uniform(0, ", CountedTo(least, usual), "-1)");
}

// Returns ranges that show more than PlacesInAll, the widest first.
std::vector<std::string> WiderPlaces(const Answers& answers, const std::string& array,
                                     const std::string& usual) {
  std::vector<std::string> wider;
  const std::vector<std::string> sizes = SizesIn(answers);
  const auto shape = answers.find(absl::StrCat(array, ".shape"));
  // One more than there are rows tells where each begins.
  const bool begins = shape != answers.end() && absl::EndsWith(shape->second, "+1");
  for (const bool sorted : {true, false}) {
    if (sorted && !begins) continue;
    for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
      const std::string most = CountedTo(*size, usual);
      wider.push_back(sorted ? absl::StrCat("sorted(0, ", most, ")")
                             : absl::StrCat("uniform(0, ", most, "-1)"));
    }
  }
  return wider;
}

// Whole numbers in arrays are places in others.
Answers WithPlaces(const Answers& answers, const std::set<std::string>& said) {
  Answers places = answers;
  for (const auto& [key, answer] : answers) {
    const bool array = answers.count(absl::StrCat(NameOf(key), ".shape")) > 0;
    // The usual range of whole numbers is all that their type has.
    if (absl::EndsWith(key, ".fill") && array && HighestOf(answer) > 1 && !said.count(key)) {
      places[key] = PlacesInAll(answers, answer);
    }
  }
  return places;
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
    RETURN_IF_ERROR(
        ImportAnswered(files_, InPlace(answered, said_), console_, &in_place_).status());
    const Answers tame = Tame(answered, said_), tame_in_place = Tame(in_place_, said_);
    const Answers variants[] = {answered,
                                in_place_,
                                tame,
                                tame_in_place,
                                WithPlaces(tame, said_),
                                WithPlaces(tame_in_place, said_)};
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
    for (const auto& [key, before] : Answers(changed)) {
      const auto& usual_answers = answered.count(key) > 0 ? answered : in_place_;
      const auto found = usual_answers.find(key);
      if (key == kChecks || found == usual_answers.end() || before == found->second) continue;
      if (changed.count(key) == 0) continue;  // It is asked no more.
      const std::string& usual = found->second;
      std::vector<std::string> wider = {usual};
      if (changed[key] == PlacesInAll(answered, usual)) {
        for (std::string& places : WiderPlaces(answered, NameOf(key), usual)) {
          wider.push_back(std::move(places));
        }
      }
      for (const std::string& answer : wider) {
        if (answer == changed[key]) break;
        Answers one = changed;
        one[key] = answer;
        // What is asked only of an array that is changed in place is asked no more.
        const std::string name = key.substr(0, key.rfind('.') + 1);
        if (absl::EndsWith(key, ".kind")) {
          std::erase_if(one, [&](const auto& each) {
            return absl::StartsWith(each.first, name) && !answered.count(each.first);
          });
        }
        if (one == answered) continue;  // That is not right.
        ASSIGN_OR_RETURN(const bool right, IsRight(one));
        if (!right) continue;
        changed = std::move(one);
        break;
      }
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
  Answers in_place_;           // the usual answers where arrays are changed in place
};

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> SoundAnswers(
    const ImportFiles& files, const std::map<std::string, std::string>& answered,
    const std::set<std::string>& said, LocalWorker* worker, Console* console) {
  return SoundSearch(files, said, worker, console).Run(answered);
}

}  // namespace whetstone
