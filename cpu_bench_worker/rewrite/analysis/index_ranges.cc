#include "cpu_bench_worker/rewrite/analysis/index_ranges.h"

#include <algorithm>
#include <set>
#include <utility>

#include "clang/AST/ExprCXX.h"
#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;

constexpr int kReadDepthMax = 24;
constexpr int kStepsMax = 20000;  // of reading one function

// Any name as a large number.
double Large(const std::string& name) {
  int number = 0;
  for (const char c : name) number = (number * 31 + c) % 997;
  return 1e4 + number;
}

// Whether both are the same and known.
bool IsExact(const std::optional<Polynomial>& least, const std::optional<Polynomial>& most) {
  return least && most && *least == *most;
}

}  // namespace

IndexRanges::IndexRanges(const FunctionCode& code) : code_(code), changed_(Changed(code.body())) {
  for (const clang::VarDecl* written : Written(code.body()))
    if (!written->getType()->isPointerType()) changed_.insert(written);
  for (const clang::Stmt* stmt : Below(code.body())) {
    const auto* loop = dyn_cast<clang::ForStmt>(stmt);
    const auto* first =
        loop == nullptr ? nullptr : dyn_cast_or_null<clang::DeclStmt>(loop->getInit());
    if (first == nullptr || loop->getCond() == nullptr || loop->getInc() == nullptr) continue;
    Variables changed = Changed(loop->getBody());
    changed.merge(Written(loop->getBody()));
    for (const clang::Decl* decl : first->decls()) {
      const auto* counter = dyn_cast<clang::VarDecl>(decl);
      if (counter != nullptr && counter->getInit() != nullptr && changed.count(counter) == 0 &&
          counter->getType()->isIntegerType() && Changed(loop->getCond()).count(counter) == 0)
        loops_[counter] = loop;
    }
  }
}

IndexRanges::Bound IndexRanges::Most(const clang::Expr* expression) const {
  return Of(expression, kReadDepthMax).most;
}

IndexRanges::Bound IndexRanges::Resolved(Polynomial most) const {
  for (size_t round = 0; round <= loops_.size(); ++round) {
    std::string last;
    for (const auto& [names, factor] : most.terms())
      for (const std::string& name : names)
        if (name[0] == '#') last = std::max(last, name);
    if (last.empty()) return most.exact() ? std::optional(most) : std::nullopt;
    const auto loop = std::find_if(loops_.begin(), loops_.end(),
                                   [&](const auto& each) { return Symbol(each.first) == last; });
    if (loop == loops_.end()) return std::nullopt;
    const Range range = OfCounter(loop->first, loop->second, kReadDepthMax);
    Polynomial next;
    for (const auto& [names, factor] : most.terms()) {
      const Bound& end = factor > 0 ? range.most : range.least;
      Polynomial product(factor);
      for (const std::string& name : names) {
        if (name == last && !end) return std::nullopt;
        product = product * (name == last ? *end : Polynomial(name));
      }
      next = next + product;
    }
    most = std::move(next);
  }
  return std::nullopt;
}
// Counters stay in it, as symbols.
IndexRanges::Range IndexRanges::Of(const clang::Expr* expression, int depth) const {
  if (depth <= 0 || ++steps_ > kStepsMax || !expression->getType()->isIntegerType()) return {};
  if (const std::optional<int64_t> value = code_.Constant(expression))
    return {Polynomial(*value), Polynomial(*value)};
  if (const auto* inner = dyn_cast<clang::ParenExpr>(expression))
    return Of(inner->getSubExpr(), depth);
  if (const auto* cast = dyn_cast<clang::CastExpr>(expression))
    return Held(cast->getType(), Of(cast->getSubExpr(), depth));
  if (const clang::VarDecl* variable = NamedVariable(expression)) {
    Range range = OfVariable(variable, depth);
    if (loops_.count(variable) > 0 || changed_.count(variable) == 0) {
      const Bound most = MostByGuards(expression, variable, depth - 1);
      if (most && !isa<clang::ParmVarDecl>(variable)) {
        range.most = SmallerOf(range.most, most);
        range.most = range.most ? range.most : most;
      }
    }
    return range;
  }
  if (const auto* minus = dyn_cast<clang::UnaryOperator>(expression);
      minus != nullptr && minus->getOpcode() == clang::UO_Minus) {
    const Range range = Of(minus->getSubExpr(), depth - 1);
    const auto negated = [](const Bound& bound) {
      return bound ? Bound(Polynomial(0) - *bound) : std::nullopt;
    };
    return {negated(range.most), negated(range.least)};
  }
  if (const auto* choice = dyn_cast<clang::ConditionalOperator>(expression)) {
    const Range one = Of(choice->getTrueExpr(), depth - 1);
    const Range other = Of(choice->getFalseExpr(), depth - 1);
    return {std::nullopt, LargerOf(one.most, other.most)};
  }
  if (const auto* call = dyn_cast<clang::CallExpr>(expression)) return OfCall(call, depth);
  const auto* binary = dyn_cast<clang::BinaryOperator>(expression);
  return binary == nullptr ? Range() : OfBinary(binary, depth);
}

