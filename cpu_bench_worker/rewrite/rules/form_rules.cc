// These rules gain little alone: they give loops and guards the form that other rules look for.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/counter_sums.h"
#include "cpu_bench_worker/rewrite/analysis/helper_functions.h"
#include "cpu_bench_worker/rewrite/analysis/math_calls.h"
#include "cpu_bench_worker/rewrite/analysis/value_parts.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;

constexpr int64_t kConstantMax = int64_t{1} << 32;

// The loop around this one whose counter it begins at; null, if there is none.
const Loop* LoopItBeginsIn(const FunctionCode& code, const Loop& loop) {
  const Variables used = Used(loop.first);
  for (const clang::Stmt* at = code.Parent(loop.stmt); at != nullptr; at = code.Parent(at)) {
    const Loop* around = code.LoopOf(at);
    if (around != nullptr && used.count(around->var) > 0) return around;
  }
  return nullptr;
}

// What is added up in a sum of whole numbers, and taken away.
struct Summands {
  std::vector<const clang::Expr*> added;
  std::vector<const clang::Expr*> taken;
  int64_t constant = 0;
};

void AddSummands(const FunctionCode& code, const clang::Expr* expression, bool taken,
                 Summands* sum) {
  for (const Summand& each : SummandsOf(expression)) {
    const bool minus = taken != each.minus;
    const std::optional<int64_t> known = code.Constant(each.expression);
    if (known && std::abs(*known / kConstantMax) == 0)
      sum->constant += minus ? -*known : *known;
    else
      (minus ? sum->taken : sum->added).push_back(each.expression->IgnoreParenImpCasts());
  }
}

// How many turns a loop has, where what it begins at falls out: "64" of i to i + 64. Empty, if it
// does not.
std::string Turns(const FunctionCode& code, const Loop& loop, const clang::VarDecl* counter) {
  Summands sum;
  sum.constant = loop.inclusive ? 1 : 0;
  AddSummands(code, loop.last, false, &sum);
  AddSummands(code, loop.first, true, &sum);
  for (auto each = sum.taken.begin(); each != sum.taken.end();) {
    const auto same = std::find_if(sum.added.begin(), sum.added.end(), [&](const auto* other) {
      return code.Text(other) == code.Text(*each);
    });
    if (same == sum.added.end()) {
      ++each;
      continue;
    }
    sum.added.erase(same);
    each = sum.taken.erase(each);
  }
  std::string text;
  for (const clang::Expr* each : sum.added) {
    if (Mentions(each, counter) > 0) return "";
    text += (text.empty() ? "" : " + ") + code.Operand(each);
  }
  if (!sum.taken.empty() || (text.empty() && sum.constant <= 0)) return "";
  if (text.empty()) return std::to_string(sum.constant);
  if (sum.constant == 0) return text;
  return text + (sum.constant < 0 ? " - " : " + ") + std::to_string(std::abs(sum.constant));
}

// for (T rest = value; rest != 0; rest >>= 1), whose body changes neither.
struct ShiftLoop {
  const clang::ForStmt* stmt = nullptr;
  const clang::VarDecl* rest = nullptr;
};

std::optional<ShiftLoop> ShiftLoopOf(const FunctionCode& code, const clang::Stmt* stmt) {
  const auto* loop = dyn_cast<clang::ForStmt>(stmt);
  const auto* first =
      loop == nullptr ? nullptr : dyn_cast_or_null<clang::DeclStmt>(loop->getInit());
  if (first == nullptr || !first->isSingleDecl() || loop->getCond() == nullptr ||
      loop->getInc() == nullptr || loop->getConditionVariable() != nullptr)
    return std::nullopt;
  const auto* rest = dyn_cast<clang::VarDecl>(first->getSingleDecl());
  if (rest == nullptr || rest->getInit() == nullptr || !rest->getType()->isUnsignedIntegerType() ||
      !OnlyComputes(code, rest->getInit()))
    return std::nullopt;
  const clang::Expr* condition = loop->getCond()->IgnoreParenImpCasts();
  if (const auto* test = dyn_cast<clang::BinaryOperator>(condition)) {
    const bool is_left = test->getOpcode() == clang::BO_NE || test->getOpcode() == clang::BO_GT;
    if (!is_left || code.Constant(test->getRHS()) != 0) return std::nullopt;
    condition = test->getLHS();
  }
  const std::optional<Assignment> shift = AsAssignment(loop->getInc()->IgnoreParens());
  Variables changed = ChangedOrDeclared(loop->getBody());
  changed.merge(Written(loop->getBody()));
  if (NamedVariable(condition) != rest || !shift || shift->kind != clang::BO_ShrAssign ||
      NamedVariable(shift->target) != rest || code.Constant(shift->value) != 1 ||
      changed.count(rest) > 0 || Share(Used(rest->getInit()), changed) ||
      Has<clang::BreakStmt, clang::LambdaExpr, clang::LabelStmt>(loop->getBody()))
    return std::nullopt;
  return ShiftLoop{loop, rest};
}

