#include "coordinator/discover/sound_answers.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "coordinator/authoring/input_generator.h"
#include "coordinator/authoring/problem_import.h"
#include "coordinator/discover/answer_trial.h"
#include "coordinator/discover/length_program.h"
#include "coordinator/prompt/prompt_file.h"
#include "coordinator/prompt/signature.h"

namespace whetstone {
namespace {

constexpr size_t kSoundChecksMin = 2;
constexpr char kPositiveFloats[] = "uniform(0.1, 1)";
constexpr char kOverOne[] = "uniform(1, 8)";  // a capacity, a strength: more than arrays hold
constexpr uint64_t kFewMax = 1000;
constexpr uint64_t kSizesMax = uint64_t{1} << 30;

// Arrays that nobody said are written only are changed in place.
Answers InPlace(Answers answers, const std::set<std::string>& said) {
  for (auto& [key, answer] : answers) {
    if (absl::EndsWith(key, ".kind") && answer == "out" && !said.count(key)) answer = "inout";
  }
  return answers;
}

// A time, a radius, a logarithm's argument is positive, a share (`of_one`) no more than one, and
// who is told how often is told a small number. Whole numbers in arrays stay as they are.
Answers Tame(Answers answers, const std::set<std::string>& said, const char* of_one) {
  for (auto& [key, answer] : answers) {
    if (!absl::EndsWith(key, ".fill") || said.count(key)) continue;
    const bool array = FillsAnArray(answers, key);
    if (answer == kUsualFloats || answer == kPositiveFloat) {
      answer = array ? kPositiveFloats : of_one;
    } else if (!array && HighestOf(answer) > kFewMax) {
      answer = kFewTimes;
    }
  }
  return answers;
}

// Returns the least of a size and what numbers filled by `usual` can count to.
std::string CountedTo(const std::string& size, const std::string& usual) {
  const uint64_t highest = HighestOf(usual);
  return highest > kSizesMax ? size : absl::StrCat("min(", size, ", ", highest, ")");
}

// Returns a range in place of `usual`: whole numbers that are places in every array that is as long
// as one of the sizes.
std::string PlacesInAll(const Answers& answers, const std::string& usual) {
  return absl::StrCat("uniform(0, ", CountedTo(LeastSize(answers), usual), "-1)");
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
    if (FillsAnArray(answers, key) && HighestOfType(answer) > 0 && !said.count(key)) {
      places[key] = PlacesInAll(answers, answer);
    }
  }
  return places;
}

// Where several containers have sizes of their own, they may have to be one.
Answers WithSizesAlike(Answers answers) {
  std::vector<std::string> points;
  for (const absl::string_view point : absl::StrSplit(answers[kChecksKey], ',')) {
    PointSizes sizes = SizesOfPoint(point);
    int64_t least = sizes.empty() ? 0 : sizes.front().second;
    for (const auto& [name, size] : sizes) least = std::min(least, size);
    for (auto& [name, size] : sizes) size = least;
    points.push_back(PointOf(sizes));
  }
  answers[kChecksKey] = absl::StrJoin(points, ", ");
  return answers;
}

// Whole numbers in arrays say how often, or how many, too; where they are places, in an array that
// the probe saw them in.
Answers WithFewTimes(Answers answers, const std::set<std::string>& said) {
  for (auto& [key, answer] : answers) {
    if (FillsAnArray(answers, key) && HighestOfType(answer) > 0 && !said.count(key))
      answer = absl::StrCat("uniform(1, ", kFewNumbers - 1, ")");
  }
  return answers;
}

class SoundSearch {
 public:
  SoundSearch(const ImportFiles& files, const std::set<std::string>& said, LocalWorker* worker,
              Console* console)
      : files_(files), said_(said), console_(console), trial_(files, said, worker, console) {}

