#include "coordinator/discover/length_probe.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "common/problem/element_type.h"
#include "common/status_macros.h"
#include "coordinator/discover/length_formula.h"
#include "coordinator/prompt/prompt_file.h"
#include "coordinator/prompt/signature.h"

namespace whetstone {
namespace {

// What the program that looks is made of besides the function: numbers at random, and arrays that
// are filled, copied and compared. It needs no header.
constexpr char kNumbers[] = R"cpp(
  namespace whet_probe {
  using Word = unsigned long long;
  Word state;
  Word Bits() {  // SplitMix64
    state += 0x9E3779B97F4A7C15u;
    Word z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // Numbers of one style. Some styles are all alike, so that all conditions hold, or none does.
  template <class T>
  void Draw(T& x, int style) {
    constexpr bool kSigned = T(-1) < T(0);
    constexpr int kShift = 64 - 8 * static_cast<int>(sizeof(T));
    constexpr T kMost = static_cast<T>(~Word{0} >> (kShift + (kSigned ? 1 : 0)));
    if constexpr (T(2) == T(1)) {
      x = static_cast<T>(style < 3 ? Bits() & 1 : static_cast<Word>(style == 3));
    } else if constexpr (T(0.5) != T(0)) {
      if (style > 2) {
        x = static_cast<T>(kTame ? (style == 3   ? 1
                                    : style == 4 ? 0.5
                                                 : 2)
                                 : (style == 3   ? 1e6
                                    : style == 4 ? -1e6
                                                 : 0));
        return;
      }
      const double u = static_cast<double>(Bits() >> 11) * 0x1p-53;
      x = static_cast<T>(style == 1 ? 0.1 + 0.9 * u
                         : kTame    ? (style == 0 ? 0.5 + u : 1 + 7 * u)
                                    : (style == 0 ? 2 * u - 1 : 2000 * u - 1000));
    } else if (style > 2) {
      const Word tame = style == 3 ? kFew - 1 : style == 4 ? 0 : 1;
      const Word least = kSigned ? static_cast<Word>(-kMost - 1) : 0;
      const Word wild = style == 3 ? static_cast<Word>(kMost) : style == 4 ? least : 0;
      x = static_cast<T>(kTame ? tame : wild);
    } else {
      const Word bits = Bits();
      const Word edge = bits & 8 ? static_cast<Word>(kMost) : static_cast<Word>(-kMost - 1);
      const Word any = bits & 7 ? bits >> 4 | bits << 60 : edge;
      const Word few = bits % (kTame && style == 2 ? 2 : kFew);
      x = static_cast<T>(kTame || style == 1 ? few : any);
    }
  }
  template <class T>
  bool Same(const T& a, const T& b) {
    return __builtin_memcmp(&a, &b, sizeof(T)) == 0;
  }
)cpp";
constexpr char kArrays[] = R"cpp(
  constexpr long kBefore = 64;
  // There is room before and behind it: a place that is a little off is none of another array.
  // (GCC would spend seconds on making a member's array when it compiles.)
  template <class T>
  T* Room() {
    return new T[2 * kRoom]() + kRoom / 2;
  }
  template <class T>
  struct Array {
    T* const filled = Room<T>();
    T* const used = Room<T>();
    T* const kept = Room<T>();
    void Fill(long from) {
      const int style = static_cast<int>(Bits() % 6);
      for (long i = from; i < kLongest; ++i) Draw(filled[i], style);
    }
    void Load() {
      for (long i = -kBefore; i < kLongest; ++i) used[i] = filled[i];
    }
    void Keep() {
      for (long i = 0; i < kLongest; ++i) kept[i] = used[i];
    }
    long Written() const {
      long end = kLongest;
      while (end > 0 && Same(used[end - 1], filled[end - 1])) --end;
      return end;
    }
    bool Differs(long end) const {
      for (long i = 0; i < end; ++i)
        if (!Same(used[i], kept[i])) return true;
      return false;
    }
  };
  }  // namespace whet_probe
)cpp";

// A length is the least from which on nothing matters.
constexpr char kSearch[] = R"cpp(
  static bool whet_matters(int which, long from) {
    for (int trial = 0; trial < whet_probe::kTrials; ++trial) {
      whet_fill(trial);
      whet_run();
      whet_keep();
      whet_probe::state = static_cast<whet_probe::Word>(trial) + 1000;
      whet_change(which, from);
      whet_run();
      if (whet_differs(which, from)) return true;
    }
    return false;
  }
  static long whet_length(int which) {
    long least = 0, most = whet_probe::kLongest;
    for (int trial = 0; trial < (whet_writes(which) ? whet_probe::kRuns : 0); ++trial) {
      whet_fill(trial);
      whet_run();
      const long written = whet_written(which);
      if (written > least) least = written;
    }
    while (least < most) {
      const long from = least + (most - least) / 2;
      if (whet_matters(which, from))
        least = from + 1;
      else
        most = from;
    }
    return least;
  }
)cpp";

