#include <algorithm>

#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

// if (value of this turn < value of the best one) { …; best = this turn; … }
struct BestSoFar {
  const clang::IfStmt* guard = nullptr;
  const clang::Expr* of_turn = nullptr;
  const clang::Expr* of_best = nullptr;
};

// Whether `expression` says of `best` what `of_turn` says of the loop's counter.
bool SaysTheSame(const FunctionCode& code, const Loop& loop, const clang::Expr* of_turn,
                 const clang::Expr* expression, const clang::VarDecl* best) {
  Edits edits;
  code.Replace(of_turn, loop.var, best->getNameAsString(), &edits);
  return !edits.empty() && code.Text(of_turn, edits) == code.Text(expression);
}

// Whether nothing else of the loop changes `best`, or leaves the turn before `guard`.
bool OnlyTakenHere(const FunctionCode& code, const Loop& loop, const clang::Stmt* guard,
                   const clang::VarDecl* best) {
  int changes = 0;
  for (const clang::Stmt* each : Below(loop.stmt)) {
    const std::optional<Assignment> assignment = AsAssignment(each);
    if (assignment && NamedVariable(assignment->target) == best) ++changes;
    const bool before = code.Begin(each) < code.Begin(guard);
    if (before && llvm::isa<clang::ContinueStmt>(each)) return false;
  }
  return changes == 1 && Declared(loop.stmt).count(best) == 0;
}

std::optional<BestSoFar> BestOf(const FunctionCode& code, const Loop& loop,
                                const clang::Stmt* stmt) {
  const clang::IfStmt* guard = AsGuard(stmt);
  const auto* test = guard == nullptr
                         ? nullptr
                         : dyn_cast<clang::BinaryOperator>(guard->getCond()->IgnoreParenImpCasts());
  if (test == nullptr || !test->isRelationalOp()) return std::nullopt;
  for (const clang::Stmt* each : StatementsOf(guard->getThen())) {
    const std::optional<Assignment> taken = AsAssignment(each);
    const clang::VarDecl* best = taken ? NamedVariable(taken->target) : nullptr;
    if (best == nullptr || taken->kind != clang::BO_Assign || taken->value == nullptr ||
        NamedVariable(taken->value) != loop.var)
      continue;
    if (!OnlyTakenHere(code, loop, stmt, best)) continue;
    if (SaysTheSame(code, loop, test->getLHS(), test->getRHS(), best))
      return BestSoFar{guard, test->getLHS(), test->getRHS()};
    if (SaysTheSame(code, loop, test->getRHS(), test->getLHS(), best))
      return BestSoFar{guard, test->getRHS(), test->getLHS()};
  }
  return std::nullopt;
}

// std::sort(first, last), which compares by <.
const clang::CallExpr* AsSort(const clang::Stmt* stmt) {
  const auto* expression = dyn_cast<clang::Expr>(stmt);
  const auto* call =
      expression == nullptr ? nullptr : dyn_cast<clang::CallExpr>(expression->IgnoreImplicit());
  const clang::FunctionDecl* function = call == nullptr ? nullptr : call->getDirectCallee();
  if (function == nullptr || call->getNumArgs() != 2 || !function->isInStdNamespace() ||
      function->getDeclName().isEmpty() || function->getNameAsString() != "sort")
    return nullptr;
  return call;
}

// The variable whose beginning v or v.begin() is.
const clang::VarDecl* SortedOne(const FunctionCode& code, const clang::Expr* first) {
  const Variables used = Used(first);
  if (used.size() != 1) return nullptr;
  const std::string name = (*used.begin())->getNameAsString();
  const std::string text = code.Text(first);
  return text == name || text == name + ".begin()" ? *used.begin() : nullptr;
}

// The place of an element, v[place]; null for anything else.
const clang::Expr* PlaceIn(const clang::Stmt* stmt, const clang::VarDecl* sorted) {
  if (const auto* element = dyn_cast<clang::ArraySubscriptExpr>(stmt))
    return NamedVariable(element->getBase()) == sorted ? element->getIdx() : nullptr;
  const auto* call = dyn_cast<clang::CXXOperatorCallExpr>(stmt);
  if (call == nullptr || call->getOperator() != clang::OO_Subscript ||
      NamedVariable(call->getArg(0)) != sorted)
    return nullptr;
  return call->getArg(1);
}

