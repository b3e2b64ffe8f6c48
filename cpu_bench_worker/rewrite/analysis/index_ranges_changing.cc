// What IndexRanges knows of variables that change, but for counters.
#include <algorithm>

#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/index_ranges.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

}  // namespace

// What a variable begins with, if it only falls from there, or only rises.
IndexRanges::Range IndexRanges::OfFirstValue(const clang::VarDecl* variable, int depth) const {
  if (!variable->isLocalVarDecl() || variable->getInit() == nullptr || depth <= 0) return {};
  if (!being_read_.insert(variable).second) return {};
  bool falls = true, rises = true;
  for (const clang::Stmt* each : Below(code_.body())) {
    const auto* name = dyn_cast<clang::DeclRefExpr>(each);
    if (name == nullptr || name->getDecl() != variable) continue;
    const clang::Stmt* around = code_.Parent(each);
    const auto* cast = dyn_cast<clang::ImplicitCastExpr>(around);
    if (cast != nullptr && cast->getCastKind() == clang::CK_LValueToRValue) continue;
    const std::optional<Assignment> change = AsAssignment(around);
    const bool by_size =
        change && NamedVariable(change->target) == variable &&
        (change->value == nullptr || IsNeverNegative(Of(change->value, depth - 1).least));
    rises = rises && by_size && change->kind == clang::BO_AddAssign;
    falls = falls && by_size && change->kind == clang::BO_SubAssign;
  }
  const Range first = Held(variable->getType(), Of(variable->getInit(), depth - 1));
  being_read_.erase(variable);
  return {rises ? first.least : std::nullopt, falls ? first.most : std::nullopt};
}

// `if (v >= n) v = n - 1;` and the like, on the way to where a variable that changes is used, and
// what its loop goes on for. What is nearer to the use counts; behind anything else that may change
// the variable nothing does.
IndexRanges::Range IndexRanges::HeldBefore(const clang::Stmt* use, const clang::VarDecl* variable,
                                           int depth) const {
  Range range;
  std::vector<Range> others;  // what it may have been set to since then
  const auto changes = [&](const clang::Stmt* stmt) {
    return stmt != nullptr &&
           (Changed(stmt).count(variable) > 0 || Written(stmt).count(variable) > 0);
  };
  const auto hold = [&](const clang::Expr* condition, bool negated) {
    Bound most = MostBy(condition, negated, variable, depth - 1);
    Bound least = LeastBy(condition, negated, variable, depth - 1);
    for (const Range& other : others) {
      most = LargerOf(most, other.most);
      least = NeitherNegative({least, {}}, other);
    }
    if (!range.most) range.most = most;
    if (!range.least) range.least = least;
  };
  const clang::Stmt* part = use;
  for (const clang::Stmt* at = code_.Parent(use); at != nullptr; part = at, at = code_.Parent(at)) {
    if (IsLoop(at) && changes(at)) {
      const auto* loop = dyn_cast<clang::WhileStmt>(at);
      if (loop != nullptr && part == loop->getBody() && !changes(loop->getCond()))
        for (const clang::Expr* condition : Conjuncts(loop->getCond())) hold(condition, false);
      return range;
    }
    if (!isa<clang::CompoundStmt>(at)) {
      for (const clang::Stmt* other : at->children())
        if (other != part && !isa<clang::IfStmt>(at) && changes(other)) return range;
      const auto* branch = dyn_cast<clang::IfStmt>(at);
      if (branch != nullptr && changes(branch->getCond())) return range;
      continue;
    }
    if (Has<clang::SwitchCase, clang::LabelStmt>(at)) return range;
    const std::vector<const clang::Stmt*> all = StatementsOf(at);
    for (auto before = std::find(all.begin(), all.end(), part); before != all.begin();) {
      const clang::Stmt* stmt = *--before;
      if (!changes(stmt)) continue;
      const clang::IfStmt* guard = AsGuard(stmt);
      const std::vector<const clang::Stmt*> then =
          guard == nullptr ? std::vector<const clang::Stmt*>{} : StatementsOf(guard->getThen());
      const std::optional<Assignment> held =
          then.size() == 1 ? AsAssignment(then[0]) : std::nullopt;
      if (!held || held->kind != clang::BO_Assign || NamedVariable(held->target) != variable ||
          changes(guard->getCond()))
        return range;
      others.push_back(Of(held->value, depth - 1));
      hold(guard->getCond(), true);
    }
  }
  return range;
}

}  // namespace whetstone
