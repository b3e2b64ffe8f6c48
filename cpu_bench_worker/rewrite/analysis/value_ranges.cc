#include "cpu_bench_worker/rewrite/analysis/value_ranges.h"

#include <algorithm>
#include <limits>

#include "clang/AST/ExprCXX.h"

namespace whetstone {
namespace {

using clang::dyn_cast;

constexpr int kRangeDepthMax = 24;  // of an expression, and of the variables that it is made of

std::optional<ValueRange> TypeRange(const FunctionCode& code, clang::QualType type) {
  if (!type->isIntegerType()) return std::nullopt;
  if (type->isBooleanType()) return ValueRange{0, 1};
  const auto bits = static_cast<int64_t>(code.context().getTypeSize(type));
  if (bits > 16) return std::nullopt;
  if (type->isUnsignedIntegerType()) return ValueRange{0, (int64_t{1} << bits) - 1};
  return ValueRange{-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

ValueRange Hull(const ValueRange& left, const ValueRange& right) {
  return {std::min(left.least, right.least), std::max(left.most, right.most)};
}

// Looks at one expression after another; ranges are within 32 bits, so that nothing overflows here.
class Ranges {
 public:
  explicit Ranges(const FunctionCode& code) : code_(code), changed_(Changed(code.body())) {}

  std::optional<ValueRange> Of(const clang::Expr* expression, int depth) const {
    if (depth > kRangeDepthMax) return std::nullopt;
    const clang::Expr* inner = expression->IgnoreParens();
    std::optional<ValueRange> range = Computed(inner, depth + 1);
    if (const std::optional<ValueRange> type = TypeRange(code_, inner->getType())) {
      // What does not fit is cut off.
      if (!range || range->least < type->least || range->most > type->most) range = type;
    }
    const int64_t least =
        inner->getType()->isUnsignedIntegerType() ? 0 : std::numeric_limits<int32_t>::min();
    const bool fits = range && inner->getType()->isIntegerType() && range->least >= least &&
                      range->most <= std::numeric_limits<int32_t>::max();
    return fits ? range : std::nullopt;
  }

 private:
  std::optional<ValueRange> Computed(const clang::Expr* expression, int depth) const {
    if (const std::optional<int64_t> number = code_.Constant(expression))
      return ValueRange{*number, *number};
    if (const auto* cast = dyn_cast<clang::CastExpr>(expression))
      return Of(cast->getSubExpr(), depth);
    if (const auto* cleanups = dyn_cast<clang::FullExpr>(expression))
      return Of(cleanups->getSubExpr(), depth);
    if (const auto* temporary = dyn_cast<clang::MaterializeTemporaryExpr>(expression))
      return Of(temporary->getSubExpr(), depth);
    if (const clang::VarDecl* variable = NamedVariable(expression))
      return OfVariable(variable, depth);
    if (const auto* unary = dyn_cast<clang::UnaryOperator>(expression)) {
      if (unary->getOpcode() == clang::UO_LNot) return ValueRange{0, 1};
      if (unary->getOpcode() != clang::UO_Minus) return std::nullopt;
      const std::optional<ValueRange> of = Of(unary->getSubExpr(), depth);
      return of ? std::optional(ValueRange{-of->most, -of->least}) : std::nullopt;
    }
    if (const auto* choice = dyn_cast<clang::ConditionalOperator>(expression)) {
      const std::optional<ValueRange> one = Of(choice->getTrueExpr(), depth);
      const std::optional<ValueRange> other = Of(choice->getFalseExpr(), depth);
      return one && other ? std::optional(Hull(*one, *other)) : std::nullopt;
    }
    if (const auto* call = dyn_cast<clang::CallExpr>(expression)) return OfCall(call, depth);
    if (const auto* binary = dyn_cast<clang::BinaryOperator>(expression))
      return OfBinary(binary, depth);
    return std::nullopt;
  }

  // A variable is what it begins as, if nothing changes it.
  std::optional<ValueRange> OfVariable(const clang::VarDecl* variable, int depth) const {
    if (!variable->isLocalVarDecl() || variable->isStaticLocal() ||
        variable->getInit() == nullptr || variable->getType()->isReferenceType() ||
        changed_.count(variable) > 0)
      return std::nullopt;
    return Of(variable->getInit(), depth);
  }

  std::optional<ValueRange> OfCall(const clang::CallExpr* call, int depth) const {
    const clang::FunctionDecl* callee = call->getDirectCallee();
    if (callee == nullptr || callee->getIdentifier() == nullptr || call->getNumArgs() == 0 ||
        !call->getType()->isIntegerType())
      return std::nullopt;
    const llvm::StringRef name = callee->getName();
    const std::optional<ValueRange> one = Of(call->getArg(0), depth);
    if (!one) return std::nullopt;
    if (name == "abs" && call->getNumArgs() == 1) {
      const int64_t most = std::max(std::abs(one->least), std::abs(one->most));
      return ValueRange{one->least <= 0 && one->most >= 0
                            ? 0
                            : std::min(std::abs(one->least), std::abs(one->most)),
                        most};
    }
    if (call->getNumArgs() != 2 || !callee->isInStdNamespace()) return std::nullopt;
    const std::optional<ValueRange> two = Of(call->getArg(1), depth);
    if (!two) return std::nullopt;
    if (name == "min")
      return ValueRange{std::min(one->least, two->least), std::min(one->most, two->most)};
    if (name == "max")
      return ValueRange{std::max(one->least, two->least), std::max(one->most, two->most)};
    return std::nullopt;
  }

  std::optional<ValueRange> OfBinary(const clang::BinaryOperator* binary, int depth) const {
    if (binary->isComparisonOp() || binary->isLogicalOp()) return ValueRange{0, 1};
    const std::optional<ValueRange> right = Of(binary->getRHS(), depth);
    const std::optional<ValueRange> left = Of(binary->getLHS(), depth);
    if (binary->getOpcode() == clang::BO_And && left && left->least >= 0)
      return ValueRange{0, left->most};
    if (!right) return std::nullopt;
    const bool known = right->least == right->most;
    const bool positive = known && right->least > 0;
    // Whatever is on the left.
    if (binary->getOpcode() == clang::BO_And && right->least >= 0)
      return ValueRange{0, right->most};
    if (binary->getOpcode() == clang::BO_Shr && positive && right->least < 32 && !left &&
        binary->getLHS()->getType()->isUnsignedIntegerType() &&
        code_.context().getTypeSize(binary->getLHS()->getType()) <= 32)
      return ValueRange{0, int64_t{0xffffffff} >> right->least};
    if (binary->getOpcode() == clang::BO_Rem && positive) {
      const int64_t most = right->most - 1;
      const bool natural = binary->getType()->isUnsignedIntegerType() || (left && left->least >= 0);
      return ValueRange{natural ? 0 : -most, most};
    }
    if (!left) return std::nullopt;
    switch (binary->getOpcode()) {
      case clang::BO_Add:
        return ValueRange{left->least + right->least, left->most + right->most};
      case clang::BO_Sub:
        return ValueRange{left->least - right->most, left->most - right->least};
      case clang::BO_Mul: {
        const auto [least, most] =
            std::minmax({left->least * right->least, left->least * right->most,
                         left->most * right->least, left->most * right->most});
        return ValueRange{least, most};
      }
      case clang::BO_Div:
        if (!positive) return std::nullopt;
        return ValueRange{left->least / right->most, left->most / right->most};
      case clang::BO_Shr:
        if (!known || right->least < 0 || right->least > 31) return std::nullopt;
        return ValueRange{left->least >> right->least, left->most >> right->least};
      default:
        return std::nullopt;
    }
  }

  const FunctionCode& code_;
  const Variables changed_;
};

}  // namespace

bool IsWide(const FunctionCode& code, clang::QualType type) {
  return type->isRealFloatingType() ||
         (type->isIntegerType() && code.context().getTypeSize(type) > 32);
}

std::optional<NarrowValue> AsNarrow(const FunctionCode& code, const clang::Expr* expression) {
  const clang::Expr* computed = expression->IgnoreParens();
  while (const auto* cast = dyn_cast<clang::CastExpr>(computed)) {
    if (!IsWide(code, cast->getType()) && !clang::isa<clang::ImplicitCastExpr>(cast)) break;
    computed = cast->getSubExpr()->IgnoreParens();
  }
  if (!computed->getType()->isIntegerType()) return std::nullopt;
  const std::optional<ValueRange> range = Ranges(code).Of(computed, 0);
  return range ? std::optional(NarrowValue{computed, *range}) : std::nullopt;
}

}  // namespace whetstone
