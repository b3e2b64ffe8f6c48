#include <algorithm>

#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr size_t kTermsMax = 8;

// A loop's turn that does something only under conditions:
//   const int yy = y + dy; if (yy < 0 || yy >= n) continue; rest
//   const int yy = y + dy; if (yy >= 0 && yy < n) { rest }
struct GuardedTurn {
  std::vector<const clang::Stmt*> declarations;
  std::map<const clang::VarDecl*, const clang::Expr*> values;  // what they declare
  const clang::IfStmt* guard = nullptr;
  bool continues = false;
  std::vector<const clang::Stmt*> rest;
};

// Adds the variable's value where it is declared as a number that nothing changes.
bool AddValue(const clang::Stmt* stmt, const Variables& changed, GuardedTurn* turn) {
  const auto* declaration = dyn_cast<clang::DeclStmt>(stmt);
  if (declaration == nullptr) return false;
  for (const clang::Decl* decl : declaration->decls()) {
    const auto* variable = dyn_cast<clang::VarDecl>(decl);
    if (variable == nullptr || variable->getInit() == nullptr || changed.count(variable) > 0 ||
        Mentions(variable->getInit(), variable) > 0)
      return false;
    turn->values[variable] = variable->getInit();
  }
  turn->declarations.push_back(stmt);
  return true;
}

std::optional<GuardedTurn> GuardedTurnOf(const Loop& loop) {
  GuardedTurn turn;
  const Variables changed = Changed(loop.stmt->getBody());
  size_t at = 0;
  while (at < loop.body.size() && AddValue(loop.body[at], changed, &turn)) ++at;
  turn.guard = at < loop.body.size() ? AsGuard(loop.body[at]) : nullptr;
  if (turn.guard == nullptr) return std::nullopt;
  turn.continues = OnlyContinues(turn.guard->getThen());
  turn.rest = StatementsOf(turn.guard->getThen());
  if (turn.continues) turn.rest.assign(loop.body.begin() + at + 1, loop.body.end());
  const bool last = at + 1 == loop.body.size();
  if (turn.continues == last || turn.rest.empty()) return std::nullopt;
  return turn;
}

// What is added up, and taken away.
struct Term {
  bool taken_away = false;
  const clang::Expr* value = nullptr;
};

// Adds the terms of a sum of signed whole numbers, looking through the turn's own values.
bool AddTerms(const GuardedTurn& turn, const clang::Expr* expression, bool taken_away,
              std::vector<Term>* terms) {
  const clang::Expr* bare = expression->IgnoreParenImpCasts();
  if (!bare->getType()->isSignedIntegerType() || terms->size() == kTermsMax) return false;
  if (const clang::VarDecl* variable = NamedVariable(bare)) {
    if (const auto value = turn.values.find(variable); value != turn.values.end())
      return AddTerms(turn, value->second, taken_away, terms);
  }
  const auto* sum = dyn_cast<clang::BinaryOperator>(bare);
  if (sum != nullptr && sum->isAdditiveOp())
    return AddTerms(turn, sum->getLHS(), taken_away, terms) &&
           AddTerms(turn, sum->getRHS(), taken_away != (sum->getOpcode() == clang::BO_Sub), terms);
  for (const clang::VarDecl* used : Used(bare))
    if (turn.values.count(used) > 0) return false;
  terms->push_back({taken_away, bare});
  return true;
}

// The text of a sum, which begins with what is added; "0" of none.
std::string Sum(const FunctionCode& code, std::vector<Term> terms) {
  std::stable_partition(terms.begin(), terms.end(),
                        [](const Term& term) { return !term.taken_away; });
  std::string text;
  for (const Term& term : terms) {
    if (code.Constant(term.value) == 0) continue;
    text += text.empty() ? (term.taken_away ? "-" : "") : (term.taken_away ? " - " : " + ");
    text += code.Operand(term.value);
  }
  return text.empty() ? "0" : text;
}

// The comparison solved for a counter around it, the innermost one: "dy < n - y".
std::string Solved(const FunctionCode& code, const GuardedTurn& turn,
                   const std::vector<const clang::VarDecl*>& counters, const clang::Expr* condition,
                   bool negated) {
  const auto* test = dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
  std::vector<Term> terms;  // of left - right
  if (test == nullptr || !test->isRelationalOp() ||
      !AddTerms(turn, test->getLHS(), false, &terms) ||
      !AddTerms(turn, test->getRHS(), true, &terms))
    return "";
  clang::BinaryOperatorKind kind = test->getOpcode();
  if (negated) kind = clang::BinaryOperator::negateComparisonOp(kind);
  for (const clang::VarDecl* counter : counters) {
    const auto found = std::find_if(terms.begin(), terms.end(), [&](const Term& term) {
      return NamedVariable(term.value) == counter;
    });
    if (found == terms.end()) continue;
    const bool reversed = found->taken_away;
    terms.erase(found);
    for (Term& term : terms) term.taken_away = term.taken_away == reversed;
    if (std::any_of(terms.begin(), terms.end(),
                    [&](const Term& term) { return Mentions(term.value, counter) > 0; }))
      return "";
    if (reversed) kind = clang::BinaryOperator::reverseComparisonOp(kind);
    return counter->getNameAsString() + " " + clang::BinaryOperator::getOpcodeStr(kind).str() +
           " " + Sum(code, terms);
  }
  return "";
}

bool MayFaultBelow(const FunctionCode& code, const clang::Stmt* stmt) {
  const std::vector<const clang::Stmt*> parts = Below(stmt);
  return std::any_of(parts.begin(), parts.end(),
                     [&](const clang::Stmt* each) { return MayFault(code, each); });
}

