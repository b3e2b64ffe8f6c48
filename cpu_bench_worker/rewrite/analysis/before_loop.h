// What a loop computes, as it can be computed before the loop.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_BEFORE_LOOP_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_BEFORE_LOOP_H_

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "cpu_bench_worker/rewrite/analysis/function_code.h"
#include "cpu_bench_worker/rewrite/analysis/math_calls.h"

namespace whetstone {

using Texts = std::map<const clang::VarDecl*, std::string>;

inline constexpr int kDepthMax = 4;  // of variables that are made of others

// Whether calling a function does nothing but compute a value, from what it is given and constants.
bool IsQuiet(const FunctionCode& code, const clang::CallExpr* call);
// Whether all calls of a statement are so.
bool CallsAreQuiet(const FunctionCode& code, const clang::Stmt* stmt);
// Whether this itself takes long: it is a loop, an expensive function, or calls a function of the
// program that has one.
bool ComputesLong(const FunctionCode& code, const clang::Stmt* stmt);
// Whether a variable is named there that is none of a call's own, and no constant.
bool NamesState(const clang::Stmt* stmt);
// Whether evaluating an expression does nothing but compute its value.
bool OnlyComputes(const FunctionCode& code, const clang::Expr* expression);
// Variables that a statement writes to, as arrays too.
Variables Written(const clang::Stmt* stmt);
// The same, and those that are changed or declared there: what names none of them is the same
// before and behind it.
Variables Varying(const clang::Stmt* stmt);
// Those of them that are declared elsewhere.
Variables VaryingOutside(const clang::Stmt* stmt);
// Whether no operator around an expression takes it apart.
bool IsAtom(const clang::Expr* expression);
// Whether computing this where it was not computed may do harm: a division by zero, an element that
// is not there.
bool MayFault(const FunctionCode& code, const clang::Stmt* stmt);
// Whether what stands behind the statement may be left out in a turn of the loop around it.
bool EndsTurn(const clang::Stmt* stmt);
// Whether turns of these loops, outer ones first, may go by without this part of them.
bool MaySkip(const FunctionCode& code, const std::vector<const Loop*>& loops,
             const clang::Stmt* part);
// Whether this is an element that these loops, outer ones first, read in every turn.
bool IsReadAnyway(const FunctionCode& code, const std::vector<const Loop*>& loops,
                  const clang::Stmt* part);
// Whether the loop's end is a whole number that stays the same, and nothing of a turn may change
// its counter: groups of turns have it as a constant.
bool HasKnownEnd(const FunctionCode& code, const Loop& loop);
// Whether numbers of a type keep the step between each other when they become those of the other.
bool KeepsSteps(const FunctionCode& code, clang::QualType from, clang::QualType to);
std::string Negated(const std::string& value);

// What a loop computes, as it can be computed before the loop: local variables by what they are
// made of.
class BeforeLoop {
 public:
  BeforeLoop(const FunctionCode& code, const clang::Stmt* loop)
      : code_(code), loop_(loop), changed_(Changed(loop)), declared_(Declared(loop)) {
    changed_.merge(Written(loop));
  }
  const clang::Stmt* loop() const { return loop_; }

  // The variables of the loop that the expression depends on in the end; nothing if it does more
  // than compute.
  std::optional<Variables> Needs(const clang::Expr* expression, int depth = kDepthMax) const {
    if (depth == 0 || !OnlyComputes(code_, expression)) return std::nullopt;
    Variables found;
    for (const clang::VarDecl* variable : Used(expression)) {
      if (changed_.count(variable) == 0 && declared_.count(variable) == 0) continue;
      const clang::Expr* value = ValueOf(variable);
      if (value == nullptr) {
        found.insert(variable);
        continue;
      }
      std::optional<Variables> inner = Needs(value, depth - 1);
      if (!inner) return std::nullopt;
      found.merge(*inner);
    }
    return found;
  }
  bool NeedsNothing(const clang::Expr* expression) const {
    const std::optional<Variables> needed = Needs(expression);
    return needed && needed->empty();
  }