  absl::StatusOr<Answers> Run(const Answers& answered) {
    ASSIGN_OR_RETURN(const bool right, trial_.Holds(answered));
    if (right) return answered;
    const std::string why = trial_.why();
    if (!trial_.inputs_matter()) {
      return absl::InvalidArgumentError(absl::StrCat(files_.file, ": ", why));
    }
    // Answers to what is asked only of arrays that are changed in place are there as well then.
    RETURN_IF_ERROR(
        ImportAnswered(files_, InPlace(answered, said_), console_, &in_place_).status());
    const Answers tame = Tame(answered, said_, kPositiveFloat);
    const Answers tame_in_place = Tame(in_place_, said_, kPositiveFloat);
    const Answers variants[] = {answered,
                                in_place_,
                                tame,
                                tame_in_place,
                                WithPlaces(tame, said_),
                                WithPlaces(tame_in_place, said_),
                                WithPlaces(Tame(answered, said_, kPositiveFloats), said_),
                                WithPlaces(Tame(in_place_, said_, kPositiveFloats), said_),
                                WithFewTimes(tame, said_),
                                WithFewTimes(tame_in_place, said_),
                                Tame(answered, said_, kOverOne),
                                Tame(in_place_, said_, kOverOne)};
    // What reads beyond an array may want all to be equally long.
    const bool alike = !said_.count(kChecksKey) && absl::StrContains(why, "crashed") &&
                       WithSizesAlike(answered) != answered;
    for (const auto& [fewer_sizes, sizes_alike] : {std::pair(false, false), std::pair(false, true),
                                                   std::pair(true, false), std::pair(true, true)}) {
      if (sizes_alike && !alike) continue;
      std::set<Answers> seen;
      if (!fewer_sizes) seen.insert(answered);
      for (Answers tried : variants) {
        if (sizes_alike) tried = WithSizesAlike(std::move(tried));
        if (!seen.insert(tried).second) continue;
        left_out_.clear();
        ASSIGN_OR_RETURN(const bool sound,
                         fewer_sizes ? LeaveOutSizes(&tried) : trial_.IsRight(tried));
        if (!sound) continue;
        ASSIGN_OR_RETURN(tried, WithFewerChanges(answered, std::move(tried)));
        ASSIGN_OR_RETURN(const bool holds, trial_.Holds(tried));
        if (!holds) continue;
        trial_.TellChanges("so that the function, run against itself, is right", answered, tried,
                           left_out_.empty() ? "" : absl::StrCat("not at ", left_out_));
        return tried;
      }
    }
    ASSIGN_OR_RETURN(const std::string advice, Advice(answered));
    return absl::InvalidArgumentError(absl::StrCat(
        files_.file, ": the function, run against itself, is not right: ", why,
        ". With what it is called matters: say with ", kAnswerOption,
        " how arguments are filled (NAME.fill=uniform(1, 9)), how long they are (NAME.shape=n+1), "
        "whether they are sizes or values (NAME.kind=value), at which sizes it is checked and "
        "timed (check=, timed=)",
        advice));
  }

 private:
  absl::StatusOr<std::string> Advice(const Answers& answered) const {
    if (files_.generator) return std::string();
    ASSIGN_OR_RETURN(const ImportedProblem made, ImportAnswered(files_, answered, console_));
    ASSIGN_OR_RETURN(const v1::Problem problem, ParsePrompt(made.text, files_.file));
    ASSIGN_OR_RETURN(const Signature signature, ParseSignature(problem));
    return GeneratorAdvice(signature);
  }

  // Leaves out the smallest sizes, up to the largest at which it fails. Returns false where none or
  // too few are left, or they are not ours to choose.
  absl::StatusOr<bool> LeaveOutSizes(Answers* answered) {
    if (said_.count(kChecksKey)) return false;
    std::vector<std::string> sizes = absl::StrSplit((*answered)[kChecksKey], ','), sound;
    while (!sizes.empty()) {
      Answers one = *answered;
      one[kChecksKey] = std::string(absl::StripAsciiWhitespace(sizes.back()));
      ASSIGN_OR_RETURN(const bool right, trial_.IsRight(one));
      if (!right) break;
      sound.insert(sound.begin(), one[kChecksKey]);
      sizes.pop_back();
    }
    if (sound.size() < kSoundChecksMin || sizes.empty()) return false;
    left_out_ = absl::StrCat(absl::StrJoin(sizes, ","), ": ", trial_.why());
    (*answered)[kChecksKey] = absl::StrJoin(sound, ", ");
    return true;
  }

  // What is usual is worth keeping: of an array that is written only a program must write all, and
  // wide ranges show more.
  absl::StatusOr<Answers> WithFewerChanges(const Answers& answered, Answers changed) {
    for (const auto& [key, before] : Answers(changed)) {
      const auto& usual_answers = answered.count(key) > 0 ? answered : in_place_;
      const auto found = usual_answers.find(key);
      if (key == kChecksKey || found == usual_answers.end() || before == found->second) continue;
      if (changed.count(key) == 0) continue;  // It is asked no more.
      const std::string& usual = found->second;
      std::vector<std::string> wider = {usual};
      if (changed[key] == PlacesInAll(answered, usual)) {
        for (std::string& places : WiderPlaces(answered, ParameterOf(key), usual)) {
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
        ASSIGN_OR_RETURN(const bool right, trial_.IsRight(one));
        if (!right) continue;
        changed = std::move(one);
        break;
      }
    }
    return changed;
  }

  const ImportFiles& files_;
  const std::set<std::string>& said_;
  Console* const console_;
  AnswerTrial trial_;
  std::string left_out_;  // sizes, and why
  Answers in_place_;      // the usual answers where arrays are changed in place
};

}  // namespace

absl::StatusOr<Answers> SoundAnswers(const ImportFiles& files, const Answers& answered,
                                     const std::set<std::string>& said, LocalWorker* worker,
                                     Console* console) {
  return SoundSearch(files, said, worker, console).Run(answered);
}

}  // namespace whetstone
