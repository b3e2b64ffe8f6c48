// Loops as other rules know them: for (T i = first; i < last; i++), however they were written.
#include <algorithm>

#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/counter_sums.h"
#include "cpu_bench_worker/rewrite/analysis/turn_tables.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;

// A loop that counts, by whatever means.
struct Counting {
  const clang::Stmt* stmt = nullptr;
  const clang::VarDecl* var = nullptr;
  const clang::Expr* first = nullptr;
  const clang::Expr* condition = nullptr;
  const clang::Stmt* body = nullptr;
  bool down = false;
  const clang::Stmt* count = nullptr;     // the last statement of a `while`, which counts
  const clang::Stmt* declared = nullptr;  // the statement before a `while`, which begins
};

// 1 or -1: what the expression counts `var` by. 0: it does anything else.
int StepOf(const FunctionCode& code, const clang::Stmt* step, const clang::VarDecl* var) {
  const std::optional<Assignment> count = AsAssignment(step);
  if (!count || NamedVariable(count->target) != var) return 0;
  if (count->value == nullptr) return count->kind == clang::BO_AddAssign ? 1 : -1;
  if (count->kind == clang::BO_AddAssign || count->kind == clang::BO_SubAssign)
    return code.Constant(count->value) != 1 ? 0 : count->kind == clang::BO_AddAssign ? 1 : -1;
  const std::vector<Summand> sum = SummandsOf(count->value);
  const bool one = count->kind == clang::BO_Assign && sum.size() == 2 &&
                   NamedVariable(sum[0].expression) == var && !sum[0].minus &&
                   code.Constant(sum[1].expression) == 1;
  return !one ? 0 : sum[1].minus ? -1 : 1;
}

// Whether wherever the variable is named, a loop of its own begins it anew.
bool OnlyCountsLoops(const FunctionCode& code, const clang::VarDecl* var) {
  const std::vector<const clang::Stmt*> parts = Below(code.body());
  return std::all_of(parts.begin(), parts.end(), [&](const clang::Stmt* each) {
    const auto* name = dyn_cast<clang::DeclRefExpr>(each);
    if (name == nullptr || name->getDecl() != var) return true;
    for (const clang::Stmt* at = each; at != nullptr; at = code.Parent(at)) {
      const auto* loop = dyn_cast<clang::ForStmt>(at);
      const std::optional<Assignment> first =
          loop == nullptr ? std::nullopt : AsAssignment(loop->getInit());
      if (first && first->kind == clang::BO_Assign && NamedVariable(first->target) == var &&
          Mentions(first->value, var) == 0)
        return true;
    }
    return false;
  });
}

std::optional<Counting> CountingFor(const FunctionCode& code, const clang::ForStmt* loop) {
  if (loop->getCond() == nullptr || loop->getInc() == nullptr ||
      loop->getConditionVariable() != nullptr)
    return std::nullopt;
  Counting counting{.stmt = loop, .condition = loop->getCond(), .body = loop->getBody()};
  if (const auto* init = dyn_cast_or_null<clang::DeclStmt>(loop->getInit())) {
    if (init->isSingleDecl()) counting.var = dyn_cast<clang::VarDecl>(init->getSingleDecl());
    counting.first = counting.var == nullptr ? nullptr : counting.var->getInit();
  } else if (const std::optional<Assignment> first = AsAssignment(loop->getInit());
             first && first->kind == clang::BO_Assign) {
    counting.var = NamedVariable(first->target);
    counting.first = first->value;
    if (counting.var == nullptr || !counting.var->isLocalVarDecl() ||
        !OnlyCountsLoops(code, counting.var))
      return std::nullopt;
  }
  if (counting.first == nullptr) return std::nullopt;
  const int step = StepOf(code, loop->getInc(), counting.var);
  counting.down = step < 0;
  return step == 0 ? std::nullopt : std::optional(counting);
}

// `int i = first; while (…) { …; i++; }`, of an i that nobody names behind it.
std::optional<Counting> CountingWhile(const FunctionCode& code, const clang::WhileStmt* loop) {
  const std::vector<const clang::Stmt*> body = StatementsOf(loop->getBody());
  const std::vector<const clang::Stmt*> around = StatementsOf(code.Parent(loop));
  const auto at = std::find(around.begin(), around.end(), loop);
  if (body.empty() || at == around.begin() || at == around.end() ||
      loop->getConditionVariable() != nullptr || HasOwn<clang::ContinueStmt>(loop->getBody()))
    return std::nullopt;
  const auto* declared = dyn_cast<clang::DeclStmt>(*(at - 1));
  const auto* var = declared == nullptr || !declared->isSingleDecl()
                        ? nullptr
                        : dyn_cast<clang::VarDecl>(declared->getSingleDecl());
  if (var == nullptr || var->getInit() == nullptr || var->isStaticLocal() ||
      Mentions(code.body(), var) != Mentions(loop, var))
    return std::nullopt;
  const int step = StepOf(code, body.back(), var);
  if (step == 0) return std::nullopt;
  return Counting{.stmt = loop,
                  .var = var,
                  .first = var->getInit(),
                  .condition = loop->getCond(),
                  .body = loop->getBody(),
                  .down = step < 0,
                  .count = body.back(),
                  .declared = declared};
}

