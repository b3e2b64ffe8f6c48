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
    Variables changed;
    for (const clang::Stmt* part :
         {loop->getBody(), static_cast<const clang::Stmt*>(loop->getCond())}) {
      changed.merge(Changed(part));
      changed.merge(Written(part));
    }
    const Variables counted = Changed(loop->getInc());
    for (const clang::Decl* decl : first->decls()) {
      const auto* counter = dyn_cast<clang::VarDecl>(decl);
      if (counter != nullptr && counter->getInit() != nullptr && changed.count(counter) == 0 &&
          counted.count(counter) > 0 && counter->getType()->isIntegerType())
        loops_[counter] = loop;
    }
  }
}

IndexRanges::Bound IndexRanges::Most(const clang::Expr* expression) const {
  return Of(expression, kReadDepthMax).most;
}

IndexRanges::Bound IndexRanges::Resolved(Polynomial value, bool most) const {
  for (size_t round = 0; round <= loops_.size(); ++round) {
    std::string last;
    for (const auto& [names, factor] : value.terms())
      for (const std::string& name : names)
        if (name[0] == '#') last = std::max(last, name);
    if (last.empty()) return value.exact() ? std::optional(value) : std::nullopt;
    const Range range = OfSymbol(last);
    Polynomial next;
    for (const auto& [names, factor] : value.terms()) {
      if (std::count(names.begin(), names.end(), last) == 0) {
        Polynomial product(factor);
        for (const std::string& name : names) product = product * Polynomial(name);
        next = next + product;
        continue;
      }
      // A product of counters is largest at their ends where none is below 0.
      const auto counters = std::count_if(names.begin(), names.end(),
                                          [](const std::string& name) { return name[0] == '#'; });
      for (const std::string& name : names)
        if (counters > 1 && name[0] == '#' && !IsNeverNegative(OfSymbol(name).least))
          return std::nullopt;
      const Bound& end = (factor > 0) == most ? range.most : range.least;
      if (!end) return std::nullopt;
      Polynomial product(factor);
      for (const std::string& name : names)
        product = product * (name == last ? *end : Polynomial(name));
      next = next + product;
    }
    value = std::move(next);
  }
  return std::nullopt;
}

IndexRanges::Range IndexRanges::OfSymbol(const std::string& symbol) const {
  const auto loop = std::find_if(loops_.begin(), loops_.end(),
                                 [&](const auto& each) { return Symbol(each.first) == symbol; });
  return loop == loops_.end() ? Range() : OfCounter(loop->first, loop->second, kReadDepthMax);
}

bool IndexRanges::IsNeverNegative(const Bound& value) const {
  const Bound least = value ? Resolved(*value, /*most=*/false) : std::nullopt;
  return least && least->IsNeverNegativeFrom1();
}

