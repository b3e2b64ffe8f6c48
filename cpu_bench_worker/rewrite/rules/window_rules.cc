#include <algorithm>
#include <utility>

#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/counter_sums.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;

// A loop whose every turn adds up what lies in a window that moves along with the counter.
struct MovingSum {
  size_t sum_begins = 0;         // the statement of the outer loop that is the sum
  const Loop* window = nullptr;  // the loop of that statement that moves along
  std::vector<const clang::Stmt*> additions;
};

// The variable that is assigned to, or whose element is.
const clang::VarDecl* Target(const clang::Expr* target) {
  const auto* element = dyn_cast<clang::ArraySubscriptExpr>(target->IgnoreParenImpCasts());
  return NamedVariable(element == nullptr ? target : element->getBase());
}

// Whether `stmt` only adds to variables that are declared in `sums`, and to which; it may do so
// under conditions.
bool OnlyAdds(const clang::Stmt* stmt, const Variables& sums,
              std::vector<const clang::Stmt*>* additions) {
  const Variables own = Declared(stmt);
  for (const clang::Stmt* each : Below(stmt)) {
    const std::optional<Assignment> assignment = AsAssignment(each);
    if (!assignment) continue;
    const clang::VarDecl* variable = Target(assignment->target);
    if (variable != nullptr && own.count(variable) > 0) continue;
    if (assignment->kind != clang::BO_AddAssign || variable == nullptr ||
        sums.count(variable) == 0 || Mentions(each, variable) != 1)
      return false;
    additions->push_back(each);
  }
  return !additions->empty();
}

// Whether the window moves on by one element from turn to turn: each element depends on the sum of
// both counters, or only on the window's, whose bounds move.
bool Moves(const FunctionCode& code, const Loop& window, const clang::VarDecl* counter) {
  const clang::Stmt* body = window.stmt->getBody();
  bool bounds = false;
  for (const clang::Expr* bound : {window.first, window.last}) {
    if (Mentions(bound, counter) == 0) continue;
    if (!IsSummand(code, bound, counter)) return false;
    bounds = true;
  }
  if (Mentions(body, counter) == 0) return bounds;
  return !bounds && SumsReplaced(code, body, counter, window.var, "").has_value();
}

// The variables that a turn begins with, whose number of statements is `begins`. They begin with
// what does not change, and so may begin once.
Variables SumsOf(const Loop& outer, size_t* begins) {
  Variables sums;
  for (*begins = 0; *begins < outer.body.size(); ++*begins) {
    const auto* declaration = dyn_cast<clang::DeclStmt>(outer.body[*begins]);
    if (declaration == nullptr) break;
    for (const clang::Decl* decl : declaration->decls()) {
      const auto* variable = dyn_cast<clang::VarDecl>(decl);
      if (variable == nullptr || variable->getInit() == nullptr ||
          !variable->getType()->isArithmeticType() || !Used(variable->getInit()).empty())
        return {};
      sums.insert(variable);
    }
  }
  return sums;
}

// Whether a statement only sets elements of arrays to what does not change, the same ones in every
// turn; adds the arrays.
bool Empties(const FunctionCode& code, const Loop& outer, const clang::Stmt* stmt,
             Variables* arrays) {
  const Loop* loop = code.LoopOf(stmt);
  while (loop != nullptr && code.OnlyLoopIn(*loop) != nullptr) loop = code.OnlyLoopIn(*loop);
  if (loop == nullptr) return false;
  Variables emptied;
  for (const clang::Stmt* each : loop->body) {
    const std::optional<Assignment> assignment = AsAssignment(each);
    if (!assignment || assignment->kind != clang::BO_Assign ||
        NamedVariable(assignment->target) != nullptr || !Used(assignment->value).empty() ||
        Has<clang::CallExpr>(each) || Target(assignment->target) == nullptr)
      return false;
    emptied.insert(Target(assignment->target));
  }
  Variables changing = ChangedOrDeclared(outer.stmt);
  for (const clang::VarDecl* own : Declared(stmt)) changing.erase(own);
  if (emptied.empty() || Share(Used(stmt), changing)) return false;
  arrays->merge(emptied);
  return true;
}

// Whether nothing of the turn behind the statement at `place` changes the sums.
bool OnlyChangedAt(const Loop& outer, size_t place, const Variables& sums) {
  for (size_t i = place + 1; i < outer.body.size(); ++i)
    if (Share(Changed(outer.body[i]), sums) || Share(Written(outer.body[i]), sums)) return false;
  return true;
}

