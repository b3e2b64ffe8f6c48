#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

constexpr int kUnrolled = 8;

bool IsLoop(const clang::Stmt* stmt) {
  return llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt>(stmt);
}

std::vector<const clang::Stmt*> InnermostLoops(const clang::Stmt* body) {
  std::vector<const clang::Stmt*> innermost;
  for (const clang::Stmt* each : Below(body)) {
    if (!IsLoop(each) || each->getBeginLoc().isMacroID()) continue;
    // Outer loops come before those in them.
    std::erase_if(innermost, [&](const clang::Stmt* outer) {
      const std::vector<const clang::Stmt*> below = Below(outer);
      return std::find(below.begin(), below.end(), each) != below.end();
    });
    innermost.push_back(each);
  }
  return innermost;
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
  const std::string pragma = "#pragma GCC unroll ";
  if (absl::StrContains(code.Source({}), pragma)) return;
  Edits edits;
  for (const clang::Stmt* loop : InnermostLoops(code.body())) {
    const size_t begin = code.Begin(loop);
    edits.push_back({begin, begin, absl::StrCat("\n", pragma, kUnrolled, "\n")});
  }
  if (!edits.empty())
    rewrites->push_back({absl::StrCat(kUnrolled, " turns by a pragma"), code.Source(edits)});
}

void OptimizeByPragma(const FunctionCode& code, Rewrites* rewrites) {
  if (InnermostLoops(code.body()).empty()) return;
  const std::string source = code.Source({});
  const auto with = [&](const char* rule, const std::string& options) {
    const std::string pragma = absl::StrCat("#pragma GCC optimize(", options, ")\n");
    if (!absl::StrContains(source, options)) rewrites->push_back({rule, pragma + source});
  };
  if (ComputesWithFloatingPoint(code.body())) {
    with("no traps", "\"no-math-errno\", \"no-trapping-math\"");
    with("sums in any order", "\"fast-math\", \"no-finite-math-only\"");
  }
  with("unrolled loops", "\"unroll-loops\"");
  with("optimized less", "\"O2\"");
}

}  // namespace whetstone
