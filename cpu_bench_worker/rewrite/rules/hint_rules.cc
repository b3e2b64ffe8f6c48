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

// Whether GCC takes a pragma before the loop: one without a condition it refuses.
bool MayHavePragma(const clang::Stmt* loop) {
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

// Whether something that is no variable is assigned to: an array's element, a field.
bool WritesMemory(const clang::Stmt* loop) {
  for (const clang::Stmt* each : Below(loop)) {
    const clang::Expr* target = nullptr;
    if (const auto* assignment = llvm::dyn_cast<clang::BinaryOperator>(each);
        assignment != nullptr && assignment->isAssignmentOp())
      target = assignment->getLHS();
    if (const auto* step = llvm::dyn_cast<clang::UnaryOperator>(each);
        step != nullptr && step->isIncrementDecrementOp())
      target = step->getSubExpr();
    if (target != nullptr && !llvm::isa<clang::DeclRefExpr>(target->IgnoreParenImpCasts()))
      return true;
  }
  return false;
}

// Puts a pragma before each innermost loop that is `meant`.
void HintLoops(const FunctionCode& code, const std::string& rule, const std::string& pragma,
               bool (*meant)(const clang::Stmt* loop), Rewrites* rewrites) {
  const std::string source = code.Source({});
  Edits edits;
  for (const clang::Stmt* loop : Below(code.body())) {
    if (!IsLoop(loop) || !IsInnermost(loop) || !MayHavePragma(loop) || !meant(loop)) continue;
    const size_t begin = code.Begin(loop);
    if (BehindPragma(source, begin)) continue;
    edits.push_back({begin, begin, absl::StrCat("\n#pragma GCC ", pragma, "\n")});
  }
  if (!edits.empty()) rewrites->push_back({rule, code.Source(edits)});
}

}  // namespace

void UnrollByPragma(const FunctionCode& code, Rewrites* rewrites) {
  HintLoops(
      code, absl::StrCat(kUnrolled, " turns by a pragma"), absl::StrCat("unroll ", kUnrolled),
      [](const clang::Stmt*) { return true; }, rewrites);
}

void IndependentTurnsByPragma(const FunctionCode& code, Rewrites* rewrites) {
  HintLoops(code, "independent turns by a pragma", "ivdep", &WritesMemory, rewrites);
}

void ArraysApart(const FunctionCode& code, Rewrites* rewrites) {
  if (!HasLoop(code.body())) return;
  Edits edits;
  int arrays = 0;
  bool written = false;
  for (const clang::ParmVarDecl* parameter : code.parameters()) {
    const clang::QualType type = parameter->getOriginalType();
    if (!type->isPointerType() || type->isFunctionPointerType() || parameter->getName().empty() ||
        parameter->getLocation().isMacroID())
      continue;
    ++arrays;
    written |= !type->getPointeeType().isConstQualified();
    const size_t name = code.At(parameter->getLocation());
    if (!type.isRestrictQualified()) edits.push_back({name, name, "__restrict "});
  }
  if (arrays > 1 && written && !edits.empty())
    rewrites->push_back({"arrays that do not overlap", code.Source(edits)});
}

void OptimizeByPragma(const FunctionCode& code, const NumberCalls& calls, Rewrites* rewrites) {
  if (!HasLoop(code.body())) return;
  struct Hint {
    const char* rule;
    const char* options;
    bool floating_point;
  };
  constexpr Hint kHints[] = {
      {"no traps", "\"no-math-errno\", \"no-trapping-math\"", true},
      {"sums in any order", kSumsInAnyOrder, true},
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
    rewrites->push_back(
        {hint.rule, absl::StrCat(pragma, hint.options, ")\n",
                                 hint.floating_point ? code.Source(calls.edits()) : source)});
  }
}

}  // namespace whetstone