  // Whether computing an expression of known needs before the loop may do harm, since turns of
  // these loops within go by without it.
  bool MayHarm(const clang::Expr* expression, const std::vector<const Loop*>& loops) const {
    const std::vector<const clang::Stmt*> parts = Below(expression);
    if (MaySkip(code_, loops, expression) &&
        std::any_of(parts.begin(), parts.end(), [&](const clang::Stmt* each) {
          return MayFault(code_, each) && !IsReadAnyway(code_, loops, each);
        }))
      return true;
    for (const clang::VarDecl* variable : Used(expression)) {
      const clang::Expr* value = ValueOf(variable);
      if (value != nullptr && MayHarm(value, loops)) return true;
    }
    return false;
  }

  // An expression of known needs, with `counters` for the variables named there.
  std::string Text(const clang::Expr* expression, const Texts& counters) const {
    Edits edits;
    for (const clang::Stmt* each : Below(expression)) {
      const auto* name = llvm::dyn_cast<clang::DeclRefExpr>(each);
      const clang::VarDecl* variable = name == nullptr ? nullptr : NamedVariable(name);
      if (variable == nullptr) continue;
      const auto counter = counters.find(variable);
      const clang::Expr* value = ValueOf(variable);
      if (counter == counters.end() && value == nullptr) continue;
      edits.push_back(
          {code_.Begin(each), code_.Begin(each) + variable->getName().size(),
           counter != counters.end() ? counter->second : Converted(variable, value, counters)});
    }
    return code_.Text(expression, edits);
  }
  // The same in parentheses, if it needs them.
  std::string Operand(const clang::Expr* expression, const Texts& counters) const {
    const std::string text = Text(expression, counters);
    return IsAtom(expression) ? text : "(" + text + ")";
  }
  // The loop's head, of a loop within.
  std::string Head(const Loop& loop) const {
    const std::string name = loop.var->getNameAsString();
    return "for (" + code_.Type(loop.var) + " " + name + " = " + Text(loop.first, {}) + "; " +
           name + (loop.inclusive ? " <= " : " < ") + Text(loop.last, {}) + "; " + name + "++)";
  }

  // What an expression grows by whenever the counter does by one, computed in double. Nothing if
  // that differs from turn to turn.
  std::optional<std::string> Step(const clang::Expr* expression,
                                  const clang::VarDecl* counter) const {
    return Part(expression, counter, true);
  }
  // Its value where the counter is 0, if its step is known; empty for 0.
  std::string AtZero(const clang::Expr* expression, const clang::VarDecl* counter) const {
    return Part(expression, counter, false).value_or("");
  }

