#include "cpu_bench_worker/rewrite/analysis/takings.h"

#include <algorithm>
#include <set>

#include "clang/AST/ExprCXX.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"

namespace whetstone {
namespace {

using clang::dyn_cast;

// What is compared with an accumulator, and whether the smaller one is wanted.
struct Compared {
  TakingKind kind = TakingKind::kLeast;
  const clang::Expr* value = nullptr;
};

// value < accumulator or the like.
std::optional<Compared> AsComparison(const clang::Expr* condition,
                                     const clang::VarDecl* accumulator) {
  const std::optional<CounterComparison> compared = ComparedCounter(condition, accumulator);
  if (!compared) return std::nullopt;
  return Compared{compared->upper ? TakingKind::kLargest : TakingKind::kLeast, compared->limit};
}

// `if (guard && value < accumulator) accumulator = value;`
std::optional<Taking> AsGuardedTaking(const FunctionCode& code, Taking taking,
                                      const clang::Expr* condition, const clang::Expr* value) {
  for (const clang::Expr* each : Conjuncts(condition)) {
    const std::optional<Compared> compared = AsComparison(each, taking.accumulator);
    if (!compared || taking.value != nullptr) {
      taking.guards.push_back(each);
      continue;
    }
    taking.kind = compared->kind;
    taking.value = compared->value;
  }
  const bool same =
      taking.value != nullptr && code.Text(taking.value) == code.Text(value->IgnoreParenImpCasts());
  return same && taking.mentions == 2 ? std::optional(taking) : std::nullopt;
}

// `std::max(accumulator, value)`: the value.
std::optional<Compared> AsExtreme(const clang::Expr* value, const clang::VarDecl* accumulator) {
  const auto* call = dyn_cast<clang::CallExpr>(value);
  const clang::FunctionDecl* callee = call == nullptr ? nullptr : call->getDirectCallee();
  if (callee == nullptr || !callee->isInStdNamespace() || call->getNumArgs() != 2)
    return std::nullopt;
  const std::string name = callee->getNameAsString();
  if (name != "min" && name != "max") return std::nullopt;
  const bool first = NamedVariable(call->getArg(0)->IgnoreImplicit()) == accumulator;
  if (!first && NamedVariable(call->getArg(1)->IgnoreImplicit()) != accumulator)
    return std::nullopt;
  return Compared{name == "min" ? TakingKind::kLeast : TakingKind::kLargest,
                  call->getArg(first ? 1 : 0)->IgnoreImplicit()};
}

// Whether a value can be compared without parentheses around it.
bool BindsTighter(const clang::Expr* value) {
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(value))
    return binary->isAdditiveOp() || binary->isMultiplicativeOp() || binary->isShiftOp();
  return !clang::isa<clang::AbstractConditionalOperator>(value);
}

std::optional<Taking> AsTaking(const FunctionCode& code, const clang::Stmt* stmt) {
  const clang::Expr* condition = nullptr;
  std::optional<Assignment> assignment = AsAssignment(stmt);
  if (const auto* guard = AsGuard(stmt)) {
    const std::vector<const clang::Stmt*> then = StatementsOf(guard->getThen());
    if (then.size() != 1) return std::nullopt;
    assignment = AsAssignment(then[0]);
    condition = guard->getCond();
    if (assignment && assignment->kind != clang::BO_Assign) return std::nullopt;
  }
  if (!assignment) return std::nullopt;
  const clang::VarDecl* accumulator = NamedVariable(assignment->target);
  if (accumulator == nullptr || !accumulator->getType()->isArithmeticType()) return std::nullopt;
  Taking taking{.stmt = stmt,
                .accumulator = accumulator,
                .kind = TakingKind::kSum,
                .value = nullptr,
                .guards = {},
                .mentions = Mentions(stmt, accumulator)};
  if (condition != nullptr) return AsGuardedTaking(code, taking, condition, assignment->value);
  if (assignment->kind != clang::BO_Assign) {
    if (assignment->kind == clang::BO_XorAssign) taking.kind = TakingKind::kXor;
    if (assignment->kind == clang::BO_OrAssign) taking.kind = TakingKind::kOr;
    const bool known = taking.kind != TakingKind::kSum || assignment->kind == clang::BO_AddAssign ||
                       assignment->kind == clang::BO_SubAssign;
    return known && taking.mentions == 1 ? std::optional(taking) : std::nullopt;
  }
  const clang::Expr* value = assignment->value->IgnoreParenImpCasts();
  if (const auto* choice = dyn_cast<clang::ConditionalOperator>(value)) {
    const std::optional<Compared> compared = AsComparison(choice->getCond(), accumulator);
    const bool first = compared && code.Text(choice->getTrueExpr()) == code.Text(compared->value);
    if (!first || taking.mentions != 3 || NamedVariable(choice->getFalseExpr()) != accumulator)
      return std::nullopt;
    taking.kind = compared->kind;
    taking.value = compared->value;
    return taking;
  }
  if (const std::optional<Compared> extreme = AsExtreme(value->IgnoreImplicit(), accumulator)) {
    taking.kind = extreme->kind;
    taking.value = extreme->value;
    return taking.mentions == 2 ? std::optional(taking) : std::nullopt;
  }
  const auto* sum = dyn_cast<clang::BinaryOperator>(value);
  const bool plain =
      sum != nullptr && sum->getOpcode() == clang::BO_Add && taking.mentions == 2 &&
      (NamedVariable(sum->getLHS()) == accumulator || NamedVariable(sum->getRHS()) == accumulator);
  return plain ? std::optional(taking) : std::nullopt;
}

// "largest = v > largest ? v : largest;", of a minimum or maximum.
std::string Choice(TakingKind kind, const std::string& value, const std::string& accumulator) {
  return accumulator + " = " + value + (kind == TakingKind::kLeast ? " < " : " > ") + accumulator +
         " ? " + value + " : " + accumulator + ";";
}

}  // namespace