// Adds the edits by which additions take away.
void TakeAway(const FunctionCode& code, const std::vector<const clang::Stmt*>& additions,
              Edits* edits) {
  for (const clang::Stmt* addition : additions) {
    const auto* unary = dyn_cast<clang::UnaryOperator>(addition);
    const auto* binary = dyn_cast<clang::BinaryOperator>(addition);
    const size_t at =
        code.At(unary != nullptr ? unary->getOperatorLoc() : binary->getOperatorLoc());
    edits->push_back({at, at + 2, unary != nullptr ? "--" : "-="});
  }
}

// The statements of a turn before its `place`th one, and those behind it.
std::string TextBefore(const FunctionCode& code, const Loop& loop, size_t place) {
  return code.Text({loop.body.begin(), loop.body.begin() + static_cast<long>(place)}, {});
}
std::string TextBehind(const FunctionCode& code, const Loop& loop, size_t place) {
  return code.Text({loop.body.begin() + static_cast<long>(place) + 1, loop.body.end()}, {});
}

// Whether the window only adds to the sums, and moves along with the counter.
bool IsMovingSum(const FunctionCode& code, const Loop& window, const clang::VarDecl* counter,
                 const Variables& sums, std::vector<const clang::Stmt*>* additions) {
  const clang::Stmt* body = window.stmt->getBody();
  additions->clear();
  if (HasOwn<clang::ContinueStmt>(body) || HasOwn<clang::BreakStmt>(body) ||
      !OnlyAdds(body, sums, additions) || !Moves(code, window, counter))
    return false;
  return std::all_of(additions->begin(), additions->end(), [&](const clang::Stmt* each) {
    const clang::Expr* target = AsAssignment(each)->target;
    return Mentions(target, counter) == 0 && Mentions(target, window.var) == 0;
  });
}

std::optional<MovingSum> MovingSumOf(const FunctionCode& code, const Loop& outer) {
  if (std::any_of(outer.body.begin(), outer.body.end(), EndsTurn)) return std::nullopt;
  MovingSum moving{.sum_begins = 0, .window = nullptr, .additions = {}};
  Variables sums = SumsOf(outer, &moving.sum_begins);
  while (moving.sum_begins < outer.body.size() &&
         Empties(code, outer, outer.body[moving.sum_begins], &sums))
    ++moving.sum_begins;
  if (sums.empty() || moving.sum_begins == outer.body.size() ||
      !OnlyChangedAt(outer, moving.sum_begins, sums))
    return std::nullopt;
  const Loop* innermost = code.LoopOf(outer.body[moving.sum_begins]);
  for (const Loop* each = innermost; each != nullptr; each = code.OnlyLoopIn(*each))
    innermost = each;
  if (innermost == nullptr ||
      Has<clang::ForStmt, clang::WhileStmt, clang::DoStmt>(innermost->stmt->getBody()))
    return std::nullopt;
  for (const Loop* each = code.LoopOf(outer.body[moving.sum_begins]); each != nullptr;
       each = code.OnlyLoopIn(*each)) {
    moving.window = each;
    if (IsMovingSum(code, *each, outer.var, sums, &moving.additions)) return moving;
  }
  return std::nullopt;
}

// The expression after edits as a part of a sum: anything but a sum or name is in parentheses.
std::string Part(const FunctionCode& code, const clang::Expr* expression, const Edits& edits) {
  const clang::Expr* bare = expression->IgnoreImpCasts();
  const auto* sum = dyn_cast<clang::BinaryOperator>(bare);
  const bool plain =
      sum != nullptr
          ? sum->isAdditiveOp()
          : clang::isa<clang::DeclRefExpr, clang::IntegerLiteral, clang::ParenExpr>(bare);
  const std::string text = code.Text(expression, edits);
  return plain ? text : "(" + text + ")";
}

// What the window's loop does with one element, which `edits` name.
std::string Element(const FunctionCode& code, const Loop& window, const Edits& edits) {
  const std::string text = code.Text(window.body, edits);
  return Declared(window.stmt->getBody()).empty() ? text : "{\n" + text + "}\n";
}