// The outermost calls of expensive functions that a statement always makes.
void AddCalls(const FunctionCode& code, const clang::Stmt* stmt,
              std::vector<const clang::CallExpr*>* calls) {
  if (stmt == nullptr || isa<clang::LambdaExpr>(stmt)) return;
  const clang::CallExpr* call = AsMathCall(code, stmt);
  if (call != nullptr && !ExpensiveName(call).empty()) {
    if (OnlyComputes(code, call)) calls->push_back(call);
    return;
  }
  if (isa<clang::ConditionalOperator, clang::UnaryExprOrTypeTraitExpr>(stmt)) return;
  if (const auto* both = dyn_cast<clang::BinaryOperator>(stmt); both && both->isLogicalOp()) return;
  for (const clang::Stmt* child : stmt->children()) AddCalls(code, child, calls);
}

// A condition as a bool that can be joined by &.
std::string AsBool(const FunctionCode& code, const clang::Expr* condition) {
  const bool is_bool = condition->IgnoreParenImpCasts()->getType()->isBooleanType();
  return "(" + code.Text(condition) + (is_bool ? ")" : " ? true : false)");
}

// Whether a statement only declares numbers.
bool OnlyDeclares(const FunctionCode& code, const clang::Stmt* stmt) {
  const auto* declaration = dyn_cast<clang::DeclStmt>(stmt);
  if (declaration == nullptr) return false;
  return std::all_of(declaration->decl_begin(), declaration->decl_end(), [&](const auto* decl) {
    const auto* variable = dyn_cast<clang::VarDecl>(decl);
    return variable != nullptr && variable->getInit() != nullptr &&
           variable->getType()->isArithmeticType() && OnlyComputes(code, variable->getInit());
  });
}

// Whether what is below `stmt` may do harm where `asked` does not hold; elements at places where
// that one reads elements too are there.
bool NeedsGuard(const FunctionCode& code, const clang::Stmt* stmt, const clang::Expr* asked) {
  std::set<std::string> places;
  for (const clang::Stmt* each : Below(asked))
    if (const auto* element = dyn_cast<clang::ArraySubscriptExpr>(each))
      places.insert(code.Text(element->getIdx()));
  const std::vector<const clang::Stmt*> parts = Below(stmt);
  return std::any_of(parts.begin(), parts.end(), [&](const clang::Stmt* each) {
    const auto* element = dyn_cast<clang::ArraySubscriptExpr>(each);
    return element != nullptr ? places.count(code.Text(element->getIdx())) == 0
                              : MayFault(code, each);
  });
}

// Whether a function of the program is called there that may write to what it is given.
bool CallsWriter(const FunctionCode& code, const clang::Expr* condition) {
  const std::vector<const clang::Stmt*> parts = Below(condition);
  return std::any_of(parts.begin(), parts.end(), [&](const clang::Stmt* each) {
    const auto* call = dyn_cast<clang::CallExpr>(each);
    const clang::FunctionDecl* called = call == nullptr ? nullptr : WrittenHere(code, call);
    return called != nullptr && std::any_of(called->param_begin(), called->param_end(),
                                            [](const clang::ParmVarDecl* parameter) {
                                              const clang::QualType target =
                                                  parameter->getType()->getPointeeType();
                                              return !target.isNull() && !target.isConstQualified();
                                            });
  });
}

// Whether a bool can be declared with the condition as it is written.
bool IsDeclaredAsBool(const clang::Expr* condition) {
  const clang::Expr* bare = condition->IgnoreImplicit();
  const auto* joined = dyn_cast<clang::BinaryOperator>(bare);
  const auto* converted = dyn_cast<clang::CXXMemberCallExpr>(bare->IgnoreParenImpCasts());
  return (joined == nullptr || joined->getOpcode() != clang::BO_Comma) &&
         (converted == nullptr ||
          !llvm::isa_and_nonnull<clang::CXXConversionDecl>(converted->getMethodDecl()));
}

// Whether a statement is one of those that a loop does in every turn.
bool IsOfBody(const FunctionCode& code, const clang::Stmt* stmt) {
  const clang::Stmt* around = code.Parent(stmt);
  if (llvm::isa_and_nonnull<clang::CompoundStmt>(around)) around = code.Parent(around);
  return around != nullptr && IsLoop(around);
}

}  // namespace

void CountFromZero(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const Loop* around = LoopItBeginsIn(code, loop);
    if (around == nullptr || !OnlyComputes(code, loop.first) || !OnlyComputes(code, loop.last) ||
        Share(Used(loop.first), ChangedOrDeclared(loop.stmt)) || Has<clang::LambdaExpr>(loop.stmt))
      continue;
    const std::string turns = Turns(code, loop, around->var);
    if (turns.empty()) continue;
    const std::string counter = code.Fresh({"w", "ahead", "nth"});
    Edits edits;
    const auto* sum = dyn_cast<clang::BinaryOperator>(loop.first->IgnoreParenImpCasts());
    const std::string first =
        sum != nullptr && sum->isAdditiveOp() ? code.Text(loop.first) : code.Operand(loop.first);
    code.Replace(loop.stmt->getBody(), loop.var, first + " + " + counter, &edits);
    rewrites->push_back(
        {"counted from 0", code.Source({code.Instead(
                               loop.stmt, "for (" + code.Type(loop.var) + " " + counter + " = 0; " +
                                              counter + " < " + turns + "; " + counter + "++) {\n" +
                                              code.Text(loop.body, edits) + "}")})});
  }
}