std::optional<Counting> CountingOf(const FunctionCode& code, const clang::Stmt* stmt) {
  std::optional<Counting> counting;
  if (const auto* loop = dyn_cast<clang::ForStmt>(stmt)) counting = CountingFor(code, loop);
  if (const auto* loop = dyn_cast<clang::WhileStmt>(stmt)) counting = CountingWhile(code, loop);
  if (!counting || !counting->var->getType()->isIntegerType()) return std::nullopt;
  // Its body does not change the counter, but where it counts.
  int changes = 0;
  for (const clang::Stmt* each : Below(counting->body)) {
    const std::optional<Assignment> assignment = AsAssignment(each);
    const auto* unary = dyn_cast<clang::UnaryOperator>(each);
    changes += (assignment && NamedVariable(assignment->target) == counting->var) ||
               (unary != nullptr && unary->getOpcode() == clang::UO_AddrOf &&
                NamedVariable(unary->getSubExpr()) == counting->var);
  }
  Variables changed = Changed(counting->body);
  changed.erase(counting->var);
  const bool plain =
      changes == (counting->count != nullptr ? 1 : 0) && !Share(Used(counting->condition), changed);
  return plain ? counting : std::nullopt;
}

// `while (i-- > 0)` and `for (int i = n; i-- > 0;)`: what is counted down from; the counter has no
// other name outside.
std::optional<Counting> CountingByCondition(const FunctionCode& code, const clang::Stmt* stmt) {
  const auto* loop = dyn_cast<clang::ForStmt>(stmt);
  const auto* again = dyn_cast<clang::WhileStmt>(stmt);
  const clang::Expr* condition = loop != nullptr    ? loop->getCond()
                                 : again != nullptr ? again->getCond()
                                                    : nullptr;
  if (condition == nullptr || (loop != nullptr && loop->getInc() != nullptr)) return std::nullopt;
  condition = condition->IgnoreParenImpCasts();
  if (const auto* test = dyn_cast<clang::BinaryOperator>(condition)) {
    const bool is_left = test->getOpcode() == clang::BO_GT || test->getOpcode() == clang::BO_NE;
    if (!is_left || code.Constant(test->getRHS()) != 0) return std::nullopt;
    condition = test->getLHS()->IgnoreParenImpCasts();
  }
  const auto* count = dyn_cast<clang::UnaryOperator>(condition);
  if (count == nullptr || count->getOpcode() != clang::UO_PostDec) return std::nullopt;
  Counting counting{.stmt = stmt, .var = NamedVariable(count->getSubExpr())};
  counting.body = loop != nullptr ? loop->getBody() : again->getBody();
  const clang::Stmt* begin = loop == nullptr ? nullptr : loop->getInit();
  if (loop == nullptr) {
    const std::vector<const clang::Stmt*> around = StatementsOf(code.Parent(stmt));
    const auto at = std::find(around.begin(), around.end(), stmt);
    if (at == around.begin() || at == around.end()) return std::nullopt;
    counting.declared = begin = *(at - 1);
  }
  if (counting.var == nullptr || !counting.var->isLocalVarDecl() ||
      !counting.var->getType()->isIntegerType() || Changed(counting.body).count(counting.var) > 0)
    return std::nullopt;
  if (counting.var->isStaticLocal() || Written(counting.body).count(counting.var) > 0 ||
      code.context().getTypeSize(counting.var->getType()) < 32)
    return std::nullopt;
  int named = Mentions(stmt, counting.var);
  if (const auto* declaration = dyn_cast_or_null<clang::DeclStmt>(begin)) {
    if (declaration->isSingleDecl() && declaration->getSingleDecl() == counting.var)
      counting.first = counting.var->getInit();
  } else if (const std::optional<Assignment> first = AsAssignment(begin);
             first && first->kind == clang::BO_Assign &&
             NamedVariable(first->target) == counting.var) {
    counting.first = first->value;
    named += loop == nullptr ? 1 : 0;
  }
  const bool only = counting.first != nullptr && Mentions(code.body(), counting.var) == named &&
                    Mentions(counting.first, counting.var) == 0;
  return only ? std::optional(counting) : std::nullopt;
}

// What the counter is compared with: "< n - lag", of lag + i < n.
struct Limit {
  clang::BinaryOperatorKind kind = clang::BO_LT;
  std::string text;
};