 private:
  // What a variable of the loop is made of, if that is all it ever is; null: it is not so.
  const clang::Expr* ValueOf(const clang::VarDecl* variable) const {
    if (declared_.count(variable) == 0 || changed_.count(variable) > 0 ||
        variable->isStaticLocal() || variable->isCXXForRangeDecl() ||
        variable->getInit() == nullptr)
      return nullptr;
    const clang::Expr* value = variable->getInit()->IgnoreImplicit();
    if (const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(value)) {
      // A copy.
      if (made->getNumArgs() != 1 || !made->getConstructor()->isCopyOrMoveConstructor())
        return nullptr;
      value = made->getArg(0)->IgnoreImplicit();
    }
    return llvm::isa<clang::InitListExpr>(value) ? nullptr : value;
  }
  std::string Converted(const clang::VarDecl* variable, const clang::Expr* value,
                        const Texts& counters) const {
    const std::string text = Operand(value, counters);
    const clang::QualType type = variable->getType();
    const bool same =
        !type->isArithmeticType() || code_.context().hasSameUnqualifiedType(type, value->getType());
    return same ? text : "((" + code_.Type(variable) + ")" + text + ")";
  }
  // The expression as a factor, the first of a product or not.
  std::string Factor(const clang::Expr* expression, bool leads) const {
    const clang::Expr* bare = expression->IgnoreImplicit();
    const auto* product = llvm::dyn_cast<clang::BinaryOperator>(bare);
    const bool joins = leads && product != nullptr && product->isMultiplicativeOp() &&
                       product->getType()->isRealFloatingType();
    return joins || llvm::isa<clang::UnaryOperator>(bare) ? Text(expression, {})
                                                          : Operand(expression, {});
  }
  // Of an expression a + b * counter: b (`step`) or a; empty for 0. Nothing if it is anything else.
  std::optional<std::string> Part(const clang::Expr* expression, const clang::VarDecl* counter,
                                  bool step) const {
    const std::optional<Variables> needed = Needs(expression);
    if (!needed) return std::nullopt;
    if (needed->count(counter) == 0) return step ? "" : Operand(expression, {});
    const clang::Expr* bare = expression->IgnoreParens();
    if (const auto* cast = llvm::dyn_cast<clang::CastExpr>(bare)) {
      const clang::Expr* from = cast->getSubExpr();
      if (!KeepsSteps(code_, from->getType(), cast->getType())) return std::nullopt;
      return Part(from, counter, step);
    }
    if (const clang::VarDecl* variable = NamedVariable(bare)) {
      const clang::Expr* value = ValueOf(variable);
      if (variable == counter) return step ? "1.0" : "";
      if (value == nullptr ||
          !KeepsSteps(code_, value->getType(), variable->getType().getNonReferenceType()))
        return std::nullopt;
      return Part(value, counter, step);
    }
    if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(bare)) {
      const std::optional<std::string> part = Part(unary->getSubExpr(), counter, step);
      if (!part || unary->getOpcode() == clang::UO_Plus) return part;
      if (unary->getOpcode() != clang::UO_Minus) return std::nullopt;
      return part->empty() ? "" : Negated(*part);
    }
    const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(bare);
    if (binary == nullptr) return std::nullopt;
    return binary->isAdditiveOp() ? PartOfSum(*binary, counter, step)
                                  : PartOfProduct(*binary, counter, step);
  }
  std::optional<std::string> PartOfSum(const clang::BinaryOperator& sum,
                                       const clang::VarDecl* counter, bool step) const {
    const std::optional<std::string> left = Part(sum.getLHS(), counter, step);
    const std::optional<std::string> right = Part(sum.getRHS(), counter, step);
    if (!left || !right) return std::nullopt;
    const bool difference = sum.getOpcode() == clang::BO_Sub;
    if (right->empty()) return left;
    if (left->empty()) return difference ? Negated(*right) : *right;
    return "(" + *left + (difference ? " - " : " + ") + *right + ")";
  }
  std::optional<std::string> PartOfProduct(const clang::BinaryOperator& product,
                                           const clang::VarDecl* counter, bool step) const {
    const bool divides = product.getOpcode() == clang::BO_Div;
    if (product.getOpcode() != clang::BO_Mul && !divides) return std::nullopt;
    const bool left = Needs(product.getLHS())->count(counter) > 0;
    const bool right = Needs(product.getRHS())->count(counter) > 0;
    if ((left && right) || (divides && (right || product.getType()->isIntegerType())))
      return std::nullopt;
    const clang::Expr* other = left ? product.getRHS() : product.getLHS();
    const std::optional<std::string> part =
        Part(left ? product.getLHS() : product.getRHS(), counter, step);
    if (!part || part->empty()) return part;
    const std::string factor = Factor(other, !left);
    if (divides) return *part + " / " + factor;
    const bool one = *part == "1.0" || part->compare(0, 4, "1.0 ") == 0;
    if (one && FloatingType(other->getType()) == "double") return factor + part->substr(3);
    return left ? *part + " * " + factor : factor + " * " + *part;
  }

  const FunctionCode& code_;
  const clang::Stmt* loop_;
  Variables changed_;
  Variables declared_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_BEFORE_LOOP_H_
