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

// The place of the one that is read, or of the higher one of two neighbours (a median of an even
// number); none where it is any other number of places.
std::optional<std::string> NthOf(const std::set<std::string>& places) {
  if (places.size() == 1) return *places.begin();
  if (places.size() != 2) return std::nullopt;
  for (const std::string& place : places)
    if (places.count(place + " - 1") > 0) return place;
  for (const std::string& place : places) {
    const size_t half = place.rfind(" / 2");
    if (half != std::string::npos && half + 4 == place.size() &&
        places.count("(" + place.substr(0, half) + " - 1) / 2") > 0)
      return place;
  }
  return std::nullopt;
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

// abs, fabs and the like.
bool IsMagnitude(const clang::CallExpr* call) {
  const clang::FunctionDecl* function = call->getDirectCallee();
  const std::string name =
      function == nullptr || function->getDeclName().isEmpty() ? "" : function->getNameAsString();
  return name == "abs" || name == "labs" || name == "fabs" || name == "fabsf" || name == "sqrt";
}

// Whether `value` is surely not negative: |x|, x * x, a truth, a number without a sign.
bool NeverNegative(const FunctionCode& code, const clang::Expr* value) {
  const clang::Expr* bare = value->IgnoreParenImpCasts();
  if (const std::optional<int64_t> constant = code.Constant(bare)) return *constant >= 0;
  if (bare->getType()->isBooleanType() || bare->getType()->isUnsignedIntegerType()) return true;
  if (const auto* choice = dyn_cast<clang::ConditionalOperator>(bare))
    return NeverNegative(code, choice->getTrueExpr()) &&
           NeverNegative(code, choice->getFalseExpr());
  if (const auto* call = dyn_cast<clang::CallExpr>(bare)) return IsMagnitude(call);
  const auto* both = dyn_cast<clang::BinaryOperator>(bare);
  if (both == nullptr) return false;
  if (both->getOpcode() == clang::BO_Mul && code.Text(both->getLHS()) == code.Text(both->getRHS()))
    return true;
  return (both->getOpcode() == clang::BO_Mul || both->getOpcode() == clang::BO_Add) &&
         NeverNegative(code, both->getLHS()) && NeverNegative(code, both->getRHS());
}

// The variable that is all that a loop changes, and which it never makes smaller.
const clang::VarDecl* GrowsIn(const FunctionCode& code, const Loop& loop) {
  const Variables changed = VaryingOutside(loop.stmt);
  if (changed.size() != 1) return nullptr;
  const clang::VarDecl* sum = *changed.begin();
  int changes = 0;
  for (const clang::Stmt* each : Below(loop.stmt)) {
    const auto* call = dyn_cast<clang::CallExpr>(each);
    if (call != nullptr && !IsMagnitude(call) && !IsQuiet(code, call)) return nullptr;
    const std::optional<Assignment> assignment = AsAssignment(each);
    if (!assignment || Declared(loop.stmt).count(NamedVariable(assignment->target)) > 0) continue;
    if (NamedVariable(assignment->target) != sum) return nullptr;
    ++changes;
    if (assignment->kind != clang::BO_AddAssign ||
        (assignment->value != nullptr && !NeverNegative(code, assignment->value)))
      return nullptr;
  }
  const bool number = sum->getType()->isArithmeticType();
  return number && changes > 0 && changes == Mentions(loop.stmt, sum) ? sum : nullptr;
}

// "sum > limit" where a comparison behind a loop that only makes a sum larger says from then on
// what it says in the end; "" if it is anything else, or more is made of a sum beyond the limit.
std::string BeyondLimit(const FunctionCode& code, const Loop& loop, const clang::VarDecl* sum) {
  const clang::Stmt* block = code.Parent(loop.stmt);
  if (!isa<clang::CompoundStmt>(block) || Declared(block).count(sum) == 0) return "";
  const clang::BinaryOperator* test = nullptr;
  int mentions = 0;
  const clang::IfStmt* branch = nullptr;
  Variables varying = Varying(loop.stmt);  // here and until the comparison
  for (const clang::Stmt* stmt : StatementsOf(block)) {
    if (code.Begin(stmt) <= code.Begin(loop.stmt)) continue;
    if (Mentions(stmt, sum) == 0) {
      if (test == nullptr) varying.merge(Varying(stmt));
      continue;
    }
    if (test == nullptr) {
      branch = AsPlainIf(stmt);
      const clang::Stmt* looked_at = branch == nullptr ? stmt : branch->getCond();
      varying.merge(Varying(looked_at));
      if (HasLoop(looked_at)) return "";
      for (const clang::Stmt* each : Below(looked_at)) {
        const auto* compared = dyn_cast<clang::BinaryOperator>(each);
        if (compared != nullptr && (compared->isRelationalOp() || compared->isEqualityOp()) &&
            Mentions(compared, sum) == 1 &&
            (NamedVariable(compared->getLHS()) == sum || NamedVariable(compared->getRHS()) == sum))
          test = compared;
      }
      if (test == nullptr || Mentions(looked_at, sum) != 1) return "";
    }
    mentions += Mentions(stmt, sum);
  }
  if (test == nullptr) return "";
  const bool left = NamedVariable(test->getLHS()) == sum;
  const clang::Expr* limit = left ? test->getRHS() : test->getLHS();
  const clang::BinaryOperatorKind kind =
      left ? test->getOpcode() : clang::BinaryOperator::reverseComparisonOp(test->getOpcode());
  if (Share(Used(limit), varying) || !OnlyComputes(code, limit)) return "";
  // In the loop, a name of the limit's may mean another variable; what lambdas name is not seen.
  for (const clang::VarDecl* own : Declared(loop.stmt))
    for (const clang::VarDecl* named : Used(limit))
      if (own->getName() == named->getName()) return "";
  if (Has<clang::LambdaExpr>(block)) return "";
  // Whatever else is made of the sum is made of one within the limit.
  const bool within = kind == clang::BO_LT || kind == clang::BO_LE;
  const std::vector<const clang::Expr*> all = branch == nullptr ? std::vector<const clang::Expr*>{}
                                              : within          ? Conjuncts(branch->getCond())
                                                                : Disjuncts(branch->getCond());
  const bool decides = std::any_of(all.begin(), all.end(), [&](const clang::Expr* each) {
    return each->IgnoreParenImpCasts() == test;
  });
  if (mentions != 1 && !(within && decides && mentions == 1 + Mentions(branch->getThen(), sum)) &&
      !(kind != clang::BO_EQ && !within && decides && OnlyContinues(branch->getThen())))
    return "";
  const bool reached = kind == clang::BO_LT || kind == clang::BO_GE;
  return sum->getNameAsString() + (reached ? " >= " : " > ") + code.Operand(limit);
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
    all.push_back(code.WithOwn(stmt, "int " + matches + " = 0;\nfor (" + first + " " + head + "; " +
                                         code.Text(search->loop->getInc()) + ") {\n" + matches +
                                         " += (" + code.Text(search->condition) +
                                         ") ? 1 : 0;\n}\nif (" + matches + " != 0) {\n" +
                                         code.Text(search->taken) + "\n}"));
    rewrites->push_back({"searched to the end", code.Source({all.back()})});
  }
  if (all.size() > 1) rewrites->push_back({"all searched to the end", code.Source(all)});
}

