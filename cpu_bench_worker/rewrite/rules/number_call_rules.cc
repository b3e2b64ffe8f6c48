#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "clang/AST/Expr.h"
#include "clang/AST/ExprCXX.h"
#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/helper_functions.h"
#include "cpu_bench_worker/rewrite/analysis/math_calls.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr char kOptimize[] = "#pragma GCC optimize";
constexpr size_t kArgumentsMax = 2;
constexpr char kQuarterTurn[] = "1.57079632679489661923";
// What is longer is not written twice.
constexpr size_t kRepeatedMax = 60;
// Functions that are an instruction or two.
constexpr std::string_view kSimple[] = {"abs", "fabs", "floor", "ceil", "trunc", "copysign"};
// An instruction does this, but for errno.
constexpr std::string_view kByInstruction = "sqrt";
// glibc has no vectors' form of these.
constexpr std::string_view kOneByOne[] = {"fmod", "lgamma", "tgamma"};

// The function's declaration: of exp as one of floats "float expf(float)".
std::string Declaration(const std::string& type, const std::string& name, unsigned arguments) {
  return absl::StrCat(type, " ", name, "(", type, arguments == 2 ? ", " + type : "", ") noexcept");
}

bool IsOneByOne(const FunctionCode& code, const clang::CallExpr* call) {
  const std::string name = AsMathCall(code, call) == nullptr ? "" : ExpensiveName(call);
  return std::find(std::begin(kOneByOne), std::end(kOneByOne), name) != std::end(kOneByOne);
}

// Whether an expression may be written twice: the compiler sees that it is the same.
bool MayStandTwice(const FunctionCode& code, const clang::Expr* expression) {
  const std::vector<const clang::Stmt*> parts = Below(expression);
  return OnlyComputes(code, expression) &&
         std::none_of(parts.begin(), parts.end(), [&](const clang::Stmt* each) {
           const auto* call = dyn_cast<clang::CallExpr>(each);
           return call != nullptr &&
                  (IsOneByOne(code, call) ||
                   (WrittenHere(code, call) != nullptr && ComputesLong(code, call)));
         });
}

// std::max(a, b) of fractions, and std::min, as a choice, in which edits of what they are given are
// made; empty for any other call.
std::string AsChoice(const FunctionCode& code, const clang::CallExpr* call, const Edits& edits) {
  const clang::FunctionDecl* callee = call->getDirectCallee();
  const clang::Stmt* around = code.Parent(call);
  const std::string name = callee == nullptr ? "" : callee->getNameAsString();
  if ((name != "max" && name != "min") || !callee->isInStdNamespace() || call->getNumArgs() != 2 ||
      around == nullptr || !isa<clang::Expr, clang::DeclStmt, clang::ReturnStmt>(around))
    return "";
  const std::string type = FloatingType(call->getType());
  std::string given[2];
  for (const unsigned i : {0u, 1u}) {
    const clang::Expr* argument = call->getArg(i)->IgnoreImplicit();
    if (type.empty() || FloatingType(argument->getType()) != type ||
        isa<clang::InitListExpr>(argument) || !MayStandTwice(code, argument))
      return "";
    const std::string text = code.Text(argument, edits);
    if (text.size() > kRepeatedMax) return "";
    given[i] = IsAtom(argument) ? text : "(" + text + ")";
  }
  // Rules know m = m < x ? x : m.
  if (NamedVariable(call->getArg(1)) != nullptr && NamedVariable(call->getArg(0)) == nullptr)
    std::swap(given[0], given[1]);
  const auto& [a, b] = given;
  const bool max = name == "max";
  return absl::StrCat("(", max ? a : b, " < ", max ? b : a, " ? ", b, " : ", a, ")");
}

// The compiler's own name of what std::abs, std::floor and the like do; empty for any other call.
std::string BuiltinName(const FunctionCode& code, const clang::CallExpr* call) {
  const clang::FunctionDecl* callee = call->getDirectCallee();
  if (callee == nullptr || !callee->isInStdNamespace() || AsMathCall(code, call) == nullptr)
    return "";
  const std::string type = FloatingType(call->getType());
  if (FloatingType(call->getArg(0)->getType()) != type) return "";
  const std::string name = callee->getNameAsString();
  const bool simple = std::find(std::begin(kSimple), std::end(kSimple), name) != std::end(kSimple);
  if (!simple) return "";
  return absl::StrCat("__builtin_", name == "abs" ? "fabs" : name, type == "float" ? "f" : "");
}

// Whether it calls more than operators, such as a vector's [].
bool CallsByName(const clang::Expr* expression) {
  const std::vector<const clang::Stmt*> parts = Below(expression);
  return std::any_of(parts.begin(), parts.end(), [](const clang::Stmt* each) {
    return isa<clang::CallExpr>(each) && !isa<clang::CXXOperatorCallExpr>(each);
  });
}

// What a call of the sine or the cosine is given, with its type; empty for any other call, and
// where that is computed by another one.
std::string AngleOf(const FunctionCode& code, const clang::CallExpr* call, std::string_view name) {
  if (AsMathCall(code, call) == nullptr || ExpensiveName(call) != name ||
      CallsByName(call->getArg(0)))
    return "";
  return absl::StrCat(FloatingType(call->getType()), " ", code.Text(call->getArg(0)));
}

