#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

constexpr int kUnrolled = 8;

// Whether GCC takes a pragma before the loop that unrolls it: one without a condition it refuses.
bool MayBeUnrolled(const clang::Stmt* loop) {
  const auto* counted = llvm::dyn_cast<clang::ForStmt>(loop);
  return !loop->getBeginLoc().isMacroID() && (counted == nullptr || counted->getCond() != nullptr);
}

bool IsInnermost(const clang::Stmt* loop) {
  const std::vector<const clang::Stmt*> below = Below(loop);
  return std::count_if(below.begin(), below.end(), IsLoop) == 1;
}

// Whether the line before the place is a pragma.
bool BehindPragma(const std::string& source, size_t place) {
  const size_t end = source.find_last_not_of(" \t\n", place - 1);
  if (place == 0 || end == std::string::npos) return false;
  const size_t line = source.rfind('\n', end) + 1;  // npos + 1 is 0
  return absl::StartsWith(absl::StripLeadingAsciiWhitespace(source.substr(line)), "#pragma");
}

bool ComputesWithFloatingPoint(const clang::Stmt* body) {
  for (const clang::Stmt* each : Below(body))
    if (const auto* expression = llvm::dyn_cast<clang::Expr>(each);
        expression != nullptr && expression->getType()->isFloatingType())
      return true;
  return false;
}

}  // namespace

void UnrollByPragma(const FunctionCode& code, Rewrites* rewrites) {
  const std::string source = code.Source({});
  Edits edits;
  for (const clang::Stmt* loop : Below(code.body())) {
    if (!IsLoop(loop) || !IsInnermost(loop) || !MayBeUnrolled(loop)) continue;
    const size_t begin = code.Begin(loop);
    if (BehindPragma(source, begin)) continue;
    edits.push_back({begin, begin, absl::StrCat("\n#pragma GCC unroll ", kUnrolled, "\n")});
  }
  if (!edits.empty())
    rewrites->push_back({absl::StrCat(kUnrolled, " turns by a pragma"), code.Source(edits)});
}

void OptimizeByPragma(const FunctionCode& code, Rewrites* rewrites) {
  if (!Has<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt>(code.body()))
    return;
  struct Hint {
    const char* rule;
    const char* options;
    bool floating_point;
  };
  constexpr Hint kHints[] = {
      {"no traps", "\"no-math-errno\", \"no-trapping-math\"", true},
      {"sums in any order", "\"fast-math\", \"no-finite-math-only\"", true},
      {"unrolled loops", "\"unroll-loops\"", false},
      {"optimized less", "\"O2\"", false},
  };
  const bool floating_point = ComputesWithFloatingPoint(code.body());
  const std::string source = code.Source({});
  const std::string pragma = "#pragma GCC optimize(";
  // None where a level of optimization is set; several stand in this order only, and of those for
  // floating point, which come first, there is one.
  if (absl::StrContains(source, pragma + "\"O")) return;
  size_t first = 0;
  for (size_t i = 0; i < std::size(kHints); ++i)
    if (absl::StrContains(source, pragma + kHints[i].options)) first = i + 1;
  for (size_t i = first; i < std::size(kHints); ++i) {
    const Hint& hint = kHints[i];
    if (hint.floating_point && (!floating_point || first > 0)) continue;
    rewrites->push_back({hint.rule, absl::StrCat(pragma, hint.options, ")\n", source)});
  }
}

}  // namespace whetstone
