#include <algorithm>
#include <iterator>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "clang/AST/Expr.h"
#include "cpu_bench_worker/rewrite/analysis/math_calls.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

constexpr char kOptimize[] = "#pragma GCC optimize";
constexpr size_t kArgumentsMax = 2;
// An instruction does this, but for errno.
constexpr std::string_view kByInstruction = "sqrt";
// glibc has no vectors' form of these.
constexpr std::string_view kOneByOne[] = {"fmod", "lgamma", "tgamma"};

// The function's declaration: of exp as one of floats "float expf(float)".
std::string Declaration(const std::string& type, const std::string& name, unsigned arguments) {
  return absl::StrCat(type, " ", name, "(", type, arguments == 2 ? ", " + type : "", ") noexcept");
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

void VectorCalls::Add(const FunctionCode& code) {
  has_loop_ = has_loop_ || HasLoop(code.body());
  for (const clang::Stmt* each : Below(code.body())) {
    const clang::CallExpr* call = AsMathCall(code, each);
    const std::string base = call == nullptr ? "" : ExpensiveName(call);
    if (base.empty() || call->getNumArgs() > kArgumentsMax ||
        std::find(std::begin(kOneByOne), std::end(kOneByOne), base) != std::end(kOneByOne))
      continue;
    const std::string type = FloatingType(call->getType());
    const std::string name = type == "float" ? base + "f" : base;
    const std::string declaration = Declaration(type, name, call->getNumArgs());
    (base == kByInstruction ? by_instruction_ : in_vectors_).insert(declaration);
    // std::exp of a float is a function of its own, which calls expf.
    const clang::Expr* callee = call->getCallee()->IgnoreParenImpCasts();
    if (type == "float" && code.Text(callee) != name) edits_.push_back(code.Instead(callee, name));
  }
}

void VectorCalls::Propose(const FunctionCode& code, Rewrites* rewrites) const {
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
  Edits edits = edits_;
  const size_t place = BehindIncludes(source);
  edits.push_back({place, place, declared});
  const std::string program = code.Source(edits);
  rewrites->push_back({"calls in vectors", program});
  if (!absl::StrContains(source, kOptimize))
    rewrites->push_back({"calls in vectors, sums in any order",
                         absl::StrCat(kOptimize, "(", kSumsInAnyOrder, ")\n", program)});
}

}  // namespace whetstone
