#include "coordinator/discover/length_probe.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/strings/substitute.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/problem/element_type.h"
#include "common/status_macros.h"
#include "coordinator/discover/length_formula.h"
#include "coordinator/discover/length_program.h"
#include "coordinator/discover/relevant_clues.h"
#include "coordinator/discover/telling_answers.h"
#include "coordinator/prompt/prompt_file.h"
#include "coordinator/prompt/signature.h"

namespace whetstone {
namespace {

constexpr int64_t kLongestAtFirst = 1 << 12;
constexpr int64_t kLongest = 1 << 14;
constexpr int64_t kLongestOfTables = 1 << 17;  // by 16-bit numbers
constexpr double kRunS = 1;
constexpr double kRunOfTablesS = 4;      // and of rows, of which there is much to read
constexpr size_t kTriesOfWhatFails = 2;  // it may take all its time
// How much longer an array may be than was seen where data tell; rows are longer at times.
constexpr int64_t kRoom = 2, kRoomOfRows = 8;
// After this a probe looks no further, and no other one is begun.
constexpr absl::Duration kProbeTime = absl::Seconds(40);
// Of a table that is asked at small numbers only, how long it looks.
constexpr int64_t kLooksLong = 2 * kFewNumbers;

class Probe {
 public:
  Probe(const std::string& code, const std::vector<std::string>& headers,
        const ImportedFunction& function, const std::set<std::string>& arrays,
        const std::optional<std::set<std::string>>& sizes, const CodeClues& clues,
        LocalWorker* worker)
      : program_{.code = code,
                 .signature = function.signature,
                 .structs = function.structs,
                 .begins = clues.begins,
                 .ranges = clues.ranges,
                 .letters = QuotedLetters(code),
                 .longest = kLongestAtFirst,
                 .room = kLongest},
        headers_(headers),
        worker_(worker) {
    if (!clues.begins.empty()) program_.room = kLongestOfTables;
    for (const Parameter& parameter : program_.signature.parameters) {
      if (arrays.count(parameter.name)) program_.asked.push_back(parameter.name);
      const bool whole = !parameter.pointer && CppIntegerMax(parameter.type) != 0;
      if (whole && (!sizes || sizes->count(parameter.name)))
        program_.sizes.push_back(parameter.name);
      if (parameter.pointer && HasWholeNumbers(parameter.type)) {
        numbers_.insert(parameter.name);
        if (ElementBytes(ElementTypeOfCpp(parameter.type)) == 2) program_.room = kLongestOfTables;
      }
    }
  }

  absl::StatusOr<ProbedLengths> Run() {
    ProbedLengths probed;
    const SizesToSee to_see = SizesOf(program_.sizes);
    if (to_see.all.empty()) {
      probed.why = "it has no whole number that may be a size, or too many";
      return probed;
    }
    for (const Sizes& sizes : to_see.all) {
      if (!ran_ && seen_.size() == kTriesOfWhatFails) return probed;
      if (absl::Now() > deadline_) break;
      seen_.push_back({sizes, {}});
      ASSIGN_OR_RETURN(seen_.back().lengths, LengthsAt(sizes, &probed.why));
    }
    for (size_t a = 0; a < program_.asked.size(); ++a) {
      std::string formula, of_some;
      const std::vector<SeenLength> all = SeenAt(a, to_see.together[0]);
      for (const std::vector<size_t>& points : to_see.together) {
        if (!formula.empty()) break;
        formula = FormulaOf(a, points);
        // Fewer points are met by chance, or others want it longer.
        if (formula.empty() || &points == &to_see.together[0] || IsEnough(formula, all)) continue;
        if (of_some.empty()) of_some = formula;
        formula.clear();
      }
      if (formula.empty()) formula = LengthFormulaOfRead(all);
      // (n-k)/step*step+k, or data that decide, are none of the usual formulas.
      if (formula.empty()) formula = LengthBound(all);
      if (formula.empty()) formula = of_some;
      if (formula.empty()) formula = LengthRoom(all, clued() ? kRoomOfRows : kRoom);
      if (!formula.empty()) {
        probed.lengths[program_.asked[a]] = formula;
      } else if (probed.why.empty()) {
        probed.why = absl::StrCat("no formula gives the lengths seen, ", SeenOf(a));
      }
    }
    return probed;
  }

  // Says whether a length is no more than a guess: that places in it are below a size.
  bool guessed() const { return guessed_; }

 private:
  // Returns how long an array was at these sizes; nothing, where that is not known at one of them.
  std::vector<SeenLength> SeenAt(size_t array, const std::vector<size_t>& points) const {
    std::vector<SeenLength> lengths;
    for (const size_t point : points) {
      if (point >= seen_.size()) continue;  // for want of time
      const auto& [sizes, seen] = seen_[point];
      // Where it does nothing, its sizes do not fit together.
      if (!seen.has_value() || (*seen)[array] == 0) continue;
      if ((*seen)[array] >= program_.longest) return {};
      lengths.push_back({sizes, (*seen)[array]});
    }
    return lengths;
  }

