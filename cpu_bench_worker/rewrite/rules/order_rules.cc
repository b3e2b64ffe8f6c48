// In which order conditions are asked: what costs little first, so that what takes long is asked
// less often.
#include <algorithm>
#include <cstddef>
#include <set>
#include <string>

#include "clang/AST/ExprCXX.h"
#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/helper_functions.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

// Statements, in the order in which they stand.
using Sequence = std::vector<const clang::Stmt*>;

// Whether evaluating an expression does nothing but compute its value, of elements of vectors too.
bool IsOnlyAsked(const FunctionCode& code, const clang::Expr* expression) {
  const Sequence parts = Below(expression);
  return !Has<clang::LambdaExpr, clang::CXXNewExpr>(expression) && Changed(expression).empty() &&
         !NamesBinding(expression) && CallsAreQuiet(code, expression) &&
         std::none_of(parts.begin(), parts.end(),
                      [](const clang::Stmt* each) { return AsAssignment(each).has_value(); });
}

// Whether a statement takes long: by what it computes, or as it calls a function of the program.
bool IsCostly(const FunctionCode& code, const clang::Stmt* stmt) {
  const Sequence parts = Below(stmt);
  return std::any_of(parts.begin(), parts.end(), [&](const clang::Stmt* each) {
    const auto* call = dyn_cast<clang::CallExpr>(each);
    return ComputesLong(code, each) || (call != nullptr && WrittenHere(code, call) != nullptr);
  });
}

// Whether it takes no time to speak of: nothing is called there, but for elements of vectors.
bool IsCheap(const FunctionCode& code, const clang::Stmt* stmt) {
  const Sequence parts = Below(stmt);
  return !IsCostly(code, stmt) &&
         std::all_of(parts.begin(), parts.end(), [](const clang::Stmt* each) {
           return !isa<clang::CallExpr>(each) || isa<clang::CXXOperatorCallExpr>(each);
         });
}

// The index of an element of an array or vector; null, if it is none.
const clang::Expr* IndexOf(const clang::Stmt* stmt) {
  if (const auto* element = dyn_cast<clang::ArraySubscriptExpr>(stmt)) return element->getIdx();
  const auto* called = dyn_cast<clang::CXXOperatorCallExpr>(stmt);
  const bool element = called != nullptr && called->getOperator() == clang::OO_Subscript;
  return element ? called->getArg(1) : nullptr;
}

// The places of elements that are read whenever the condition is asked.
std::set<std::string> PlacesAsked(const FunctionCode& code, const clang::Expr* condition) {
  std::set<std::string> places;
  for (const clang::Stmt* each : Below(condition)) {
    const auto* both = dyn_cast<clang::BinaryOperator>(each);
    if (isa<clang::ConditionalOperator>(each) || (both != nullptr && both->isLogicalOp()))
      return {};
    if (const clang::Expr* index = IndexOf(each)) places.insert(code.Text(index));
  }
  return places;
}

// Whether an index is the counter of a loop around it, which has an element for each turn.
bool CountsTurns(const FunctionCode& code, const clang::Expr* index) {
  const clang::VarDecl* counter = NamedVariable(index);
  for (const clang::Stmt* at = code.Parent(index); at != nullptr; at = code.Parent(at))
    if (const Loop* loop = code.LoopOf(at); loop != nullptr && loop->var == counter) return true;
  return false;
}

// Whether the condition may be what says that all of `stmt` can be computed: it names what that
// reads memory by, or divides by.
bool MayProtect(const FunctionCode& code, const clang::Expr* condition, const clang::Stmt* stmt) {
  const Variables named = Used(condition);
  const std::set<std::string> places = PlacesAsked(code, condition);
  const Sequence parts = Below(stmt);
  return std::any_of(parts.begin(), parts.end(), [&](const clang::Stmt* each) {
    const clang::Expr* index = IndexOf(each);
    if (index == nullptr ? !MayFault(code, each)
                         : CountsTurns(code, index) || places.count(code.Text(index)) > 0)
      return false;
    return Share(Used(each), named);
  });
}

// Whether a statement only declares numbers and places, which nothing else is done for.
bool DeclaresFigures(const FunctionCode& code, const clang::Stmt* stmt) {
  const auto* declaration = dyn_cast<clang::DeclStmt>(stmt);
  if (declaration == nullptr) return false;
  return std::all_of(declaration->decl_begin(), declaration->decl_end(), [&](const auto* decl) {
    const auto* variable = dyn_cast<clang::VarDecl>(decl);
    return variable != nullptr && variable->hasLocalStorage() && variable->getInit() != nullptr &&
           variable->getType()->isScalarType() && IsOnlyAsked(code, variable->getInit());
  });
}

// What a guard does that only leaves the turn, loop or function: "continue;". Empty, if it is none
// or its condition does anything.
std::string LeavesBy(const FunctionCode& code, const clang::IfStmt* guard) {
  if (guard == nullptr || !IsOnlyAsked(code, guard->getCond())) return "";
  const Sequence then = StatementsOf(guard->getThen());
  const bool leaves =
      then.size() == 1 && isa<clang::ContinueStmt, clang::BreakStmt, clang::ReturnStmt>(then[0]);
  return leaves ? code.Text(then[0]) : "";
}

