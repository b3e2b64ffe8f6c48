#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

// Whether there is a loop that may compute with floating point.
bool ComputesInLoops(const clang::Stmt* body) {
  if (!Has<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt>(body))
    return false;
  for (const clang::Stmt* each : Below(body))
    if (const auto* expression = llvm::dyn_cast<clang::Expr>(each);
        expression != nullptr && expression->getType()->isFloatingType())
      return true;
  return false;
}

}  // namespace

void RelaxArithmetic(const FunctionCode& code, Rewrites* rewrites) {
  const std::string source = code.Source({});
  const std::string pragma = "#pragma GCC optimize(";
  if (source.find(pragma) != std::string::npos || !ComputesInLoops(code.body())) return;
  rewrites->push_back({"no traps", pragma + "\"no-math-errno\", \"no-trapping-math\")\n" + source});
  rewrites->push_back(
      {"sums in any order", pragma + "\"fast-math\", \"no-finite-math-only\")\n" + source});
}

}  // namespace whetstone
