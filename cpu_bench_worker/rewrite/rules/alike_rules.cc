// Calls that are alike.
#include <algorithm>
#include <map>

#include "clang/AST/ExprCXX.h"
#include "cpu_bench_worker/rewrite/analysis/helper_functions.h"
#include "cpu_bench_worker/rewrite/analysis/math_calls.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

struct AlikeCall {
  const clang::CallExpr* call = nullptr;
  size_t statement = 0;  // of its block, in which it is
};

// Whether all that a call does is to give a number, which takes long to compute.
bool OnlyGivesANumber(const FunctionCode& code, const clang::CallExpr* call) {
  if (isa<clang::CXXOperatorCallExpr, clang::CXXMemberCallExpr>(call) ||
      call->getBeginLoc().isMacroID() || !call->getType()->isArithmeticType() ||
      std::any_of(call->arg_begin(), call->arg_end(),
                  [](const clang::Expr* each) { return !Changed(each).empty(); }))
    return false;
  if (AsMathCall(code, call) != nullptr) return !ExpensiveName(call).empty();
  const clang::FunctionDecl* definition = WrittenHere(code, call);
  return definition != nullptr && !isa<clang::CXXMethodDecl>(definition) &&
         std::all_of(definition->param_begin(), definition->param_end(),
                     [](const clang::ParmVarDecl* each) {
                       const clang::QualType type = each->getType();
                       return !(type->isPointerType() || type->isReferenceType()) ||
                              type->getPointeeType().isConstQualified();
                     });
}

// Whether a statement does it, if it does it at all, once.
bool IsOutsideOfLoops(const FunctionCode& code, const clang::Stmt* call, const clang::Stmt* stmt) {
  for (const clang::Stmt* at = call; at != nullptr && at != stmt; at = code.Parent(at))
    if (IsLoop(at)) return false;
  return !IsLoop(stmt);
}

// Proposes that calls which are alike are done once, before the first statement that has one.
void DoOnce(const FunctionCode& code, const std::vector<const clang::Stmt*>& block,
            const std::vector<AlikeCall>& alike, Rewrites* rewrites) {
  const clang::Stmt* first = block[alike.front().statement];
  if (!IsOutsideOfLoops(code, alike.front().call, first)) return;
  const Variables used = Used(alike.front().call);
  for (size_t s = alike.front().statement; s <= alike.back().statement; ++s)
    if (Share(used, ChangedOrDeclared(block[s]))) return;
  const std::string name = code.Fresh({"once", "called"});
  const auto instead = [&](size_t statement) {
    Edits edits;
    for (const AlikeCall& each : alike)
      if (each.statement == statement) edits.push_back(code.Instead(each.call, name));
    return code.Text(block[statement], edits);
  };
  Edits edits;
  for (size_t s = alike.front().statement; s <= alike.back().statement; ++s) {
    const std::string before = s == alike.front().statement
                                   ? "const " + code.Type(alike.front().call) + " " + name + " = " +
                                         code.Text(alike.front().call) + ";\n"
                                   : "";
    const std::string text = before + instead(s);
    if (text != code.Text(block[s])) edits.push_back(code.Instead(block[s], text));
  }
  rewrites->push_back({"alike calls once", code.Source(edits)});
}

}  // namespace

void CallOnce(const FunctionCode& code, Rewrites* rewrites) {
  for (const clang::Stmt* each : Below(code.body())) {
    if (!isa<clang::CompoundStmt>(each)) continue;
    const std::vector<const clang::Stmt*> block = StatementsOf(each);
    std::map<std::string, std::vector<AlikeCall>> alike;
    for (size_t s = 0; s < block.size(); ++s) {
      for (const clang::Stmt* part : Below(block[s])) {
        const auto* call = dyn_cast<clang::CallExpr>(part);
        if (call != nullptr && OnlyGivesANumber(code, call))
          alike[code.Text(call)].push_back({call, s});
      }
    }
    for (const auto& [text, calls] : alike)
      if (calls.size() > 1) DoOnce(code, block, calls, rewrites);
  }
}

}  // namespace whetstone