// Whether a statement names another variable by the name of one that is declared in `ahead`.
bool MeansAnother(const clang::Stmt* stmt, const Sequence& ahead) {
  const Variables named = Used(stmt);
  return std::any_of(ahead.begin(), ahead.end(), [&](const clang::Stmt* each) {
    const Variables own = Declared(each);
    return std::any_of(own.begin(), own.end(), [&](const clang::VarDecl* variable) {
      return std::any_of(named.begin(), named.end(), [&](const clang::VarDecl* other) {
        return other != variable && other->getName() == variable->getName();
      });
    });
  });
}

// Puts the cheap guard at this place of a block, with the declarations that it needs, before
// guards that take longer and leave in the same way, and declarations that do.
void PutAhead(const FunctionCode& code, size_t place, Sequence* block) {
  const clang::IfStmt* guard = AsGuard((*block)[place]);
  const std::string exit = LeavesBy(code, guard);
  if (exit.empty() || !IsCheap(code, guard->getCond())) return;
  Sequence ahead = {guard};
  Variables needed = Used(guard);
  size_t first = place;  // what it is put before
  Sequence with = {};    // all that is put there
  for (size_t at = place; at-- > 0;) {
    const clang::Stmt* stmt = (*block)[at];
    const bool declares = DeclaresFigures(code, stmt);
    if (declares && Share(Declared(stmt), needed)) {
      if (!IsCheap(code, stmt)) break;
      ahead.insert(ahead.begin(), stmt);
      needed.merge(Used(stmt));
      continue;
    }
    if (MeansAnother(stmt, ahead)) break;
    if (!declares) {
      const clang::IfStmt* other = AsGuard(stmt);
      if (LeavesBy(code, other) != exit ||
          std::any_of(ahead.begin(), ahead.end(), [&](const clang::Stmt* each) {
            return MayProtect(code, other->getCond(), each);
          }))
        break;
    }
    // Declarations just before what takes long are likely there for it.
    if (!IsCostly(code, stmt) && !(declares && at + 1 == first && first < place)) continue;
    first = at;
    with = ahead;
  }
  std::erase_if(*block, [&](const clang::Stmt* each) {
    return std::find(with.begin(), with.end(), each) != with.end();
  });
  block->insert(block->begin() + static_cast<std::ptrdiff_t>(first), with.begin(), with.end());
}

// Adds the edit of a block's guards.
void OrderGuards(const FunctionCode& code, const clang::Stmt* block, Edits* edits) {
  const Sequence before = StatementsOf(block);
  Sequence after = before;
  for (size_t place = 1; place < after.size(); ++place) PutAhead(code, place, &after);
  if (after == before) return;
  size_t first = 0, last = before.size() - 1;
  while (before[first] == after[first]) ++first;
  while (before[last] == after[last]) --last;
  std::string text;
  for (size_t at = first; at <= last; ++at)
    text += (text.empty() ? "" : "\n") + code.Text(after[at], *edits);
  Override(edits, {code.Begin(before[first]), code.End(before[last]), text});
}

// What an expression is an operand of.
const clang::Stmt* JoinedIn(const FunctionCode& code, const clang::Stmt* expression) {
  const clang::Stmt* around = code.Parent(expression);
  while (around != nullptr && isa<clang::ParenExpr, clang::ImplicitCastExpr>(around))
    around = code.Parent(around);
  return around;
}

// Adds edits of the operands of && or ||, if the expression is all that they join.
void OrderOperands(const FunctionCode& code, const clang::Stmt* stmt, Edits* edits) {
  const auto* all = dyn_cast<clang::BinaryOperator>(stmt);
  if (all == nullptr || !all->isLogicalOp()) return;
  const clang::Stmt* around = JoinedIn(code, all);
  const auto* outer = around == nullptr ? nullptr : dyn_cast<clang::BinaryOperator>(around);
  if (outer != nullptr && outer->getOpcode() == all->getOpcode()) return;
  const std::vector<const clang::Expr*> before = JoinedBy(all->getOpcode(), all);
  if (!std::all_of(before.begin(), before.end(),
                   [&](const clang::Expr* each) { return IsOnlyAsked(code, each); }))
    return;
  std::vector<const clang::Expr*> after = before;
  for (auto each = after.begin(); each != after.end(); ++each) {
    if (!IsCheap(code, *each)) continue;
    auto first = each;
    for (auto at = each; at != after.begin() && !MayProtect(code, *(at - 1), *each);) {
      --at;
      if (IsCostly(code, *at)) first = at;
    }
    std::rotate(first, each, each + 1);
  }
  Edits changed;
  for (size_t at = 0; at < before.size(); ++at)
    if (before[at] != after[at])
      changed.push_back(
          {code.Begin(before[at]), code.End(before[at]), code.Text(after[at], *edits)});
  for (const Edit& each : changed) Override(edits, each);
}

}  // namespace

void CheapGuardsFirst(const FunctionCode& code, Rewrites* rewrites) {
  Edits edits;
  const Sequence all = Below(code.body());
  // What lies within others first.
  for (auto each = all.rbegin(); each != all.rend(); ++each) {
    if (isa<clang::CompoundStmt>(*each)) OrderGuards(code, *each, &edits);
    OrderOperands(code, *each, &edits);
  }
  if (!edits.empty()) rewrites->push_back({"cheap guards first", code.Source(edits)});
}

}  // namespace whetstone