// A loop that looks back from the counter of the outer one, or ahead, and adds up elements until a
// condition says that the next one is too far away.
struct Reach {
  const clang::VarDecl* var = nullptr;
  bool back = false;
  const clang::Expr* end = nullptr;      // the first or last element that there is
  bool inclusive = false;                // ahead: the end is one too
  std::vector<const clang::Expr*> far;   // what says so: one of these,
  std::vector<const clang::Expr*> near;  // or not all of these
  std::vector<const clang::Stmt*> body;  // what is done with an element
  std::vector<const clang::Stmt*> additions = {};
};

// The reach's bound and conditions, of a loop's head.
bool AddConditions(const clang::ForStmt* loop, Reach* reach) {
  for (const clang::Expr* condition : Conjuncts(loop->getCond())) {
    const std::optional<CounterComparison> compared = ComparedCounter(condition, reach->var);
    if (reach->end == nullptr && compared && compared->upper != reach->back &&
        (compared->equal || !reach->back)) {
      reach->end = compared->limit;
      reach->inclusive = compared->equal;
    } else {
      reach->near.push_back(condition);
    }
  }
  return reach->end != nullptr;
}

std::optional<Reach> ReachOf(const Loop& outer, const clang::Stmt* stmt, const Variables& sums) {
  const auto* loop = dyn_cast<clang::ForStmt>(stmt);
  const auto* init =
      loop == nullptr ? nullptr : clang::dyn_cast_or_null<clang::DeclStmt>(loop->getInit());
  const auto* step =
      loop == nullptr ? nullptr : clang::dyn_cast_or_null<clang::UnaryOperator>(loop->getInc());
  if (init == nullptr || !init->isSingleDecl() || step == nullptr || loop->getCond() == nullptr ||
      loop->getConditionVariable() != nullptr || !step->isIncrementDecrementOp())
    return std::nullopt;
  Reach reach;
  reach.var = dyn_cast<clang::VarDecl>(init->getSingleDecl());
  reach.back = step->isDecrementOp();
  if (reach.var == nullptr || NamedVariable(reach.var->getInit()) != outer.var ||
      NamedVariable(step->getSubExpr()) != reach.var || !AddConditions(loop, &reach))
    return std::nullopt;
  for (const clang::Stmt* each : StatementsOf(loop->getBody())) {
    const clang::IfStmt* guard = reach.body.empty() ? AsGuard(each) : nullptr;
    const std::vector<const clang::Stmt*> then =
        guard == nullptr ? std::vector<const clang::Stmt*>{} : StatementsOf(guard->getThen());
    if (then.size() == 1 && clang::isa<clang::BreakStmt>(then[0]))
      reach.far.push_back(guard->getCond());
    else
      reach.body.push_back(each);
  }
  const clang::Stmt* body = loop->getBody();
  for (const clang::Stmt* each : reach.body)
    if (Has<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::BreakStmt, clang::ContinueStmt,
            clang::ReturnStmt, clang::GotoStmt>(each) ||
        Mentions(each, outer.var) > 0)
      return std::nullopt;
  if (Changed(body).count(reach.var) > 0 || Changed(body).count(outer.var) > 0 ||
      !OnlyAdds(body, sums, &reach.additions))
    return std::nullopt;
  std::vector<const clang::Expr*> conditions = reach.far;
  conditions.insert(conditions.end(), reach.near.begin(), reach.near.end());
  for (const clang::Expr* condition : conditions)
    if (Share(Used(condition), Changed(body)) || Mentions(condition, outer.var) == 0 ||
        Mentions(condition, reach.var) == 0)
      return std::nullopt;
  return conditions.empty() ? std::nullopt : std::optional(reach);
}

// What says that the element of this name is too far away.
std::string FarAway(const FunctionCode& code, const Reach& reach, const std::string& name) {
  std::string text;
  const auto add = [&](const clang::Expr* condition, const char* negation) {
    Edits edits;
    code.Replace(condition, reach.var, name, &edits);
    const std::string part = code.Text(condition, edits);
    const bool alone = *negation == '\0' && reach.far.size() + reach.near.size() == 1;
    text += (text.empty() ? "" : " || ") + (alone ? part : negation + ("(" + part + ")"));
  };
  for (const clang::Expr* condition : reach.near) add(condition, "!");
  for (const clang::Expr* condition : reach.far) add(condition, "");
  return text;
}

