#include "coordinator/discover/length_program.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/problem/element_type.h"

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
      const Word tame = style == 3 ? kFew - 1 : style == 4 ? kLeast : 1;
      const Word least = kSigned ? static_cast<Word>(-kMost - 1) : 0;
      const Word wild = style == 3 ? static_cast<Word>(kMost) : style == 4 ? least : 0;
      x = static_cast<T>(kTame ? tame : wild);
    } else {
      const Word bits = Bits();
      const Word edge = bits & 8 ? static_cast<Word>(kMost) : static_cast<Word>(-kMost - 1);
      const Word any = bits & 7 ? bits >> 4 | bits << 60 : edge;
      const Word few = kLeast + bits % (kTame && style == 2 ? 2 : kFew - kLeast);
      // Those that are named, or all from the first to the last of them.
      const Word letter = style == 1 ? static_cast<Word>(kLetters[bits % kLetterCount])
                                     : kLeastLetter + bits % kLetterRange;
      const bool is_letter = kLetterCount > 1 && sizeof(T) == 1 && style > 0;
      x = static_cast<T>(is_letter ? letter : kTame || style == 1 ? few : any);
    }
  }
  template <class T, unsigned long kCount>
  void Draw(T (&x)[kCount], int style) {
    for (T& each : x) Draw(each, style);
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
    // Where rows begin: of 1 to 2 * kRow - 1 elements; every second one ends where it would if all
    // had kRow.
    void FillBegins(long from) {
      for (long i = from; i < kLongest; ++i) {
        const Word bits = Bits();
        const long less = i > 0 && bits & 1 ? static_cast<long>((bits >> 1) % kRow) : 0;
        filled[i] = static_cast<T>(i * kRow - less);
      }
    }
    void FillBetween(long from, unsigned least, unsigned most) {
      for (long i = from; i < kLongest; ++i)
        filled[i] = static_cast<T>(least + Bits() % (most - least));
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
// Where clues say how arrays are filled, each trial reads most of them, and rows take long.
constexpr int kTrialsOfRows = 24;
constexpr int kRunsOfRows = 64;
// Lengths in one number: a verdict tells one number that is not what was expected.
constexpr size_t kPacked = 3;
constexpr int kPackedBits = 20;

// Writes what is different for every function.
class Writer {
 public:
  explicit Writer(const LengthProgram& program) : program_(program) {}

  std::string Constants() const {
    const bool rows = !program_.begins.empty() || !program_.ranges.empty();
    std::vector<int> letters(program_.letters.begin(), program_.letters.end());
    if (letters.empty()) letters.push_back(0);
    return absl::StrFormat(
        "namespace whet_probe {\nconstexpr bool kTame = %s;\n"
        "constexpr unsigned kFew = %d, kLeast = %d;\n"
        "constexpr long kLongest = %d, kRoom = %d, kRow = %d;\n"
        "constexpr int kTrials = %d, kRuns = %d;\n"
        "constexpr unsigned char kLetters[] = {%s};\n"
        "constexpr unsigned kLetterCount = %d, kLeastLetter = %d, kLetterRange = %d;\n}\n",
        program_.tame ? "true" : "false", kFewNumbers, program_.positive ? 1 : 0, program_.longest,
        program_.room, kRow, rows ? kTrialsOfRows : kTrials, rows ? kRunsOfRows : kRuns,
        absl::StrJoin(letters, ", "), letters.size(), letters.front(),
        letters.back() - letters.front() + 1);
  }

  // A struct is drawn and compared field by field: what lies between them is not looked at.
  std::string FieldByField() const {
    std::string text;
    for (const v1::StructType& type : program_.structs.structs()) {
      std::string draw, same;
      for (const v1::StructType::Field& field : type.fields()) {
        const std::optional<Between> between = RangeOf(field.name());
        if (between && field.extents().empty() && !IsFloating(field.type())) {
          absl::StrAppend(&draw, " x.", field.name(), " = ", between->least, " + Bits() % ",
                          between->most - between->least, ";");
        } else {
          absl::StrAppend(&draw, " Draw(x.", field.name(), ", style);");
        }
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
    for (const Parameter& parameter : program_.signature.parameters) {
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
      absl::StrAppend(&fill, "  ", own, FillOf(parameter, "0"), "\n");
      absl::StrAppend(&load, "  ", own, ".Load();\n");
      arguments.push_back(absl::StrCat(own, ".used"));
      const size_t number = NumberOf(parameter.name);
      if (number < program_.asked.size()) {
        absl::StrAppend(&change, "  if (which == ", number, ") ", own, FillOf(parameter, "from"),
                        "\n");
      }
      if (parameter.is_const) continue;
      absl::StrAppend(&keep, "  ", own, ".Keep();\n");
      absl::StrAppend(&differs, "  if (", own, ".Differs(which == ", number,
                      " ? from : whet_probe::kLongest)) return true;\n");
      absl::StrAppend(&writes, " || which == ", number);
      absl::StrAppend(&written, "  if (which == ", number, ") return ", own, ".Written();\n");
    }
    const bool returns = program_.signature.return_type != "void";
    if (returns) {
      absl::StrAppend(&held, "static ", program_.signature.return_type,
                      " whet_now, whet_before;\n");
      absl::StrAppend(&keep, "  whet_before = whet_now;\n");
      absl::StrAppend(&differs, "  if (!whet_probe::Same(whet_now, whet_before)) return true;\n");
    }
    return absl::StrCat(
        held, "static void whet_fill(int trial) {\n",
        "  whet_probe::state = static_cast<whet_probe::Word>(trial);\n",
        "  [[maybe_unused]] const int style = static_cast<int>(whet_probe::Bits() % 6);\n", fill,
        "}\nstatic void whet_run() {\n", load, "  ", returns ? "whet_now = " : "",
        program_.signature.name, "(", absl::StrJoin(arguments, ", "), ");\n}\n",
        "static void whet_keep() {\n", keep, "}\nstatic void whet_change(int which, long from) {\n",
        change,
        "}\nstatic bool whet_differs([[maybe_unused]] int which, [[maybe_unused]] long from)",
        " {\n", differs, "  return false;\n}\n",
        "static bool whet_writes([[maybe_unused]] int which) { return false", writes, "; }\n",
        "static long whet_written([[maybe_unused]] int which)", " {\n", written,
        "  return 0;\n}\n");
  }

  std::string Answers() const {
    std::string body, copy;
    for (const std::string& size : program_.sizes) {
      absl::StrAppend(&body, "    whet_arg_", size, " = ", size, ";\n");
    }
    for (size_t i = 0; i < program_.PackedCount(); ++i) {
      absl::StrAppend(&copy, "  whet_found[", i, "] = whet_known[", i, "];\n");
      absl::StrAppend(&body, "    whet_known[", i, "] = 0");
      for (size_t a = kPacked * i; a < std::min(kPacked * (i + 1), program_.asked.size()); ++a) {
        absl::StrAppend(&body, " | static_cast<long long>(whet_length(", a, ")) << ",
                        kPackedBits * (a % kPacked));
      }
      absl::StrAppend(&body, ";\n");
    }
    return absl::StrCat(program_.Declaration(), " {\n  static long long whet_known[",
                        program_.PackedCount(),
                        "];\n  static bool whet_done;\n  if (!whet_done) {\n", body,
                        "    whet_done = true;\n  }\n", copy, "}");
  }

  struct Between {
    int least, most;  // the last one is not among them
  };
  std::optional<Between> RangeOf(const std::string& name) const {
    for (const auto& [first, last] : program_.ranges) {
      if (name == first) return Between{0, kRangeBegins};
      if (name == last) return Between{kRangeBegins, kRangeEnds};
    }
    return std::nullopt;
  }

  std::string FillOf(const Parameter& parameter, const std::string& from) const {
    if (program_.begins.count(parameter.name)) {
      return absl::StrCat(".FillBegins(", from, ");");
    }
    if (const auto between = RangeOf(parameter.name);
        between && CppIntegerMax(parameter.type) != 0) {
      return absl::StrCat(".FillBetween(", from, ", ", between->least, ", ", between->most, ");");
    }
    return absl::StrCat(".Fill(", from, ");");
  }

  bool IsSize(const std::string& name) const {
    return std::find(program_.sizes.begin(), program_.sizes.end(), name) != program_.sizes.end();
  }

  size_t NumberOf(const std::string& name) const {
    return static_cast<size_t>(std::find(program_.asked.begin(), program_.asked.end(), name) -
                               program_.asked.begin());
  }

 private:
  const LengthProgram& program_;
};

}  // namespace

size_t LengthProgram::PackedCount() const { return (asked.size() + kPacked - 1) / kPacked; }

std::string LengthProgram::Declaration() const {
  std::string text = "void whet_lengths(long long* whet_found";
  for (const Parameter& parameter : signature.parameters) {
    if (std::find(sizes.begin(), sizes.end(), parameter.name) == sizes.end()) continue;
    absl::StrAppend(&text, ", ", parameter.type, " ", parameter.name);
  }
  return text + ")";
}

std::string LengthProgram::Source() const {
  const Writer writer(*this);
  return absl::StrCat(code, "\n", writer.Constants(), kNumbers, writer.FieldByField(), kArrays,
                      writer.Arguments(), kSearch, writer.Answers());
}

std::string LengthProgram::Asking(const std::vector<int64_t>& known) const {
  std::string body;
  for (size_t i = 0; i < PackedCount(); ++i) {
    absl::StrAppend(&body, "  whet_found[", i, "] = ", i < known.size() ? known[i] : -1, ";\n");
  }
  return absl::StrCat(Declaration(), " {\n", body, "}\n");
}

std::vector<int64_t> LengthProgram::Unpacked(const std::vector<int64_t>& packed) const {
  std::vector<int64_t> lengths;
  for (size_t a = 0; a < asked.size(); ++a) {
    lengths.push_back(packed[a / kPacked] >> (kPackedBits * (a % kPacked)) &
                      ((int64_t{1} << kPackedBits) - 1));
  }
  return lengths;
}

}  // namespace whetstone