  std::string FormulaOf(size_t array, const std::vector<size_t>& points) {
    const std::vector<SeenLength> seen = SeenAt(array, points);
    std::string formula = LengthFormula(seen);
    if (formula.empty() || !MayBeATable(program_.asked[array])) return formula;
    int64_t constant = 0;
    if (absl::SimpleAtoi(formula, &constant)) {
      guessed_ = guessed_ || constant <= kLooksLong;
      return constant <= kLooksLong ? LongestSize() : formula;
    }
    for (const std::string& size : program_.sizes) {
      guessed_ = guessed_ || AreFewRows(seen, size);
      if (AreFewRows(seen, size)) return absl::StrCat("(", LongestSize(), ")*", size);
    }
    // Of the last row the first few were read: what is read need not be exact.
    const std::string bound = absl::StrContains(formula, "*") ? LengthBound(seen) : "";
    const bool of_names = !bound.empty() && absl::c_none_of(bound, absl::ascii_isdigit);
    return of_names ? bound : formula;
  }

  // Says whether the last of few rows of that size was read, and no more.
  static bool AreFewRows(const std::vector<SeenLength>& seen, const std::string& size) {
    return absl::c_all_of(seen, [&](const SeenLength& each) {
      const int64_t row = each.sizes.at(size);
      return each.length > (kFewNumbers - 1) * row && each.length <= kFewNumbers * row;
    });
  }

  bool HasWholeNumbers(const std::string& type) const {
    if (CppIntegerMax(type) != 0) return true;
    return absl::c_any_of(program_.structs.structs(), [&](const v1::StructType& each) {
      return each.name() == type &&
             absl::c_any_of(each.fields(), [](const v1::StructType::Field& field) {
               return !IsFloating(field.type());
             });
    });
  }

  // Returns "12 at n=12, 29 at n=29".
  std::string SeenOf(size_t array) const {
    std::vector<std::string> texts;
    for (const auto& [sizes, seen] : seen_) {
      if (!seen.has_value()) continue;
      texts.push_back(absl::StrCat((*seen)[array], " at ",
                                   absl::StrJoin(sizes, " ", absl::PairFormatter("="))));
    }
    return absl::StrCat("of '", program_.asked[array], "': ", absl::StrJoin(texts, ", "));
  }

  // Says whether small whole numbers in another array may be all that tells where it is read.
  bool MayBeATable(const std::string& array) const {
    const bool by_others = numbers_.size() > numbers_.count(array);
    return program_.tame && by_others && IsOnlyRead(array);
  }

  bool clued() const { return !program_.begins.empty() || !program_.ranges.empty(); }

  bool IsOnlyRead(const std::string& array) const {
    return absl::c_any_of(program_.signature.parameters, [&](const Parameter& parameter) {
      return parameter.name == array && parameter.is_const;
    });
  }

  // Returns how long an array is of which whole numbers in another are places: one may say so.
  std::string LongestSize() const {
    std::string longest;
    for (const std::string& size : program_.sizes) {
      longest = longest.empty() ? size : absl::StrCat("max(", longest, ", ", size, ")");
    }
    return longest;
  }

  // Returns the length of every array asked for, at these sizes; nothing where it cannot be run,
  // and *why.
  absl::StatusOr<std::optional<std::vector<int64_t>>> LengthsAt(const Sizes& sizes,
                                                                std::string* why) {
    for (;;) {
      ASSIGN_OR_RETURN(auto lengths, RunAt(sizes, why));
      // Where most of what there is was reached, there may be more.
      if (lengths.has_value() && program_.longest < program_.room &&
          absl::c_any_of(*lengths, [&](int64_t length) { return length > program_.longest / 2; })) {
        program_.longest = program_.room;
        continue;
      }
      // Numbers that are places in an array want to be small, and many a loop a positive number.
      if (lengths.has_value() || program_.positive || ran_) return lengths;
      program_.positive = program_.tame;  // who divides by them wants no 0
      program_.tame = true;
    }
  }

  absl::StatusOr<std::optional<std::vector<int64_t>>> RunAt(const Sizes& sizes, std::string* why) {
    ASSIGN_OR_RETURN(v1::Problem problem, ParsePrompt(ProblemAt(sizes), "lengths.md"));
    const absl::Status put = worker_->PutUncalibrated(problem).status();
    if (absl::IsInvalidArgument(put)) {
      *why = std::string(put.message());
      return std::nullopt;
    }
    RETURN_IF_ERROR(put);
    std::vector<int64_t> packed;
    while (packed.size() < program_.PackedCount()) {
      if (absl::Now() > deadline_) {
        *why = "looking at it takes too long";
        return std::nullopt;
      }
      const absl::StatusOr<v1::Verdict> verdict =
          worker_->Measure(problem, program_.Asking(packed), /*time=*/false, /*fresh=*/true);
      if (absl::IsInvalidArgument(verdict.status())) {
        *why = std::string(verdict.status().message());
        return std::nullopt;
      }
      RETURN_IF_ERROR(verdict.status());
      const std::optional<int64_t> number = NumberTold(*verdict, packed.size());
      if (!number.has_value()) {
        *why = absl::StrCat(v1::Outcome_Name(verdict->outcome()), ": ", verdict->detail());
        return std::nullopt;
      }
      packed.push_back(*number);
    }
    ran_ = true;
    why->clear();
    return program_.Unpacked(packed);
  }