// for (…; i < n && !found; …) { if (condition) found = true; }, or with a `break` or `return true`.
struct Search {
  const clang::ForStmt* loop = nullptr;
  const clang::Expr* condition = nullptr;
  const clang::Expr* ended = nullptr;  // !found, in the loop's head
  const clang::Stmt* taken = nullptr;  // found = true, or return true
};

// Whether the loop's head ends it without `ended`: what it counts is asked for.
bool HasEnd(const clang::ForStmt* loop, const clang::Expr* ended) {
  Variables counted = Declared(loop->getInit());
  counted.merge(Changed(loop->getInc()));
  const std::vector<const clang::Expr*> conditions = Conjuncts(loop->getCond());
  return std::any_of(conditions.begin(), conditions.end(), [&](const clang::Expr* each) {
    return each != ended && Share(Used(each), counted);
  });
}

std::optional<Search> SearchOf(const FunctionCode& code, const clang::Stmt* stmt) {
  const auto* loop = dyn_cast<clang::ForStmt>(stmt);
  const std::vector<const clang::Stmt*> body =
      loop == nullptr ? std::vector<const clang::Stmt*>{} : StatementsOf(loop->getBody());
  const clang::IfStmt* guard = body.size() == 1 ? AsGuard(body[0]) : nullptr;
  if (guard == nullptr || loop->getCond() == nullptr || loop->getInc() == nullptr ||
      loop->getConditionVariable() != nullptr ||
      !llvm::isa_and_nonnull<clang::DeclStmt>(loop->getInit()) ||
      !OnlyComputes(code, guard->getCond()))
    return std::nullopt;
  const std::vector<const clang::Stmt*> then = StatementsOf(guard->getThen());
  if (then.empty()) return std::nullopt;
  Search search{.loop = loop, .condition = guard->getCond(), .ended = nullptr, .taken = then[0]};
  if (const auto* left = dyn_cast<clang::ReturnStmt>(then[0])) {
    const clang::Expr* value = left->getRetValue();
    return value != nullptr && then.size() == 1 && code.Constant(value) && HasEnd(loop, nullptr)
               ? std::optional(search)
               : std::nullopt;
  }
  const std::optional<Assignment> assignment = AsAssignment(then[0]);
  const clang::VarDecl* found = assignment ? NamedVariable(assignment->target) : nullptr;
  if (found == nullptr || assignment->kind != clang::BO_Assign || !code.Constant(assignment->value))
    return std::nullopt;
  if (then.size() == 2)
    return isa<clang::BreakStmt>(then[1]) && Mentions(loop, found) == 1 && HasEnd(loop, nullptr)
               ? std::optional(search)
               : std::nullopt;
  const std::vector<const clang::Expr*> conditions = Conjuncts(loop->getCond());
  for (const clang::Expr* each : conditions) {
    const auto* negated = dyn_cast<clang::UnaryOperator>(each->IgnoreParenImpCasts());
    if (negated != nullptr && negated->getOpcode() == clang::UO_LNot &&
        NamedVariable(negated->getSubExpr()) == found)
      search.ended = each;
  }
  return then.size() == 1 && search.ended != nullptr && HasEnd(loop, search.ended) &&
                 Mentions(loop, found) == 2
             ? std::optional(search)
             : std::nullopt;
}

// `text`, which begins with a declaration of its own, where a statement stands: in braces, if jumps
// may go past it.
Edit WithOwn(const FunctionCode& code, const clang::Stmt* stmt, const std::string& text) {
  const clang::Stmt* around = code.Parent(stmt);
  const bool jumps = (isa<clang::CompoundStmt>(around) &&
                      llvm::isa_and_nonnull<clang::SwitchStmt>(code.Parent(around))) ||
                     Has<clang::LabelStmt>(code.body());
  return code.Instead(stmt, jumps ? "{\n" + text + "\n}" : text);
}

}  // namespace