// Counters stay in it, as symbols.
IndexRanges::Range IndexRanges::Of(const clang::Expr* expression, int depth) const {
  if (depth <= 0 || ++steps_ > kStepsMax || !expression->getType()->isIntegerType()) return {};
  if (const std::optional<int64_t> value = code_.Constant(expression))
    return {Polynomial(*value), Polynomial(*value)};
  if (const auto* inner = dyn_cast<clang::ParenExpr>(expression))
    return Of(inner->getSubExpr(), depth);
  if (const auto* full = dyn_cast<clang::FullExpr>(expression))
    return Of(full->getSubExpr(), depth);
  if (const auto* cast = dyn_cast<clang::CastExpr>(expression))
    return Held(cast->getType(), Of(cast->getSubExpr(), depth));
  if (const clang::VarDecl* variable = NamedVariable(expression)) {
    Range range = StandsInOwnHead(expression, variable) ? Range() : OfVariable(variable, depth);
    const bool stays = loops_.count(variable) > 0 || changed_.count(variable) == 0;
    if (!stays) {
      const Range held = HeldBefore(expression, variable, depth - 1);
      return {held.least ? held.least : range.least, SmallerOf(held.most, range.most)};
    }
    if (isa<clang::ParmVarDecl>(variable)) return range;
    for (const auto& [condition, negated] : GuardsOf(expression)) {
      range.most = SmallerOf(range.most, MostBy(condition, negated, variable, depth - 1));
      // The last word counts: mostly it is 0.
      const Bound least = LeastBy(condition, negated, variable, depth - 1);
      if (least && !IsNeverNegative(range.least)) range.least = least;
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
    return {NeitherNegative(one, other), LargerOf(one.most, other.most)};
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

// 0, where neither is below it.
IndexRanges::Bound IndexRanges::NeitherNegative(const Range& one, const Range& other) const {
  const bool neither = IsNeverNegative(one.least) && IsNeverNegative(other.least);
  return neither ? Bound(Polynomial(0)) : std::nullopt;
}
// The larger one, where it never is the smaller one.
IndexRanges::Bound IndexRanges::LargerOf(const Bound& left, const Bound& right) const {
  if (!left || !right) return std::nullopt;
  if (IsNeverNegative(*left - *right)) return left;
  return IsNeverNegative(*right - *left) ? right : std::nullopt;
}
// One of two bounds, where sizes are large the smaller one; the one that is known.
IndexRanges::Bound IndexRanges::SmallerOf(const Bound& left, const Bound& right) const {
  const auto value = [this](const Bound& most) {
    const Bound resolved = most ? Resolved(*most, /*most=*/true) : std::nullopt;
    return resolved ? std::optional(resolved->At(Large)) : std::nullopt;
  };
  const std::optional<double> one = value(left), other = value(right);
  if (!one || !other) return one ? left : other ? right : std::nullopt;
  return *one < *other ? left : right;
}

// Whether a counter is named in the head of its own loop, where it has gone one further.
bool IndexRanges::StandsInOwnHead(const clang::Stmt* use, const clang::VarDecl* variable) const {
  const auto loop = loops_.find(variable);
  if (loop == loops_.end()) return false;
  for (const clang::Stmt* at = use; at != nullptr; at = code_.Parent(at))
    if (at == loop->second->getCond() || at == loop->second->getInc()) return true;
  return false;
}

IndexRanges::Range IndexRanges::OfVariable(const clang::VarDecl* variable, int depth) const {
  if (loops_.count(variable) > 0) {
    const Polynomial itself(Symbol(variable));
    return {itself, itself};
  }
  if (changed_.count(variable) > 0) return OfFirstValue(variable, depth);
  if (isa<clang::ParmVarDecl>(variable)) {
    const Polynomial itself(variable->getNameAsString());
    return Held(variable->getType(), {itself, itself});
  }
  if (!variable->isLocalVarDecl() || variable->getInit() == nullptr) return {};
  return Held(variable->getType(), Of(variable->getInit(), depth - 1));
}

IndexRanges::Range IndexRanges::OfCall(const clang::CallExpr* call, int depth) const {
  const clang::FunctionDecl* callee = call->getDirectCallee();
  const bool named = callee != nullptr && callee->getDeclName().isIdentifier();
  const unsigned arguments = call->getNumArgs();
  if (!named || arguments < 2 || arguments > 3) return {};
  const auto of = [&](unsigned i) {
    const auto* kept = dyn_cast<clang::MaterializeTemporaryExpr>(call->getArg(i));
    return Of(kept == nullptr ? call->getArg(i) : kept->getSubExpr(), depth - 1);
  };
  const Range one = of(0), other = of(1);
  if (callee->getName() == "clamp" && arguments == 3) return {other.least, of(2).most};
  if (arguments == 2 && callee->getName() == "min")
    return {NeitherNegative(one, other), SmallerOf(one.most, other.most)};
  if (arguments == 2 && callee->getName() == "max")
    return {IsNeverNegative(one.least) ? one.least : other.least, LargerOf(one.most, other.most)};
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
                 IsNeverNegative(left.least) && IsNeverNegative(right.least)) {
        range = {*left.least * *right.least, *left.most * *right.most};
      }
      return range;
    case clang::BO_Rem:
      if (!right.most || !IsNeverNegative(right.least)) return range;
      range.most = *right.most - Polynomial(1);
      range.least = IsNeverNegative(left.least) ? Polynomial(0) : Polynomial(0) - *range.most;
      return range;
    case clang::BO_And: {
      // A number that is not below 0 bounds the result, whatever the other one is.
      const std::optional<int64_t> right_mask = code_.Constant(binary->getRHS());
      const std::optional<int64_t> left_mask = code_.Constant(binary->getLHS());
      if (right_mask && *right_mask >= 0)
        range.most = right.most;
      else if (left_mask && *left_mask >= 0)
        range.most = left.most;
      else if (IsNeverNegative(left.least))
        range.most = left.most;
      else if (IsNeverNegative(right.least))
        range.most = right.most;
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
  const std::optional<Assignment> counted = AsAssignment(loop->getInc()->IgnoreParens());
  const bool forwards = counted && (counted->value == nullptr ||
                                    IsNeverNegative(Of(counted->value, depth - 1).least));
  const bool up = forwards && counted->kind == clang::BO_AddAssign;
  const bool down = forwards && counted->kind == clang::BO_SubAssign;
  Range range{up ? first.least : std::nullopt, down ? first.most : std::nullopt};
  for (const clang::Expr* condition : Conjuncts(loop->getCond())) {
    if (up) range.most = SmallerOf(range.most, MostBy(condition, false, counter, depth));
    if (down && !range.least) range.least = LeastBy(condition, false, counter, depth);
  }
  being_read_.erase(counter);
  return range;
}

// What `variable` is at least where a condition holds, or does not (`negated`): v >= 0, !(v < 0).
IndexRanges::Bound IndexRanges::LeastBy(const clang::Expr* condition, bool negated,
                                        const clang::VarDecl* variable, int depth) const {
  const std::optional<CounterComparison> compared = ComparedCounter(condition, variable);
  if (!compared || compared->upper != negated) return std::nullopt;
  const Bound least = Of(compared->limit, depth - 1).least;
  return !least || compared->equal != negated ? least : std::optional(*least + Polynomial(1));
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

// The conditions that hold where something is used, and those (true) that do not.
std::vector<std::pair<const clang::Expr*, bool>> IndexRanges::GuardsOf(
    const clang::Stmt* use) const {
  std::vector<std::pair<const clang::Expr*, bool>> guards;
  const auto note = [&](const clang::Expr* condition, bool negated) {
    for (const clang::Expr* each : negated ? Disjuncts(condition) : Conjuncts(condition))
      guards.emplace_back(each, negated);
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
    } else if (isa<clang::CompoundStmt>(at) && !Has<clang::SwitchCase, clang::LabelStmt>(at)) {
      for (const clang::Stmt* before : at->children()) {
        if (before == part) break;
        const clang::IfStmt* guard = AsGuard(before);
        if (guard != nullptr && OnlyContinues(guard->getThen())) note(guard->getCond(), true);
      }
    }
  }
  return guards;
}

}  // namespace whetstone
