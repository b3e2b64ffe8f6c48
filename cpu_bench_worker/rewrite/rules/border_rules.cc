#include <algorithm>

#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

// A turn that does one thing at the border and another one everywhere else:
//   if (x == 0 || x == n - 1) { border; continue; } rest
//   if (x == 0 || x == n - 1) { border } else { rest }
struct BorderedTurn {
  const clang::IfStmt* guard = nullptr;
  std::vector<const clang::Stmt*> border;
  std::vector<const clang::Stmt*> rest;
};

std::optional<BorderedTurn> BorderedTurnOf(const Loop& loop) {
  const auto guard = std::find_if(loop.body.begin(), loop.body.end(),
                                  [](const auto* each) { return !isa<clang::DeclStmt>(each); });
  BorderedTurn turn;
  turn.guard = guard == loop.body.end() ? nullptr : AsPlainIf(*guard);
  if (turn.guard == nullptr || HasOwn<clang::BreakStmt>(loop.stmt->getBody()) ||
      Has<clang::ReturnStmt, clang::GotoStmt, clang::LabelStmt>(loop.stmt->getBody()))
    return std::nullopt;
  turn.border = StatementsOf(turn.guard->getThen());
  if (turn.guard->getElse() == nullptr) {
    if (turn.border.empty() || !isa<clang::ContinueStmt>(turn.border.back())) return std::nullopt;
    turn.border.pop_back();
    turn.rest.assign(guard + 1, loop.body.end());
  } else if (guard + 1 == loop.body.end()) {
    turn.rest = StatementsOf(turn.guard->getElse());
  }
  for (const clang::Stmt* each : turn.border)
    if (HasOwn<clang::ContinueStmt>(each)) return std::nullopt;
  return turn.border.empty() || turn.rest.empty() ? std::nullopt : std::optional(turn);
}

// The bounds of a loop within the border.
struct Inner {
  std::string first;
  std::string last;
};

// Whether a loop's last turn is the one of this value.
bool IsLastTurn(const FunctionCode& code, const Loop& loop, const clang::Expr* value) {
  if (loop.inclusive) return code.Text(value) == code.Text(loop.last);
  const auto* less = dyn_cast<clang::BinaryOperator>(value->IgnoreParenImpCasts());
  if (less != nullptr && less->getOpcode() == clang::BO_Sub && code.Constant(less->getRHS()) == 1)
    return code.Text(less->getLHS()) == code.Text(loop.last);
  const std::optional<int64_t> known = code.Constant(value);
  const std::optional<int64_t> last = code.Constant(loop.last);
  return known && last && *known == *last - 1;
}

// Takes turns of the loop for which `condition` holds away from its bounds; false, if it says
// anything else than that the counter is at an end, or took turns there before.
bool TakeAway(const FunctionCode& code, const Loop& loop, const clang::Expr* condition,
              Inner* inner) {
  const auto set = [](std::string* bound, const std::string& text) {
    if (!bound->empty()) return false;
    *bound = text;
    return true;
  };
  if (const std::optional<CounterComparison> compared = ComparedCounter(condition, loop.var)) {
    const std::string limit = code.Operand(compared->limit);
    // The limit may lie outside of the turns there are.
    const auto within = [](const std::string& own, const char* compared_by,
                           const std::string& other) {
      return "(" + own + " " + compared_by + " " + other + " ? " + own + " : " + other + ")";
    };
    if (compared->upper)
      return set(&inner->first, within(code.Operand(loop.first), ">",
                                       compared->equal ? "(" + limit + " + 1)" : limit));
    return set(&inner->last, within(code.Operand(loop.last), "<",
                                    compared->equal != loop.inclusive ? limit
                                    : compared->equal                 ? "(" + limit + " - 1)"
                                                                      : "(" + limit + " + 1)"));
  }
  const auto* test = dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
  if (test == nullptr || test->getOpcode() != clang::BO_EQ) return false;
  const bool left = NamedVariable(test->getLHS()) == loop.var;
  if (!left && NamedVariable(test->getRHS()) != loop.var) return false;
  const clang::Expr* value = left ? test->getRHS() : test->getLHS();
  const std::optional<int64_t> known = code.Constant(value);
  if (code.Text(value) == code.Text(loop.first) || (known && known == code.Constant(loop.first)))
    return set(&inner->first, code.Operand(loop.first) + " + 1");
  return IsLastTurn(code, loop, value) && set(&inner->last, code.Operand(loop.last) + " - 1");
}

}  // namespace

void BorderApart(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const std::optional<BorderedTurn> turn = BorderedTurnOf(loop);
    if (!turn) continue;
    // The loops that are nothing but the next one, the innermost first.
    std::vector<const Loop*> nest = {&loop};
    for (const clang::Stmt* at = code.Parent(loop.stmt); at != nullptr; at = code.Parent(at)) {
      if (isa<clang::CompoundStmt>(at)) continue;
      const Loop* around = code.LoopOf(at);
      if (around == nullptr || code.OnlyLoopIn(*around) != nest.back()) break;
      nest.push_back(around);
    }
    const clang::Stmt* whole = nest.back()->stmt;
    // No line of the preprocessor may be cut, and a pragma wants a loop.
    if (code.Text(whole).find('#') != std::string::npos ||
        isa<clang::AttributedStmt>(code.Parent(whole)) ||
        std::any_of(nest.begin(), nest.end(), [](const Loop* each) {
          return each->var->getInitStyle() != clang::VarDecl::CInit;
        }))
      continue;
    const Variables inside = ChangedOrDeclared(whole);
    std::map<const Loop*, Inner> inner;
    const std::vector<const clang::Expr*> conditions = Disjuncts(turn->guard->getCond());
    const bool all = std::all_of(conditions.begin(), conditions.end(), [&](const auto* condition) {
      return std::any_of(nest.begin(), nest.end(), [&](const Loop* each) {
        Variables others = Used(condition);
        others.erase(each->var);
        return !Share(others, inside) && TakeAway(code, *each, condition, &inner[each]);
      });
    });
    if (!all) continue;
    const size_t begin = code.Begin(turn->guard);
    const size_t end = code.End(loop.body.back());
    const Edit border = {
        begin, end,
        "if (" + code.Text(turn->guard->getCond()) + ") {\n" + code.Text(turn->border, {}) + "}"};
    Edits rest = {{begin, end, code.Text(turn->rest, {})}};
    for (const auto& [each, bounds] : inner) {
      if (!bounds.first.empty()) rest.push_back(code.Instead(each->first, bounds.first));
      if (!bounds.last.empty()) rest.push_back(code.Instead(each->last, bounds.last));
    }
    rewrites->push_back({"the border apart", code.Source({code.Instead(
                                                 whole, "{\n" + code.Text(whole, {border}) + "\n" +
                                                            code.Text(whole, rest) + "\n}")})});
  }
}

}  // namespace whetstone