// What becomes of a number that is held by this type.
IndexRanges::Range IndexRanges::Held(clang::QualType type, const Range& range) const {
  if (code_.context().getTypeSize(type) >= 32) return range;
  if (type->isUnsignedIntegerType() && code_.context().getTypeSize(type) == 8)
    return {std::nullopt, Polynomial(255)};
  return {};
}

// A name that sorts as counters are declared, and is none of C++.
std::string IndexRanges::Symbol(const clang::VarDecl* counter) const {
  const std::string at = std::to_string(code_.At(counter->getLocation()));
  return "#" + std::string(12 - std::min<size_t>(at.size(), 12), '0') + at;
}

// The larger one, where it never is the smaller one.
IndexRanges::Bound IndexRanges::LargerOf(const Bound& left, const Bound& right) const {
  if (!left || !right) return std::nullopt;
  if ((*left - *right).IsNeverNegative()) return left;
  return (*right - *left).IsNeverNegative() ? right : std::nullopt;
}
// One of two bounds, where sizes are large the smaller one; the one that is known.
IndexRanges::Bound IndexRanges::SmallerOf(const Bound& left, const Bound& right) const {
  const auto value = [this](const Bound& most) {
    const Bound resolved = most ? Resolved(*most) : std::nullopt;
    return resolved ? std::optional(resolved->At(Large)) : std::nullopt;
  };
  const std::optional<double> one = value(left), other = value(right);
  if (!one || !other) return one ? left : other ? right : std::nullopt;
  return *one < *other ? left : right;
}

IndexRanges::Range IndexRanges::OfVariable(const clang::VarDecl* variable, int depth) const {
  if (loops_.count(variable) > 0) {
    const Polynomial itself(Symbol(variable));
    return {itself, itself};
  }
  if (changed_.count(variable) > 0) return {};
  if (isa<clang::ParmVarDecl>(variable)) {
    const Polynomial itself(variable->getNameAsString());
    return Held(variable->getType(), {itself, itself});
  }
  if (!variable->isLocalVarDecl() || variable->getInit() == nullptr) return {};
  return Held(variable->getType(), Of(variable->getInit(), depth - 1));
}

IndexRanges::Range IndexRanges::OfCall(const clang::CallExpr* call, int depth) const {
  const clang::FunctionDecl* callee = call->getDirectCallee();
  if (callee == nullptr || call->getNumArgs() != 2 || !callee->getDeclName().isIdentifier())
    return {};
  const auto most = [&](const clang::Expr* argument) {
    const auto* kept = dyn_cast<clang::MaterializeTemporaryExpr>(argument);
    return Of(kept == nullptr ? argument : kept->getSubExpr(), depth - 1).most;
  };
  if (callee->getName() == "min")
    return {std::nullopt, SmallerOf(most(call->getArg(0)), most(call->getArg(1)))};
  if (callee->getName() == "max")
    return {std::nullopt, LargerOf(most(call->getArg(0)), most(call->getArg(1)))};
  return {};
}

IndexRanges::Range IndexRanges::OfBinary(const clang::BinaryOperator* binary, int depth) const {
  const Range left = Of(binary->getLHS(), depth - 1);
  const Range right = Of(binary->getRHS(), depth - 1);
  Range range;
  switch (binary->getOpcode()) {
    case clang::BO_Add:
      if (left.least && right.least) range.least = *left.least + *right.least;
      if (left.most && right.most) range.most = *left.most + *right.most;
      return range;
    case clang::BO_Sub:
      if (left.least && right.most) range.least = *left.least - *right.most;
      if (left.most && right.least) range.most = *left.most - *right.least;
      return range;
    case clang::BO_Mul:
      if (IsExact(left.least, left.most) && IsExact(right.least, right.most)) {
        range.least = range.most = *left.most * *right.most;
      } else if (left.least && right.least && left.most && right.most &&
                 left.least->IsNeverNegative() && right.least->IsNeverNegative()) {
        range = {*left.least * *right.least, *left.most * *right.most};
      }
      return range;
    case clang::BO_Rem:
      if (right.most) range.most = *right.most - Polynomial(1);
      return range;
    case clang::BO_And: {
      // A mask that may be below 0 (~7) takes nothing away but low bits.
      const std::optional<int64_t> mask = code_.Constant(binary->getRHS());
      range.most = mask && *mask >= 0 ? right.most : left.most;
      return range;
    }
    default:
      return {};
  }
}