constexpr int kTrials = 64;
constexpr int kRuns = 256;
constexpr int kFew = 4;  // numbers below this are small
constexpr int64_t kLongestAtFirst = 1 << 12;
constexpr int64_t kLongest = 1 << 14;
constexpr int64_t kLongestOfTables = 1 << 17;  // by 16-bit numbers
// Lengths in one number: a verdict tells one number that is not what was expected.
constexpr size_t kPacked = 3;
constexpr int kPackedBits = 20;
constexpr double kRunS = 1;
constexpr double kRunOfTablesS = 4;
constexpr size_t kTriesOfWhatFails = 2;  // it may take all its time
// Of a table that is asked at small numbers only, how long it looks.
constexpr int64_t kLooksLong = 2 * kFew;

class Probe {
 public:
  Probe(const std::string& code, const std::vector<std::string>& headers,
        const ImportedFunction& function, const std::set<std::string>& arrays, LocalWorker* worker)
      : code_(code),
        headers_(headers),
        structs_(function.structs),
        signature_(function.signature),
        worker_(worker) {
    for (const Parameter& parameter : signature_.parameters) {
      if (arrays.count(parameter.name)) asked_.push_back(parameter.name);
      const bool whole = !parameter.pointer && CppIntegerMax(parameter.type) != 0;
      if (whole) sizes_.push_back(parameter.name);
      if (parameter.pointer && CppIntegerMax(parameter.type) != 0) {
        numbers_.insert(parameter.name);
        if (ElementBytes(ElementTypeOfCpp(parameter.type)) == 2) room_ = kLongestOfTables;
      }
    }
  }

  absl::StatusOr<ProbedLengths> Run() {
    ProbedLengths probed;
    const SizesToSee to_see = SizesOf(sizes_);
    if (to_see.all.empty()) {
      probed.why = "it has no whole number that may be a size, or too many";
      return probed;
    }
    for (const Sizes& sizes : to_see.all) {
      if (!ran_ && seen_.size() == kTriesOfWhatFails) return probed;
      seen_.push_back({sizes, {}});
      ASSIGN_OR_RETURN(seen_.back().lengths, LengthsAt(sizes, &probed.why));
    }
    for (size_t a = 0; a < asked_.size(); ++a) {
      std::string formula;
      for (const std::vector<size_t>& points : to_see.together) {
        if (formula.empty()) formula = FormulaOf(a, points);
      }
      // (n-k)/step*step+k, or data that decide, are none of the usual formulas.
      if (formula.empty() && IsOnlyRead(asked_[a]))
        formula = LengthBound(SeenAt(a, to_see.together[0]));
      if (!formula.empty()) {
        probed.lengths[asked_[a]] = formula;
      } else if (probed.why.empty()) {
        probed.why = absl::StrCat("no formula gives the lengths seen, ", SeenOf(a));
      }
    }
    return probed;
  }