// A loop that does nothing where its counter has one value, which it keeps.
struct ExcludedTurn {
  const clang::Expr* value = nullptr;
  std::vector<const clang::Stmt*> rest;  // what it does in all other turns
};

std::optional<ExcludedTurn> ExcludedTurnOf(const FunctionCode& code, const Loop& loop) {
  const clang::IfStmt* guard = loop.body.empty() ? nullptr : AsGuard(loop.body[0]);
  const auto* test = guard == nullptr
                         ? nullptr
                         : dyn_cast<clang::BinaryOperator>(guard->getCond()->IgnoreParenImpCasts());
  if (test == nullptr || !test->isEqualityOp()) return std::nullopt;
  ExcludedTurn turn;
  if (test->getOpcode() == clang::BO_EQ && OnlyContinues(guard->getThen()))
    turn.rest.assign(loop.body.begin() + 1, loop.body.end());
  if (test->getOpcode() == clang::BO_NE && loop.body.size() == 1)
    turn.rest = StatementsOf(guard->getThen());
  if (NamedVariable(test->getLHS()) == loop.var) turn.value = test->getRHS();
  if (NamedVariable(test->getRHS()) == loop.var) turn.value = test->getLHS();
  if (turn.rest.empty() || turn.value == nullptr ||
      HasOwn<clang::BreakStmt>(loop.stmt->getBody()) || Has<clang::LabelStmt>(loop.stmt) ||
      !OnlyComputes(code, turn.value) || MayFaultBelow(code, turn.value) ||
      Share(Used(turn.value), ChangedOrDeclared(loop.stmt)) ||
      turn.value->IgnoreParenImpCasts()->getType()->isSignedIntegerType() !=
          loop.var->getType()->isSignedIntegerType())
    return std::nullopt;
  return turn;
}

// Whether `value` is the counter of a loop around this one that counts through the same numbers.
bool HasTheSameTurns(const FunctionCode& code, const Loop& loop, const clang::Expr* value) {
  for (const clang::Stmt* at = code.Parent(loop.stmt); at != nullptr; at = code.Parent(at)) {
    const Loop* around = code.LoopOf(at);
    if (around == nullptr || around->var != NamedVariable(value)) continue;
    return code.Text(around->first) == code.Text(loop.first) &&
           code.Bound(*around) == code.Bound(loop);
  }
  return false;
}

}  // namespace

void GuardByCounters(const FunctionCode& code, Rewrites* rewrites) {
  Edits edits;
  for (const Loop& loop : code.loops()) {
    const std::optional<GuardedTurn> turn = GuardedTurnOf(loop);
    if (!turn || (turn->declarations.empty() && !turn->continues)) continue;
    std::vector<const clang::VarDecl*> counters;
    for (const clang::Stmt* at = loop.stmt; at != nullptr; at = code.Parent(at))
      if (const Loop* around = code.LoopOf(at)) counters.push_back(around->var);
    std::string conditions;
    bool all = true;
    const clang::Expr* condition = turn->guard->getCond();
    for (const clang::Expr* each : turn->continues ? Disjuncts(condition) : Conjuncts(condition)) {
      const std::string solved = Solved(code, *turn, counters, each, turn->continues);
      all = all && !solved.empty();
      conditions += (conditions.empty() ? "" : " && ") + solved;
    }
    const bool within = std::any_of(edits.begin(), edits.end(), [&](const Edit& each) {
      return each.begin <= code.Begin(loop.stmt) && code.End(loop.stmt) <= each.end;
    });
    if (!all || within) continue;
    edits.push_back(code.Instead(loop.stmt, code.Head(loop) + " {\nif (" + conditions + ") {\n" +
                                                code.Text(turn->declarations, {}) +
                                                code.Text(turn->rest, {}) + "}\n}"));
  }
  if (!edits.empty()) rewrites->push_back({"guards by counters", code.Source(edits)});
}

void LeaveOutOneTurn(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const std::optional<ExcludedTurn> left_out = ExcludedTurnOf(code, loop);
    if (!left_out || isa<clang::AttributedStmt>(code.Parent(loop.stmt))) continue;
    const std::string name = loop.var->getNameAsString();
    const std::string type = code.Type(loop.var);
    const std::string excluded = code.Operand(left_out->value);
    std::string first = code.Text(loop.first), until = excluded, from = excluded + " + 1";
    std::string before;
    if (!HasTheSameTurns(code, loop, left_out->value)) {
      // It may lie outside of the turns there are.
      const std::string bound = code.Bound(loop);
      until = code.Fresh({"until", "up_to", "first_end"});
      before = "const " + type + " " + until + " = " + excluded + " < " + bound + " ? " + excluded +
               " : " + bound + ";\n";
      first = code.Operand(loop.first);
      from = "(" + excluded + " < " + first + " ? " + first + " : " + excluded + " + 1)";
    }
    const std::string body = "{\n" + code.Text(left_out->rest, {}) + "}";
    rewrites->push_back(
        {"one turn left out",
         code.Source({code.Instead(
             loop.stmt, "{\n" + before + "for (" + type + " " + name + " = " + first + "; " + name +
                            " < " + until + "; " + name + "++) " + body + "\nfor (" + type + " " +
                            name + " = " + from + "; " + name + " < " + code.Bound(loop) + "; " +
                            name + "++) " + body + "\n}")})});
  }
}

}  // namespace whetstone
