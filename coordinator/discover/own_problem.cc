#include "coordinator/discover/own_problem.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/file.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "coordinator/discover/answer_keys.h"
#include "coordinator/discover/import_answers.h"
#include "coordinator/discover/sound_answers.h"
#include "coordinator/discover/telling_answers.h"
#include "coordinator/loop/local_worker.h"
#include "coordinator/prompt/prompt_file.h"

namespace whetstone {
namespace {

constexpr int64_t kSizeMin = 32;  // to begin with
constexpr int64_t kSizeLeast = 4;
constexpr int64_t kSizeMax = int64_t{1} << 24;
constexpr int64_t kOtherSize = 8;              // of sizes that do not grow
constexpr int64_t kStalledAt = 64 * kSizeMin;  // where a call that takes no longer
constexpr double kStalledNs = 100;             // than this does not grow with its sizes
// Where a call takes less than so many times as long as at sizes so many times smaller, more do not
// make it long enough either: it ends wherever it finds what it looks for.
constexpr int64_t kFlatAt = int64_t{1} << 17;
constexpr int64_t kFlatOver = 64;
constexpr double kFlatGrowth = 8;
constexpr double kCubic = 64;       // A call at four times the size takes so much longer.
constexpr double kCallNs = 1e5;     // that a call should take at least,
constexpr double kCallNsMax = 5e6;  // and at most: a verdict has hundreds

constexpr size_t kSizesOfMany = 4;
constexpr int64_t kModestSize = 24;
constexpr double kCheckS = 1;  // that a check of all sizes should take at most,
constexpr double kCheckGain =
    0.8;                          // what a check at smaller sizes takes at most of the time before
constexpr int64_t kCheckMin = 8;  // at sizes that are no smaller than this

// Returns the first size of the question's example: "rows=96 cols=96".
std::string ExampleSize(const ImportQuestion& question) {
  const size_t from = question.text.find("as in ");
  if (from == std::string::npos) return "";
  const std::string examples = question.text.substr(from + 6);
  return examples.substr(0, examples.find(','));
}

absl::StatusOr<ImportedProblem> ImportTimedAt(const ImportFiles& files, Answers answered,
                                              const std::string& timed, Console* console) {
  answered[kTimedKey] = timed;
  return ImportAnswered(files, answered, console);
}

// Returns what a call of the reference takes at the problem's first timed size, ns.
// INVALID_ARGUMENT: it cannot be measured there.
absl::StatusOr<double> ReferenceNs(const std::string& text, const std::string& name,
                                   LocalWorker* worker) {
  ASSIGN_OR_RETURN(const v1::Problem problem, ParsePrompt(text, name));
  RETURN_IF_ERROR(worker->PutUncalibrated(problem).status());
  ASSIGN_OR_RETURN(
      const v1::Verdict verdict,
      worker->Measure(problem, problem.reference(), /*time=*/true, /*fresh=*/false, kBriefly));
  if (verdict.outcome() == v1::CORRECT && !verdict.sizes().empty()) {
    return verdict.sizes(0).reference_ns();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(v1::Outcome_Name(verdict.outcome()), ": ", verdict.detail()));
}

// Makes the sizes of a point smaller: all by as much, so that they stay different, or where the
// least is small those that are not.
std::string Smaller(const std::string& point, int64_t least_wanted) {
  PointSizes sizes = SizesOfPoint(point);
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const auto& [name, size] : sizes) least = std::min(least, size);
  for (auto& [name, size] : sizes) {
    if (least > least_wanted)
      size -= std::min(least - least_wanted, least / 2);
    else if (size > least_wanted)
      size = std::max(least_wanted, size / 2);
  }
  return PointOf(sizes);
}

std::string AllSmaller(const std::string& points, int64_t least_wanted) {
  std::vector<std::string> smaller;
  for (const absl::string_view point : absl::StrSplit(points, ',')) {
    const std::string made = Smaller(std::string(point), least_wanted);
    if (std::find(smaller.begin(), smaller.end(), made) == smaller.end()) smaller.push_back(made);
  }
  return absl::StrJoin(smaller, ", ");
}

// Four sizes alike are four loops in each other as a rule: 64 of each take long, a trial at a time.
Answers WithModestChecks(Answers answered) {
  std::string& points = answered.at(kChecksKey);
  const std::string last = points.substr(points.rfind(',') + 1);
  if (SizesOfPoint(last).size() >= kSizesOfMany) points = AllSmaller(points, kModestSize);
  return answered;
}

// Returns how long it takes to check the reference against itself, s. INVALID_ARGUMENT: it is not
// right then.
absl::StatusOr<double> CheckSeconds(const ImportFiles& files, const Answers& answered,
                                    LocalWorker* worker, Console* console) {
  ASSIGN_OR_RETURN(const ImportedProblem made, ImportAnswered(files, answered, console));
  ASSIGN_OR_RETURN(const v1::Problem problem, ParsePrompt(made.text, files.file));
  RETURN_IF_ERROR(worker->PutUncalibrated(problem).status());
  const absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(const v1::Verdict verdict, worker->Measure(problem, problem.reference(),
                                                              /*time=*/false, /*fresh=*/true));
  if (verdict.outcome() != v1::CORRECT) return absl::InvalidArgumentError(verdict.detail());
  return absl::ToDoubleSeconds(absl::Now() - start);
}

// Makes the sizes at which it is checked smaller while a check takes long, and it helps: every
// program that is tried takes one, of hundreds.
absl::StatusOr<Answers> WithShortChecks(const ImportFiles& files, Answers answered,
                                        LocalWorker* worker, Console* console) {
  absl::StatusOr<double> seconds = CheckSeconds(files, answered, worker, console);
  while (seconds.ok() && *seconds > kCheckS) {
    Answers smaller = answered;
    smaller[kChecksKey] = AllSmaller(answered.at(kChecksKey), kCheckMin);
    const absl::StatusOr<double> then = CheckSeconds(files, smaller, worker, console);
    if (!then.ok() && !absl::IsInvalidArgument(then.status())) return then.status();
    if (!then.ok() || *then > kCheckGain * *seconds) break;
    console->Line(absl::StrFormat("checked at %s, as a check took %.1f s (%s %s=… says otherwise)",
                                  smaller[kChecksKey], *seconds, kAnswerOption, kChecksKey));
    answered = std::move(smaller);
    seconds = then;
  }
  if (!seconds.ok() && !absl::IsInvalidArgument(seconds.status())) return seconds.status();
  return answered;
}

// A size and what a call takes there, ns.
struct TimedSize {
  std::string point;
  std::string larger;  // by a quarter
  double ns = 0;
  std::string why;  // where ns is 0: why it is not known
};

// Doubles the sizes until a call takes long enough: all of them, or `only` one; twice at once where
// that is far off; or halves them, where it takes too long at first. Ends early where calls do not
// take longer and longer.
absl::StatusOr<TimedSize> Doubled(const ImportFiles& files, const Answers& answered,
                                  const std::string& only, LocalWorker* worker, Console* console) {
  const std::string point = answered.at(kTimedKey);
  TimedSize chosen;
  std::map<int64_t, double> taken;  // ns, by size
  bool halved = false;
  for (int64_t size = kSizeMin; size >= kSizeLeast && size <= kSizeMax && chosen.ns < kCallNs;) {
    const std::string at = AtSize(point, size, only);
    console->Status(absl::StrCat("how long a call takes at ", at));
    const absl::StatusOr<ImportedProblem> made = ImportTimedAt(files, answered, at, console);
    if (!made.ok() && !absl::IsInvalidArgument(made.status())) return made.status();
    if (!made.ok()) {
      chosen.why = std::string(made.status().message());
      break;
    }
    const absl::StatusOr<double> ns = ReferenceNs(made->text, files.file, worker);
    if (!ns.ok() && !absl::IsInvalidArgument(ns.status())) return ns.status();
    if (!ns.ok()) chosen.why = absl::StrCat("at ", at, ", ", ns.status().message());
    if (!ns.ok() || (*ns > kCallNsMax && chosen.ns > 0)) break;
    if (*ns > kCallNsMax) {
      chosen.why = absl::StrFormat("at %s it takes %.1f ms", at, *ns / 1e6);
      halved = true;
      size /= 2;
      continue;
    }
    chosen = {at, AtSize(point, size + size / 4 + 1, only), *ns, ""};
    const bool alike = only.empty() && absl::StrContains(point, ' ');
    if (halved || (alike && size >= kStalledAt && *ns < kStalledNs)) break;
    taken[size] = *ns;
    if (size >= kFlatAt &&
        *ns < kFlatGrowth * std::prev(taken.upper_bound(size / kFlatOver))->second) {
      break;
    }
    size *= *ns * kCubic < kCallNs ? 4 : 2;
  }
  return chosen;
}

// Returns the problem, timed at sizes at which a call takes long enough to be measured well.
absl::StatusOr<ImportedProblem> WithMeasuredSizes(const ImportFiles& files, const Answers& answered,
                                                  LocalWorker* worker, Console* console) {
  const std::string point = answered.at(kTimedKey);
  // Where all sizes are alike there may be little to do (a word as long as its text).
  std::vector<std::string> grown = {""};
  for (const auto& [name, size] : SizesOfPoint(point)) {
    if (absl::StrContains(point, ' ')) grown.push_back(name);
  }
  TimedSize chosen;
  std::string why;  // of the first
  for (const std::string& only : grown) {
    ASSIGN_OR_RETURN(const TimedSize found, Doubled(files, answered, only, worker, console));
    if (why.empty()) why = found.why;
    if (found.ns > chosen.ns) chosen = found;  // Where they stalled, one alone may not.
    if (chosen.ns >= kStalledNs) break;
  }
  if (chosen.ns == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(files.file, ": how long a call takes cannot be measured: ", why, "; say with ",
                     kAnswerOption, " ", kTimedKey,
                     "=… at which sizes it is to be timed, or NAME.fill=… with what"));
  }
  console->Line(absl::StrFormat("timed at %s, where a call takes %.3f ms (%s %s=… says otherwise)",
                                chosen.point, chosen.ns / 1e6, kAnswerOption, kTimedKey));
  // A second size keeps programs from being made for the first one.
  return ImportTimedAt(files, answered, absl::StrCat(chosen.point, ", ", chosen.larger), console);
}

}  // namespace