 private:
  // Returns how long an array was at these sizes; nothing, where that is not known at one of them.
  std::vector<SeenLength> SeenAt(size_t array, const std::vector<size_t>& points) const {
    std::vector<SeenLength> lengths;
    for (const size_t point : points) {
      const auto& [sizes, seen] = seen_[point];
      // Where it does nothing, its sizes do not fit together.
      if (!seen.has_value() || (*seen)[array] == 0) continue;
      if ((*seen)[array] >= longest_) return {};
      lengths.push_back({sizes, (*seen)[array]});
    }
    return lengths;
  }

  std::string FormulaOf(size_t array, const std::vector<size_t>& points) const {
    const std::string formula = LengthFormula(SeenAt(array, points));
    int64_t constant = 0;
    const bool looks = absl::SimpleAtoi(formula, &constant) && constant <= kLooksLong;
    return looks && MayBeATable(asked_[array]) ? LongestSize() : formula;
  }

  // Returns "12 at n=12, 29 at n=29".
  std::string SeenOf(size_t array) const {
    std::vector<std::string> texts;
    for (const auto& [sizes, seen] : seen_) {
      if (!seen.has_value()) continue;
      texts.push_back(absl::StrCat((*seen)[array], " at ",
                                   absl::StrJoin(sizes, " ", absl::PairFormatter("="))));
    }
    return absl::StrCat("of '", asked_[array], "': ", absl::StrJoin(texts, ", "));
  }

  // Says whether small whole numbers in another array may be all that tells where it is read.
  bool MayBeATable(const std::string& array) const {
    const bool by_others = numbers_.size() > numbers_.count(array);
    return tame_ && by_others && IsOnlyRead(array);
  }

  bool IsOnlyRead(const std::string& array) const {
    return absl::c_any_of(signature_.parameters, [&](const Parameter& parameter) {
      return parameter.name == array && parameter.is_const;
    });
  }