std::optional<Limit> LimitOf(const FunctionCode& code, const Counting& counting) {
  const auto* test = dyn_cast<clang::BinaryOperator>(counting.condition->IgnoreParenImpCasts());
  if (test == nullptr || !test->isComparisonOp()) return std::nullopt;
  const bool left = Mentions(test->getLHS(), counting.var) > 0;
  const clang::Expr* side = left ? test->getLHS() : test->getRHS();
  const clang::Expr* other = left ? test->getRHS() : test->getLHS();
  if (Mentions(other, counting.var) > 0) return std::nullopt;
  Limit limit{
      left ? test->getOpcode() : clang::BinaryOperator::reverseComparisonOp(test->getOpcode()),
      code.Text(other)};
  if (NamedVariable(side) == counting.var) return limit;
  if (!counting.var->getType()->isSignedIntegerType() ||
      !side->IgnoreParenImpCasts()->getType()->isSignedIntegerType() ||
      !other->IgnoreParenImpCasts()->getType()->isSignedIntegerType())
    return std::nullopt;
  limit.text = SummandsOf(other).size() > 1 ? code.Text(other) : code.Operand(other);
  int named = 0;
  for (const Summand& each : SummandsOf(side)) {
    if (NamedVariable(each.expression) == counting.var && !each.minus) {
      ++named;
      continue;
    }
    if (Mentions(each.expression, counting.var) > 0) return std::nullopt;
    limit.text += (each.minus ? " + " : " - ") + code.Operand(each.expression);
  }
  return named == 1 ? std::optional(limit) : std::nullopt;
}

// The loop from its first value up to before `end`.
Edits AsPlain(const FunctionCode& code, const Counting& counting, const std::string& first,
              const std::string& test) {
  const std::string name = counting.var->getNameAsString();
  const std::string head = "for (" + code.Type(counting.var) + " " + name + " = " + first + "; " +
                           name + test + "; " + name + "++) ";
  Edits edits = {{code.Begin(counting.stmt), code.Begin(counting.body), head}};
  if (counting.count != nullptr) edits.push_back(code.Instead(counting.count, ""));
  if (counting.declared != nullptr) edits.push_back(code.Instead(counting.declared, ""));
  return edits;
}

// Whether the loop can begin at its other end: what the counter begins with can be computed in
// every turn anew, and no turn is the last one before its time.
bool CanTurnAround(const FunctionCode& code, const Counting& counting) {
  if (HasOwn<clang::BreakStmt>(counting.body) || LeavesFunction(counting.stmt)) return false;
  Variables changing = Changed(counting.body);
  changing.merge(Written(counting.body));
  return OnlyComputes(code, counting.first) && !Share(Used(counting.first), changing) &&
         !Has<clang::ArraySubscriptExpr, clang::MemberExpr, clang::CallExpr>(counting.first) &&
         !Has<clang::UnaryOperator>(counting.first);
}

// It, as the last value of a counter that counts up, of the counter's type.
std::string LastValue(const FunctionCode& code, const Counting& counting) {
  const clang::Expr* last = counting.first->IgnoreParenImpCasts();
  const bool same = code.context().hasSameUnqualifiedType(last->getType(), counting.var->getType());
  if (!same) return "(" + code.Type(counting.var) + ")(" + code.Text(last) + ")";
  const bool sum = SummandsOf(last).size() > 1 || IsAtom(last);
  return sum ? code.Text(last) : "(" + code.Text(last) + ")";
}

}  // namespace

void PlainLoops(const FunctionCode& code, Rewrites* rewrites) {
  Edits edits;
  for (const clang::Stmt* stmt : Below(code.body())) {
    if (code.LoopOf(stmt) != nullptr) continue;
    const std::optional<Counting> counting = CountingOf(code, stmt);
    const std::optional<Limit> limit =
        counting && !counting->down ? LimitOf(code, *counting) : std::nullopt;
    if (!limit) continue;
    const bool unequal = limit->kind == clang::BO_NE;
    if (!unequal && limit->kind != clang::BO_LT && limit->kind != clang::BO_LE) continue;
    const std::string test = (limit->kind == clang::BO_LE ? " <= " : " < ") + limit->text;
    for (Edit& each : AsPlain(code, *counting, code.Text(counting->first), test))
      edits.push_back(std::move(each));
  }
  if (!edits.empty()) rewrites->push_back({"plain loops", code.Source(edits)});
}

void CountUp(const FunctionCode& code, Rewrites* rewrites) {
  for (const clang::Stmt* stmt : Below(code.body())) {
    const std::optional<Counting> by_condition = CountingByCondition(code, stmt);
    if (by_condition && CanTurnAround(code, *by_condition))
      rewrites->push_back(
          {"counted up",
           code.Source(AsPlain(code, *by_condition, "0", " < " + LastValue(code, *by_condition)))});
    const std::optional<Counting> counting = CountingOf(code, stmt);
    const std::optional<Limit> limit =
        counting && counting->down ? LimitOf(code, *counting) : std::nullopt;
    if (!limit || !CanTurnAround(code, *counting) ||
        (limit->kind != clang::BO_GE && limit->kind != clang::BO_GT) ||
        code.context().getTypeSize(counting->var->getType()) < 32)
      continue;
    const std::string first =
        limit->kind == clang::BO_GE ? limit->text : "(" + limit->text + ") + 1";
    rewrites->push_back({"counted up", code.Source(AsPlain(code, *counting, first,
                                                           " <= " + LastValue(code, *counting)))});
  }
}

}  // namespace whetstone