std::vector<Taking> TakingsOf(const FunctionCode& code, const clang::Stmt* stmt) {
  if (Has<clang::ReturnStmt, clang::GotoStmt>(stmt)) return {};
  const Variables own = Declared(stmt);
  std::vector<Taking> takings;
  for (const clang::Stmt* each : Below(stmt)) {
    if (const std::optional<Assignment> assignment = AsAssignment(each);
        assignment && NamedVariable(assignment->target) == nullptr)
      return {};
    std::optional<Taking> taking = AsTaking(code, each);
    if (!taking || own.count(taking->accumulator) > 0) continue;
    const bool part_of_other =
        std::any_of(takings.begin(), takings.end(),
                    [&](const Taking& other) { return code.IsWithin(each, other.stmt); });
    if (part_of_other) continue;
    // With the temporaries of std::max it is a statement only together with their end.
    if (const auto* whole = dyn_cast<clang::ExprWithCleanups>(code.Parent(each)))
      taking->stmt = whole;
    takings.push_back(*std::move(taking));
  }
  for (const clang::VarDecl* variable : ChangedOutside(stmt)) {
    int known = 0;
    std::set<TakingKind> kinds;
    for (const Taking& each : takings) {
      if (each.accumulator != variable) continue;
      known += each.mentions;
      kinds.insert(each.kind);
    }
    if (known != Mentions(stmt, variable) || kinds.size() != 1) return {};
  }
  return takings;
}

const char* JoinedBy(TakingKind kind) {
  return kind == TakingKind::kSum   ? " += "
         : kind == TakingKind::kXor ? " ^= "
         : kind == TakingKind::kOr  ? " |= "
                                    : nullptr;
}

std::string Joined(TakingKind kind, const std::string& part, const std::string& accumulator) {
  const char* joined_by = JoinedBy(kind);
  return joined_by != nullptr ? accumulator + joined_by + part + ";"
                              : Choice(kind, part, accumulator);
}

void TakeInto(const FunctionCode& code, const Taking& taking, const std::string& accumulator,
              Edits* edits) {
  if (taking.value == nullptr) {
    code.Replace(taking.stmt, taking.accumulator, accumulator, edits);
    return;
  }
  std::string guards;
  for (const clang::Expr* guard : taking.guards)
    guards += (guards.empty() ? "if (" : " && ") + code.Text(guard, *edits);
  if (!guards.empty()) guards += ") ";
  const std::string text = code.Text(taking.value, *edits);
  const std::string value = BindsTighter(taking.value) ? text : "(" + text + ")";
  const std::string choice = Choice(taking.kind, value, accumulator);
  Override(edits, {code.Begin(taking.stmt), code.End(taking.stmt), guards + choice});
}

}  // namespace whetstone