  // Returns how long an array is of which whole numbers in another are places: one may say so.
  std::string LongestSize() const {
    std::string longest;
    for (const std::string& size : sizes_) {
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
      if (lengths.has_value() && longest_ < room_ &&
          absl::c_any_of(*lengths, [&](int64_t length) { return length > longest_ / 2; })) {
        longest_ = room_;
        continue;
      }
      // Numbers that are places in an array want to be small, and many a loop a positive number.
      if (lengths.has_value() || tame_ || ran_) return lengths;
      tame_ = true;
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
    while (packed.size() < PackedCount()) {
      const absl::StatusOr<v1::Verdict> verdict =
          worker_->Measure(problem, Asking(packed), /*time=*/false, /*fresh=*/true);
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
    std::vector<int64_t> lengths;
    for (size_t a = 0; a < asked_.size(); ++a) {
      lengths.push_back(packed[a / kPacked] >> (kPackedBits * (a % kPacked)) &
                        ((int64_t{1} << kPackedBits) - 1));
    }
    return lengths;
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

  size_t PackedCount() const { return (asked_.size() + kPacked - 1) / kPacked; }

  std::string Signature() const {
    std::string text = "void whet_lengths(long long* whet_found";
    for (const std::string& size : sizes_) absl::StrAppend(&text, ", ", TypeOf(size), " ", size);
    return text + ")";
  }

  std::string TypeOf(const std::string& name) const {
    for (const Parameter& parameter : signature_.parameters) {
      if (parameter.name == name) return parameter.type;
    }
    return "";
  }

  std::string ProblemAt(const Sizes& sizes) const {
    std::string args, point;
    for (const auto& [name, size] : sizes) {
      absl::StrAppend(&point, point.empty() ? "" : ", ", name, ": ", size);
    }
    for (const std::string& name : sizes_) {
      absl::StrAppend(&args, "  ", name, ": {size: ", name, "}\n");
    }
    return absl::Substitute(
        "---\nid: lengths\nsignature: $0\nargs:\n"
        "  whet_found: {type: i64, shape: [$1], out: true}\n$2"
        "sizes: {check: [{$3}], timed: [{$3}]}\nlimits: {run_s: $4}\n$5---\n"
        "Lengths of arrays.\n\n## reference\n\n```cpp\n$6\n```\n",
        Signature(), PackedCount(), args, point, longest_ <= kLongest ? kRunS : kRunOfTablesS,
        // With none named it would be compiled with all.
        absl::StrCat("compile: {headers: [",
                     headers_.empty() ? "cstddef" : absl::StrJoin(headers_, ", "), "]}\n"),
        Program());
  }

  // Returns a program that is told the first number that it does not know.
  std::string Asking(const std::vector<int64_t>& known) const {
    std::string body;
    for (size_t i = 0; i < PackedCount(); ++i) {
      absl::StrAppend(&body, "  whet_found[", i, "] = ", i < known.size() ? known[i] : -1, ";\n");
    }
    return absl::StrCat(Signature(), " {\n", body, "}\n");
  }

  std::string Program() const {
    return absl::StrCat(code_, "\n", Constants(), kNumbers, FieldByField(), kArrays, Arguments(),
                        kSearch, Answers());
  }

  std::string Constants() const {
    return absl::StrFormat(
        "namespace whet_probe {\nconstexpr bool kTame = %s;\nconstexpr unsigned kFew = %d;\n"
        "constexpr long kLongest = %d, kRoom = %d;\nconstexpr int kTrials = %d, kRuns = %d;\n}\n",
        tame_ ? "true" : "false", kFew, longest_, room_, kTrials, kRuns);
  }

  // A struct is drawn and compared field by field: what lies between them is not looked at.
  std::string FieldByField() const {
    std::string text;
    for (const v1::StructType& type : structs_.structs()) {
      std::string draw, same;
      for (const v1::StructType::Field& field : type.fields()) {
        absl::StrAppend(&draw, " Draw(x.", field.name(), ", style);");
        absl::StrAppend(&same, " && Same(a.", field.name(), ", b.", field.name(), ")");
      }
      absl::StrAppend(&text, "void Draw(::", type.name(), "& x, int style) {", draw, " }\n",
                      "bool Same(const ::", type.name(), "& a, const ::", type.name(),
                      "& b) { return true", same, "; }\n");
    }
    return text;
  }

  // What is different for every function: its arguments, its call, and which array is meant.
  std::string Arguments() const {
    std::string held, fill, load, keep, change, writes, written, differs;
    std::vector<std::string> arguments;
    for (const Parameter& parameter : signature_.parameters) {
      const std::string own = absl::StrCat("whet_arg_", parameter.name);
      if (!parameter.pointer) {
        absl::StrAppend(&held, "static ", parameter.type, " ", own, ";\n");
        if (!IsSize(parameter.name)) {
          absl::StrAppend(&fill, "  whet_probe::Draw(", own, ", style);\n");
        }
        arguments.push_back(own);
        continue;
      }
      absl::StrAppend(&held, "static whet_probe::Array<", parameter.type, "> ", own, ";\n");
      absl::StrAppend(&fill, "  ", own, ".Fill(0);\n");
      absl::StrAppend(&load, "  ", own, ".Load();\n");
      arguments.push_back(absl::StrCat(own, ".used"));
      const size_t number = NumberOf(parameter.name);
      if (number < asked_.size()) {
        absl::StrAppend(&change, "  if (which == ", number, ") ", own, ".Fill(from);\n");
      }
      if (parameter.is_const) continue;
      absl::StrAppend(&keep, "  ", own, ".Keep();\n");
      absl::StrAppend(&differs, "  if (", own, ".Differs(which == ", number,
                      " ? from : whet_probe::kLongest)) return true;\n");
      absl::StrAppend(&writes, " || which == ", number);
      absl::StrAppend(&written, "  if (which == ", number, ") return ", own, ".Written();\n");
    }
    const bool returns = signature_.return_type != "void";
    if (returns) {
      absl::StrAppend(&held, "static ", signature_.return_type, " whet_now, whet_before;\n");
      absl::StrAppend(&keep, "  whet_before = whet_now;\n");
      absl::StrAppend(&differs, "  if (!whet_probe::Same(whet_now, whet_before)) return true;\n");
    }
    return absl::StrCat(
        held, "static void whet_fill(int trial) {\n",
        "  whet_probe::state = static_cast<whet_probe::Word>(trial);\n",
        "  [[maybe_unused]] const int style = static_cast<int>(whet_probe::Bits() % 6);\n", fill,
        "}\nstatic void whet_run() {\n", load, "  ", returns ? "whet_now = " : "", signature_.name,
        "(", absl::StrJoin(arguments, ", "), ");\n}\n", "static void whet_keep() {\n", keep,
        "}\nstatic void whet_change(int which, long from) {\n", change,
        "}\nstatic bool whet_differs([[maybe_unused]] int which, [[maybe_unused]] long from)",
        " {\n", differs, "  return false;\n}\n",
        "static bool whet_writes([[maybe_unused]] int which) { return false", writes, "; }\n",
        "static long whet_written([[maybe_unused]] int which)", " {\n", written,
        "  return 0;\n}\n");
  }

  std::string Answers() const {
    std::string body, copy;
    for (const std::string& size : sizes_) {
      absl::StrAppend(&body, "    whet_arg_", size, " = ", size, ";\n");
    }
    for (size_t i = 0; i < PackedCount(); ++i) {
      absl::StrAppend(&copy, "  whet_found[", i, "] = whet_known[", i, "];\n");
      absl::StrAppend(&body, "    whet_known[", i, "] = 0");
      for (size_t a = kPacked * i; a < std::min(kPacked * (i + 1), asked_.size()); ++a) {
        absl::StrAppend(&body, " | static_cast<long long>(whet_length(", a, ")) << ",
                        kPackedBits * (a % kPacked));
      }
      absl::StrAppend(&body, ";\n");
    }
    return absl::StrCat(Signature(), " {\n  static long long whet_known[", PackedCount(),
                        "];\n  static bool whet_done;\n  if (!whet_done) {\n", body,
                        "    whet_done = true;\n  }\n", copy, "}");
  }

  bool IsSize(const std::string& name) const {
    return std::find(sizes_.begin(), sizes_.end(), name) != sizes_.end();
  }

  size_t NumberOf(const std::string& name) const {
    return static_cast<size_t>(std::find(asked_.begin(), asked_.end(), name) - asked_.begin());
  }

  const std::string& code_;
  const std::vector<std::string>& headers_;
  const v1::Problem& structs_;
  const whetstone::Signature& signature_;
  LocalWorker* const worker_;
  std::vector<std::string> asked_;  // the arrays, in the signature's order
  std::vector<std::string> sizes_;  // the parameters that are whole numbers
  std::set<std::string> numbers_;   // the arrays of whole numbers, which may be places in others
  int64_t longest_ = kLongestAtFirst;
  int64_t room_ = kLongest;
  // What was seen: lengths at sizes, or nothing where it could not be run.
  struct Seen {
    Sizes sizes;
    std::optional<std::vector<int64_t>> lengths;
  };
  std::vector<Seen> seen_;
  bool tame_ = false;  // with small and positive numbers only
  bool ran_ = false;
};

}  // namespace

absl::StatusOr<ProbedLengths> ProbeLengths(const std::string& code,
                                           const std::vector<std::string>& headers,
                                           const ImportedFunction& function,
                                           const std::set<std::string>& arrays,
                                           LocalWorker* worker) {
  return Probe(code, headers, function, arrays, worker).Run();
}

}  // namespace whetstone