void NameCalls(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    for (const clang::Stmt* stmt : loop.body) {
      std::vector<const clang::CallExpr*> calls;
      const std::optional<Assignment> assignment = AsAssignment(stmt);
      if (!assignment || assignment->value == nullptr || !Changed(assignment->value).empty())
        continue;
      AddCalls(code, assignment->value, &calls);
      // What is a whole value needs no name, but for a table over what the loop is given.
      const bool whole = assignment->kind == clang::BO_Assign && calls.size() == 1 &&
                         assignment->value->IgnoreParenImpCasts() == calls[0];
      if (calls.empty() || (whole && InputsOf(code, loop).empty())) continue;
      std::string before;
      Edits edits;
      for (const clang::CallExpr* call : calls) {
        const std::string suffix = edits.empty() ? "" : std::to_string(edits.size() + 1);
        const std::string name = code.Fresh({"term" + suffix, "computed" + suffix});
        before +=
            "const " + FloatingType(call->getType()) + " " + name + " = " + code.Text(call) + ";\n";
        edits.push_back(code.Instead(call, name));
      }
      rewrites->push_back({"a call in a variable",
                           code.Source({code.Instead(stmt, before + code.Text(stmt, edits))})});
    }
  }
}

void ConditionsInVariables(const FunctionCode& code, Rewrites* rewrites) {
  Edits edits;
  for (const clang::Stmt* stmt : Below(code.body())) {
    const clang::IfStmt* branch = AsPlainIf(stmt);
    if (branch == nullptr || !IsOfBody(code, branch) || !IsDeclaredAsBool(branch->getCond()) ||
        !CallsWriter(code, branch->getCond()) ||
        (!edits.empty() && code.Begin(branch) < edits.back().end))
      continue;
    const std::string suffix = edits.empty() ? "" : std::to_string(edits.size() + 1);
    const std::string name = code.Fresh({"holds" + suffix, "condition" + suffix});
    edits.push_back(
        code.WithOwn(branch, "const bool " + name + " = " + code.Text(branch->getCond()) + ";\n" +
                                 code.Text(branch, {code.Instead(branch->getCond(), name)})));
  }
  if (!edits.empty()) rewrites->push_back({"a condition in a variable", code.Source(edits)});
}

void JoinGuards(const FunctionCode& code, Rewrites* rewrites) {
  for (const clang::Stmt* stmt : Below(code.body())) {
    const clang::IfStmt* outer = AsGuard(stmt);
    if (outer == nullptr) continue;
    const std::vector<const clang::Stmt*> then = StatementsOf(outer->getThen());
    const clang::IfStmt* inner = then.empty() ? nullptr : AsGuard(then.back());
    if (inner == nullptr || Has<clang::ContinueStmt, clang::BreakStmt>(inner->getThen())) continue;
    std::vector<const clang::Stmt*> declarations(then.begin(), then.end() - 1);
    if (!OnlyComputes(code, outer->getCond()) || !OnlyComputes(code, inner->getCond()) ||
        NeedsGuard(code, inner->getCond(), outer->getCond()) ||
        !std::all_of(declarations.begin(), declarations.end(), [&](const clang::Stmt* each) {
          return OnlyDeclares(code, each) && !NeedsGuard(code, each, outer->getCond());
        }))
      continue;
    rewrites->push_back(
        {"guards joined",
         code.Source({code.Instead(
             outer, "{\n" + code.Text(declarations, {}) + "if (" + AsBool(code, outer->getCond()) +
                        " & " + AsBool(code, inner->getCond()) + ") {\n" +
                        code.Text(StatementsOf(inner->getThen()), {}) + "}\n}")})});
  }
}

void TakeEveryBit(const FunctionCode& code, Rewrites* rewrites) {
  Edits edits;
  for (const clang::Stmt* stmt : Below(code.body())) {
    const std::optional<ShiftLoop> loop = ShiftLoopOf(code, stmt);
    if (!loop || (!edits.empty() && code.Begin(stmt) < edits.back().end)) continue;
    const std::string bit = code.Fresh({"bit", "shift", "place_of_bit"});
    const std::string type = code.Type(loop->rest);
    edits.push_back(code.Instead(
        stmt, "for (int " + bit + " = 0; " + bit + " < " +
                  std::to_string(code.context().getTypeSize(loop->rest->getType())) + "; " + bit +
                  "++) {\nconst " + type + " " + loop->rest->getNameAsString() + " = (" + type +
                  ")" + code.Operand(loop->rest->getInit()) + " >> " + bit + ";\n" +
                  code.Text(StatementsOf(loop->stmt->getBody()), {}) + "}"));
  }
  if (!edits.empty()) rewrites->push_back({"every bit's turn", code.Source(edits)});
}

}  // namespace whetstone