void GiveUpEarly(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const clang::VarDecl* sum = GrowsIn(code, loop);
    const std::string beyond = sum == nullptr ? "" : BeyondLimit(code, loop, sum);
    if (beyond.empty() || Has<clang::ReturnStmt, clang::GotoStmt>(loop.stmt)) continue;
    rewrites->push_back(
        {"given up early",
         code.Source({code.Instead(loop.stmt, code.Head(loop) + " {\n" + code.Text(loop.body, {}) +
                                                  "if (" + beyond + ") {\nbreak;\n}\n}")})});
  }
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
      rewrites->push_back({"the best one's value kept",
                           code.Source({code.WithOwn(
                               loop.stmt, type + " " + kept + " = " + code.Text(best->of_best) +
                                              ";\n" + code.Head(loop) + " {\n" + body + "}")})});
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
    // Behind it only one element is read, whose place may ask for the size; it is put in its place
    // by then.
    Variables between;
    Variables behind;
    const clang::Stmt* read = nullptr;
    for (const clang::Stmt* each : StatementsOf(code.Parent(stmt))) {
      if (code.Begin(each) <= code.Begin(stmt)) continue;
      if (read == nullptr && Mentions(each, sorted) > 0) read = each;
      (read == nullptr ? between : behind).merge(ChangedOrDeclared(each));
    }
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
    const std::optional<std::string> nth = NthOf(places);
    if (!nth || known != named || !known_before || elsewhere || Share(Used(sort), between))
      continue;
    const std::string first = code.Text(sort->getArg(0));
    const std::string place = first + " + (" + *nth + ")";
    std::string put =
        "std::nth_element(" + first + ", " + place + ", " + code.Text(sort->getArg(1)) + ");";
    // The largest of those before it is the one before it.
    if (places.size() == 2)
      put += "\nif ((" + *nth + ") > 0) {\nstd::iter_swap(" + place + " - 1, std::max_element(" +
             first + ", " + place + "));\n}";
    rewrites->push_back(
        {"only the one that is read put in order",
         code.Source({code.Instead(stmt, ""), {code.Begin(read), code.Begin(read), put + "\n"}})});
  }
}

}  // namespace whetstone