// What the reach does with the element of this name, or undoes.
std::string Done(const FunctionCode& code, const Reach& reach, const std::string& name, bool undo) {
  Edits edits;
  bool declares = false;
  for (const clang::Stmt* stmt : reach.body) {
    code.Replace(stmt, reach.var, name, &edits);
    declares = declares || !Declared(stmt).empty();
  }
  if (undo) TakeAway(code, reach.additions, &edits);
  const std::string text = code.Text(reach.body, edits);
  return declares ? "{\n" + text + "}\n" : text;
}

}  // namespace

void MoveReaches(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& outer : code.loops()) {
    size_t place = 0;
    const Variables sums = SumsOf(outer, &place);
    if (sums.empty() || place == outer.body.size() || !OnlyChangedAt(outer, place, sums)) continue;
    const std::optional<Reach> reach = ReachOf(outer, outer.body[place], sums);
    if (!reach) continue;
    const std::string name = outer.var->getNameAsString();
    const std::string behind = TextBehind(code, outer, place);
    const std::string other =
        reach->back ? code.Fresh({"oldest", "begin_of"}) : code.Fresh({"next", "end_of"});
    const std::string far = FarAway(code, *reach, other);
    std::string turn;
    if (reach->back) {
      // The first turn reaches back to nothing but itself.
      if (code.Text(reach->end) != code.Text(outer.first)) continue;
      turn = Done(code, *reach, name, false) + "while (" + other + " <= " + name + " && (" + far +
             ")) {\n" + Done(code, *reach, other, true) + other + "++;\n}\n" + behind;
    } else {
      bool ends = Share(Used(reach->end), ChangedOrDeclared(outer.stmt));
      for (size_t i = place + 1; i < outer.body.size(); ++i)
        ends = ends || Has<clang::ContinueStmt, clang::BreakStmt>(outer.body[i]);
      if (ends) continue;
      turn = "while (" + other + (reach->inclusive ? " <= " : " < ") + code.Operand(reach->end) +
             " && !(" + far + ")) {\n" + Done(code, *reach, other, false) + other + "++;\n}\n" +
             behind + "if (" + other + " > " + name + ") {\n" + Done(code, *reach, name, true) +
             "} else {\n" + other + "++;\n}\n";
    }
    rewrites->push_back(
        {"a reach moved along",
         code.Source({code.Instead(outer.stmt, "{\n" + TextBefore(code, outer, place) +
                                                   code.Type(outer.var) + " " + other + " = " +
                                                   code.Text(outer.first) + ";\n" +
                                                   code.Head(outer) + " {\n" + turn + "}\n}")})});
  }
}

void MoveSums(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& outer : code.loops()) {
    const std::optional<MovingSum> moving = MovingSumOf(code, outer);
    if (!moving) continue;
    const Loop& window = *moving->window;
    const clang::Stmt* body = window.stmt->getBody();
    const std::string name = outer.var->getNameAsString();
    // What comes into the window: its last element.
    Edits entering;
    code.Replace(body, window.var,
                 window.inclusive ? Part(code, window.last, {}) : code.Bound(window) + " - 1",
                 &entering);
    // What left it: the first element of the turn before.
    Edits first;
    code.Replace(window.first, outer.var, name + " - 1", &first);
    Edits leaving;
    code.Replace(body, window.var, Part(code, window.first, first), &leaving);
    code.Replace(body, outer.var, name + " - 1", &leaving);
    TakeAway(code, moving->additions, &leaving);
    const clang::Stmt* sum = outer.body[moving->sum_begins];
    const bool in_body = Mentions(body, outer.var) > 0;
    std::string moved;
    if (in_body || Mentions(window.last, outer.var) > 0) moved += Element(code, window, entering);
    if (in_body || Mentions(window.first, outer.var) > 0) moved += Element(code, window, leaving);
    rewrites->push_back(
        {"sums moved along",
         code.Source({code.Instead(
             outer.stmt, "{\n" + TextBefore(code, outer, moving->sum_begins) + code.Head(outer) +
                             " {\nif (" + name + " == " + code.Operand(outer.first) + ") {\n" +
                             code.Text(sum) + "\n} else {\n" +
                             code.Text(sum, {code.Instead(window.stmt, moved)}) + "\n}\n" +
                             TextBehind(code, outer, moving->sum_begins) + "}\n}")})});
  }
}

}  // namespace whetstone