// The place behind the last line that includes something: a C++ program's own declaration of a C
// function has to come after that of the header.
size_t BehindIncludes(const std::string& source) {
  size_t place = 0;
  for (size_t line = 0; line < source.size();) {
    const size_t end = std::min(source.find('\n', line), source.size() - 1) + 1;
    absl::string_view text =
        absl::StripLeadingAsciiWhitespace(absl::string_view(source).substr(line, end - line));
    if (absl::ConsumePrefix(&text, "#") &&
        absl::StartsWith(absl::StripLeadingAsciiWhitespace(text), "include"))
      place = end;
    line = end;
  }
  return place;
}

}  // namespace

void NumberCalls::Add(const FunctionCode& code) {
  has_loop_ = has_loop_ || HasLoop(code.body());
  const std::vector<const clang::Stmt*> all = Below(code.body());
  std::set<std::string> sines;
  for (const clang::Stmt* each : all)
    if (const auto* call = dyn_cast<clang::CallExpr>(each))
      sines.insert(AngleOf(code, call, "sin"));
  sines.erase("");
  // What a call is given comes before the call itself.
  for (auto each = all.rbegin(); each != all.rend(); ++each) {
    const auto* call = dyn_cast<clang::CallExpr>(*each);
    if (call == nullptr || call->getBeginLoc().isMacroID()) continue;
    if (const std::string choice = AsChoice(code, call, edits_); !choice.empty()) {
      Override(&edits_, code.Instead(call, choice));
    } else if (const std::string name = BuiltinName(code, call); !name.empty()) {
      edits_.push_back(code.Instead(call->getCallee()->IgnoreParenImpCasts(), name));
    } else {
      if (sines.count(AngleOf(code, call, "cos")) > 0) AddAsSine(code, call);
      AddExpensive(code, call);
    }
  }
}

void NumberCalls::AddExpensive(const FunctionCode& code, const clang::CallExpr* call) {
  const std::string base = AsMathCall(code, call) == nullptr ? "" : ExpensiveName(call);
  if (base.empty() || call->getNumArgs() > kArgumentsMax || IsOneByOne(code, call)) return;
  const std::string type = FloatingType(call->getType());
  const std::string name = type == "float" ? base + "f" : base;
  const std::string declaration = Declaration(type, name, call->getNumArgs());
  (base == kByInstruction ? by_instruction_ : in_vectors_).insert(declaration);
  // std::exp of a float is a function of its own, which calls expf.
  const clang::Expr* callee = call->getCallee()->IgnoreParenImpCasts();
  if (type != "float" || code.Text(callee) == name) return;
  renamed_.push_back(code.Instead(callee, name));
  edits_.push_back(renamed_.back());
}

// GCC computes the sine and the cosine of one angle together, for which it has no vectors' form.
void NumberCalls::AddAsSine(const FunctionCode& code, const clang::CallExpr* call) {
  const bool is_float = FloatingType(call->getType()) == "float";
  const clang::Expr* angle = call->getArg(0);
  std::string name = code.Text(call->getCallee()->IgnoreParenImpCasts());
  name = is_float ? "::sinf" : name.substr(0, name.rfind("cos")) + "sin";
  const std::string given = code.Text(angle);
  as_sines_.push_back(
      code.Instead(call, absl::StrCat(name, "(", IsAtom(angle) ? given : "(" + given + ")", " + ",
                                      kQuarterTurn, is_float ? "f" : "", ")")));
}

Edits NumberCalls::WithSines(Edits edits) const {
  for (const Edit& sine : as_sines_) {
    const bool within_other = std::any_of(edits.begin(), edits.end(), [&](const Edit& each) {
      return each.begin <= sine.begin && each.end >= sine.end;
    });
    if (!within_other) Override(&edits, sine);
  }
  return edits;
}

void NumberCalls::ProposeVectors(const FunctionCode& code, Rewrites* rewrites) const {
  const std::string source = code.Source({});
  std::string declared;
  for (const bool instruction : {true, false}) {
    const std::string attributes = instruction ? "const" : "const, simd(\"notinbranch\")";
    for (const std::string& each : instruction ? by_instruction_ : in_vectors_) {
      const std::string line = absl::StrCat("__attribute__((", attributes, ")) ", each, ";\n");
      if (!absl::StrContains(source, line)) absl::StrAppend(&declared, line);
    }
  }
  if (declared.empty() || !has_loop_) return;
  const size_t place = BehindIncludes(source);
  const auto with = [&](Edits edits) {
    edits.push_back({place, place, declared});
    return code.Source(edits);
  };
  const auto propose = [&](const std::string& rule, const Edits& plain, const Edits& any_order) {
    rewrites->push_back({rule, with(plain)});
    if (!absl::StrContains(source, kOptimize))
      rewrites->push_back({rule + ", sums in any order",
                           absl::StrCat(kOptimize, "(", kSumsInAnyOrder, ")\n", with(any_order))});
  };
  propose("calls in vectors", renamed_, edits_);
  if (!as_sines_.empty())
    propose("calls in vectors, cosines as sines", WithSines(renamed_), WithSines(edits_));
}

}  // namespace whetstone