  // Returns what a verdict says of the number that Asking() does not know.
  static std::optional<int64_t> NumberTold(const v1::Verdict& verdict, size_t index) {
    const std::string before = absl::StrCat("whet_found[", index, "] is -1, expected ");
    const size_t at = verdict.detail().find(before);
    if (at == std::string::npos) return std::nullopt;
    const std::string rest = verdict.detail().substr(at + before.size());
    int64_t number = 0;
    if (!absl::SimpleAtoi(rest.substr(0, rest.find(' ')), &number)) return std::nullopt;
    return number;
  }

  std::string ProblemAt(const Sizes& sizes) const {
    std::string args, point;
    for (const auto& [name, size] : sizes) {
      absl::StrAppend(&point, point.empty() ? "" : ", ", name, ": ", size);
    }
    for (const std::string& name : program_.sizes) {
      absl::StrAppend(&args, "  ", name, ": {size: ", name, "}\n");
    }
    return absl::Substitute(
        "---\nid: lengths\nsignature: $0\nargs:\n"
        "  whet_found: {type: i64, shape: [$1], out: true}\n$2"
        "sizes: {check: [{$3}], timed: [{$3}]}\nlimits: {run_s: $4}\n$5---\n"
        "Lengths of arrays.\n\n## reference\n\n```cpp\n$6\n```\n",
        program_.Declaration(), program_.PackedCount(), args, point,
        program_.longest > kLongest || clued() ? kRunOfTablesS : kRunS,
        // With none named it would be compiled with all.
        absl::StrCat("compile: {headers: [",
                     headers_.empty() ? "cstddef" : absl::StrJoin(headers_, ", "), "]}\n"),
        program_.Source());
  }

  LengthProgram program_;
  const std::vector<std::string>& headers_;
  LocalWorker* const worker_;
  std::set<std::string> numbers_;  // the arrays of whole numbers, which may be places in others
  // What was seen: lengths at sizes, or nothing where it could not be run.
  struct Seen {
    Sizes sizes;
    std::optional<std::vector<int64_t>> lengths;
  };
  std::vector<Seen> seen_;
  const absl::Time deadline_ = absl::Now() + kProbeTime;
  bool ran_ = false;
  bool guessed_ = false;
};

// Says whether `sizes` leaves out one of the function's whole numbers, and has one.
bool SaysLess(const std::optional<std::set<std::string>>& sizes, const ImportedFunction& function) {
  bool has = false, lacks = false;
  for (const Parameter& parameter : function.signature.parameters) {
    if (parameter.pointer || CppIntegerMax(parameter.type) == 0 || !sizes) continue;
    (sizes->count(parameter.name) ? has : lacks) = true;
  }
  return has && lacks;
}

}  // namespace

absl::StatusOr<ProbedLengths> ProbeLengths(const std::string& code,
                                           const std::vector<std::string>& headers,
                                           const ImportedFunction& function,
                                           const std::set<std::string>& arrays,
                                           const std::map<std::string, std::string>& known,
                                           const std::optional<std::set<std::string>>& sizes,
                                           const CodeClues& clues, LocalWorker* worker) {
  const CodeClues relevant = RelevantClues(clues, function);
  const bool clueless = relevant.begins.empty() && relevant.ranges.empty();
  ProbedLengths best;
  bool best_guessed = false;
  const absl::Time deadline = absl::Now() + kProbeTime;
  // First with all whole numbers as sizes, as loops may not say which are.
  for (const bool with_clues : {false, true}) {
    for (const bool all_sizes : {true, false}) {
      if (absl::Now() > deadline) return best;
      if ((with_clues && clueless) || (!all_sizes && !SaysLess(sizes, function))) continue;
      Probe probe(code, headers, function, arrays, all_sizes ? std::nullopt : sizes,
                  with_clues ? relevant : CodeClues(), worker);
      ASSIGN_OR_RETURN(ProbedLengths probed, probe.Run());
      const bool first = !with_clues && all_sizes;
      const bool more = probed.lengths.size() > best.lengths.size();
      const bool surer =
          probed.lengths.size() == best.lengths.size() && best_guessed && !probe.guessed();
      if (!first && !more && !surer) continue;
      if (with_clues) {
        std::map<std::string, std::string> lengths = known;
        lengths.insert(probed.lengths.begin(), probed.lengths.end());
        probed.fills = FillsByClues(relevant, function, lengths);
      }
      best = std::move(probed);
      best_guessed = probe.guessed();
      if (best.lengths.size() == arrays.size() && !best_guessed) return best;
    }
  }
  return best;
}

}  // namespace whetstone