void SearchToTheEnd(const FunctionCode& code, Rewrites* rewrites) {
  Edits all;
  for (const clang::Stmt* stmt : Below(code.body())) {
    const std::optional<Search> search = SearchOf(code, stmt);
    if (!search) continue;
    const std::string suffix = all.empty() ? "" : std::to_string(all.size() + 1);
    const std::string matches = code.Fresh({"matches" + suffix, "hits_found" + suffix});
    std::string head;
    for (const clang::Expr* each : Conjuncts(search->loop->getCond()))
      if (each != search->ended) head += (head.empty() ? "" : " && ") + code.Text(each);
    std::string first = code.Text(search->loop->getInit());
    if (first.back() != ';') first += ";";
    all.push_back(WithOwn(code, stmt,
                          "int " + matches + " = 0;\nfor (" + first + " " + head + "; " +
                              code.Text(search->loop->getInc()) + ") {\n" + matches + " += (" +
                              code.Text(search->condition) + ") ? 1 : 0;\n}\nif (" + matches +
                              " != 0) {\n" + code.Text(search->taken) + "\n}"));
    rewrites->push_back({"searched to the end", code.Source({all.back()})});
  }
  if (all.size() > 1) rewrites->push_back({"all searched to the end", code.Source(all)});
}

void KeepBestValue(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    for (const clang::Stmt* stmt : loop.body) {
      const std::optional<BestSoFar> best = BestOf(code, loop, stmt);
      if (!best) continue;
      const std::string kept = code.Fresh({"best_value", "kept_value", "value_of_best"});
      const std::string value = code.Fresh({"value", "this_value", "value_here"});
      const std::string type = code.Type(best->of_turn);
      const std::string condition =
          code.Text(best->guard->getCond(),
                    {code.Instead(best->of_turn, value), code.Instead(best->of_best, kept)});
      // What is the best one from now on has its value kept too.
      const std::string turn = "const " + type + " " + value + " = " + code.Text(best->of_turn) +
                               ";\nif (" + condition + ") {\n" + kept + " = " + value + ";\n" +
                               code.Text(StatementsOf(best->guard->getThen()), {}) + "}\n";
      std::string body;
      for (const clang::Stmt* each : loop.body)
        body += each == stmt ? turn : code.Text(each) + "\n";
      rewrites->push_back(
          {"the best one's value kept",
           code.Source({WithOwn(code, loop.stmt,
                                type + " " + kept + " = " + code.Text(best->of_best) + ";\n" +
                                    code.Head(loop) + " {\n" + body + "}")})});
    }
  }
}

void TakeNth(const FunctionCode& code, Rewrites* rewrites) {
  for (const clang::Stmt* stmt : Below(code.body())) {
    const clang::CallExpr* sort = AsSort(stmt);
    // Of the nodes around a call that show the same text, the outermost one is the statement.
    if (sort == nullptr || !llvm::isa_and_nonnull<clang::CompoundStmt>(code.Parent(stmt))) continue;
    const clang::VarDecl* sorted = SortedOne(code, sort->getArg(0));
    if (sorted == nullptr) continue;
    // Behind it only one element is read, whose place may ask for the size.
    Variables behind;
    for (const clang::Stmt* each : StatementsOf(code.Parent(stmt)))
      if (code.Begin(each) > code.Begin(stmt)) behind.merge(ChangedOrDeclared(each));
    std::set<std::string> places;
    bool known_before = true;
    int known = 0;
    int named = 0;
    for (const clang::Stmt* each : Below(code.Parent(stmt))) {
      if (code.Begin(each) < code.End(stmt)) continue;
      if (NamedVariable(each) == sorted && isa<clang::DeclRefExpr>(each)) ++named;
      const clang::Expr* place = PlaceIn(each, sorted);
      if (place == nullptr) continue;
      places.insert(code.Text(place));
      Variables used = Used(place);
      used.erase(sorted);
      known_before = known_before && !Share(used, behind);
      known += 1 + Mentions(place, sorted);
    }
    const bool elsewhere =
        Declared(code.Parent(stmt)).count(sorted) == 0 && code.Parent(stmt) != code.body();
    if (places.size() != 1 || known != named || !known_before || elsewhere) continue;
    const std::string first = code.Text(sort->getArg(0));
    const std::string last = code.Text(sort->getArg(1));
    rewrites->push_back(
        {"only the one that is read put in order",
         code.Source({code.Instead(stmt, "std::nth_element(" + first + ", " + first + " + " + "(" +
                                             *places.begin() + "), " + last + ");")})});
  }
}

}  // namespace whetstone