std::string AtSize(const std::string& point, int64_t size, const std::string& only) {
  PointSizes sizes = SizesOfPoint(point);
  int64_t largest = 0;
  for (const auto& [name, value] : sizes) largest = std::max(largest, value);
  for (auto& [name, value] : sizes) {
    const bool grows = only.empty() ? value == largest : name == only;
    value = grows ? size : std::min(size, kOtherSize);
  }
  return PointOf(sizes);
}

std::string AskedOf(const OwnProblemOptions& options) {
  std::string asked;
  if (!options.function.empty()) absl::StrAppend(&asked, "--function ", options.function, "\n");
  if (options.generator) {
    absl::StrAppend(&asked, "--generator, SHA-256 ", Sha256Hex(options.generator->code), "\n");
  }
  const std::set<std::string> answers(options.answers.begin(), options.answers.end());
  for (const std::string& answer : answers) absl::StrAppend(&asked, "--answer ", answer, "\n");
  return asked;
}

absl::StatusOr<std::string> OwnProblem(const OwnProblemOptions& options, Console* console) {
  if (absl::EndsWith(options.file, ".md")) {
    if (!options.function.empty() || !options.answers.empty() || options.generator) {
      return absl::InvalidArgumentError(absl::StrCat(
          options.file,
          " is a prompt file; --function, --generator and --answer are for a C++ source"));
    }
    RETURN_IF_ERROR(ParsePromptFile(options.file).status());
    return ReadFile(options.file);
  }
  WorkerOnDemand on_demand(console);
  const ImportFiles files{.file = options.file,
                          .function = options.function,
                          .generator = options.generator,
                          .worker = &on_demand,
                          .console = console};
  ImportAnswers answers(kAnswerOption, console, options.ask);
  for (const std::string& answer : options.answers) RETURN_IF_ERROR(answers.Add(answer));
  answers.Suggest("prose", [](const ImportQuestion&) {
    return std::string("Computes the same as the reference, faster.");
  });
  std::string example;
  answers.Suggest(kTimedKey,
                  [&](const ImportQuestion& question) { return example = ExampleSize(question); });
  ASSIGN_OR_RETURN(ImportedProblem made, ImportFile(files, &answers));
  const bool measured = !example.empty() && answers.answered().at(kTimedKey) == example;
  std::vector<std::string> chosen = answers.chosen();
  if (measured) std::erase(chosen, absl::StrCat(kTimedKey, "=", example));
  if (!chosen.empty()) {
    console->Line(
        absl::StrCat("chosen, as you did not say (--answer KEY=VALUE says otherwise):\n  ",
                     absl::StrJoin(chosen, "\n  ")));
  }
  ASSIGN_OR_RETURN(LocalWorker* const worker, on_demand.Get());
  Answers answered = answers.answered();
  if (measured) answered[kTimedKey] = AtSize(example, kSizeMin);
  const bool own_checks = answers.said().count(kChecksKey) > 0;
  if (!own_checks) answered = WithModestChecks(std::move(answered));
  ASSIGN_OR_RETURN(answered, SoundAnswers(files, answered, answers.said(), worker, console));
  if (!own_checks) {
    ASSIGN_OR_RETURN(answered, WithShortChecks(files, std::move(answered), worker, console));
  }
  ASSIGN_OR_RETURN(answered, TellingAnswers(files, answered, answers.said(), worker, console));
  ASSIGN_OR_RETURN(made, measured ? WithMeasuredSizes(files, answered, worker, console)
                                  : ImportAnswered(files, answered, console));
  return made.text;
}

}  // namespace whetstone