// for (v = first; v < last; v++), for (v = first; v + m <= n; v += 4), for (v = n - 1; v >= 0; v--)
IndexRanges::Range IndexRanges::OfCounter(const clang::VarDecl* counter, const clang::ForStmt* loop,
                                          int depth) const {
  if (!being_read_.insert(counter).second) return {};
  const Range first = Of(counter->getInit(), depth);
  const auto* step = dyn_cast<clang::UnaryOperator>(loop->getInc()->IgnoreParens());
  const std::optional<Assignment> counted = AsAssignment(loop->getInc()->IgnoreParens());
  const bool up = (step != nullptr && step->isIncrementOp()) ||
                  (counted && counted->kind == clang::BO_AddAssign);
  const bool down = (step != nullptr && step->isDecrementOp()) ||
                    (counted && counted->kind == clang::BO_SubAssign);
  Range range{up ? first.least : std::nullopt, down ? first.most : std::nullopt};
  for (const clang::Expr* condition : Conjuncts(loop->getCond())) {
    if (up) range.most = SmallerOf(range.most, MostBy(condition, false, counter, depth));
    if (down && !range.least) range.least = LeastBy(condition, counter, depth);
  }
  // `i < n && r > i`: both count together; one of them is enough.
  being_read_.erase(counter);
  return range;
}

// What a counter is at least where a condition holds: v >= 0, v > 0.
IndexRanges::Bound IndexRanges::LeastBy(const clang::Expr* condition,
                                        const clang::VarDecl* variable, int depth) const {
  const std::optional<CounterComparison> compared = ComparedCounter(condition, variable);
  if (!compared || compared->upper) return std::nullopt;
  const Bound least = Of(compared->limit, depth - 1).least;
  return !least || compared->equal ? least : std::optional(*least + Polynomial(1));
}

// What `variable` is at most where a condition holds, or does not (`negated`).
IndexRanges::Bound IndexRanges::MostBy(const clang::Expr* condition, bool negated,
                                       const clang::VarDecl* variable, int depth) const {
  const auto* test = dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
  if (test == nullptr || !test->isComparisonOp()) return std::nullopt;
  const clang::BinaryOperatorKind kind =
      negated ? clang::BinaryOperator::negateComparisonOp(test->getOpcode()) : test->getOpcode();
  const bool head = isa<clang::ForStmt>(code_.Parent(condition));
  if (kind == clang::BO_EQ || (kind == clang::BO_NE && !head)) return std::nullopt;
  const bool reversed = kind == clang::BO_GT || kind == clang::BO_GE;
  const clang::Expr* low = reversed ? test->getRHS() : test->getLHS();
  const clang::Expr* ahead = nullptr;
  if (const auto* sum = dyn_cast<clang::BinaryOperator>(low->IgnoreParenImpCasts());
      sum != nullptr && sum->getOpcode() == clang::BO_Add) {
    const bool left = NamedVariable(sum->getLHS()) == variable;
    ahead = left ? sum->getRHS() : sum->getLHS();
    low = left ? sum->getLHS() : sum->getRHS();
  }
  if (NamedVariable(low) != variable) return std::nullopt;
  Bound most = Of(reversed ? test->getLHS() : test->getRHS(), depth - 1).most;
  if (most && ahead != nullptr) {
    const Bound least = Of(ahead, depth - 1).least;
    most = least ? std::optional(*most - *least) : std::nullopt;
  }
  if (!most) return std::nullopt;
  return kind == clang::BO_LE || kind == clang::BO_GE ? most : *most - Polynomial(1);
}

// What the conditions around a use of `variable` say that it is at most.
IndexRanges::Bound IndexRanges::MostByGuards(const clang::Stmt* use, const clang::VarDecl* variable,
                                             int depth) const {
  Bound most;
  const auto note = [&](const clang::Expr* condition, bool negated) {
    for (const clang::Expr* each : negated ? Disjuncts(condition) : Conjuncts(condition))
      most = SmallerOf(most, MostBy(each, negated, variable, depth));
  };
  const clang::Stmt* part = use;
  for (const clang::Stmt* at = code_.Parent(use); at != nullptr; part = at, at = code_.Parent(at)) {
    if (const auto* branch = dyn_cast<clang::IfStmt>(at)) {
      if (part == branch->getThen()) note(branch->getCond(), false);
      if (part == branch->getElse()) note(branch->getCond(), true);
    } else if (const auto* choice = dyn_cast<clang::ConditionalOperator>(at)) {
      if (part == choice->getTrueExpr()) note(choice->getCond(), false);
      if (part == choice->getFalseExpr()) note(choice->getCond(), true);
    } else if (const auto* both = dyn_cast<clang::BinaryOperator>(at)) {
      if (both->getOpcode() == clang::BO_LAnd && part == both->getRHS())
        note(both->getLHS(), false);
      if (both->getOpcode() == clang::BO_LOr && part == both->getRHS()) note(both->getLHS(), true);
    } else if (isa<clang::CompoundStmt>(at)) {
      for (const clang::Stmt* before : at->children()) {
        if (before == part) break;
        const clang::IfStmt* guard = AsGuard(before);
        if (guard != nullptr && OnlyContinues(guard->getThen())) note(guard->getCond(), true);
      }
    }
  }
  return most;
}

}  // namespace whetstone
