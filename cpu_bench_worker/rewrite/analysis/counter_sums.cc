#include "cpu_bench_worker/rewrite/analysis/counter_sums.h"

#include <utility>

namespace whetstone {
namespace {

using clang::dyn_cast;

void AddSummands(const clang::Expr* expression, bool minus, std::vector<Summand>* summands) {
  const auto* sum = dyn_cast<clang::BinaryOperator>(expression->IgnoreParenImpCasts());
  if (sum == nullptr || !sum->isAdditiveOp()) {
    summands->push_back({expression, minus});
    return;
  }
  AddSummands(sum->getLHS(), minus, summands);
  AddSummands(sum->getRHS(), minus != (sum->getOpcode() == clang::BO_Sub), summands);
}

class SumReplacer {
 public:
  SumReplacer(const FunctionCode& code, const clang::VarDecl* left, const clang::VarDecl* right,
              const std::string& sum)
      : code_(code), left_(left), right_(right), sum_(sum) {}

  // False: a counter is named there without the other one.
  bool Visit(const clang::Stmt* stmt) {
    if (stmt == nullptr || !Names(stmt)) return true;
    const auto* expression = dyn_cast<clang::Expr>(stmt);
    if (expression == nullptr) return VisitChildren(stmt);
    const std::vector<Summand> summands = SummandsOf(expression);
    bool counters = false;
    for (const Summand& each : summands) counters = counters || IsCounter(each);
    if (counters) return ReplaceIn(expression, summands);
    for (const Summand& each : summands)
      if (Names(each.expression) && !VisitChildren(each.expression->IgnoreParenImpCasts()))
        return false;
    return true;
  }

  const Edits& edits() const { return edits_; }

 private:
  bool Names(const clang::Stmt* stmt) const {
    return Mentions(stmt, left_) + Mentions(stmt, right_) > 0;
  }
  bool IsCounter(const Summand& summand) const {
    const clang::VarDecl* named = NamedVariable(summand.expression);
    return named != nullptr && (named == left_ || named == right_);
  }
  bool VisitChildren(const clang::Stmt* stmt) {
    if (NamedVariable(stmt) != nullptr) return false;
    for (const clang::Stmt* child : stmt->children())
      if (!Visit(child)) return false;
    return true;
  }

  bool ReplaceIn(const clang::Expr* expression, const std::vector<Summand>& summands) {
    std::string text;
    bool named[2] = {false, false};
    bool minus = false;
    for (const Summand& each : summands) {
      std::string part = sum_;
      if (IsCounter(each)) {
        bool& seen = named[NamedVariable(each.expression) == right_];
        if (std::exchange(seen, true)) return false;
        const bool second = named[0] && named[1];
        if (second && each.minus != minus) return false;
        minus = each.minus;
        if (second) continue;
      } else if (Names(each.expression)) {
        return false;
      } else {
        part = code_.Text(each.expression->IgnoreImpCasts());
      }
      text += text.empty() ? (each.minus ? "-" : "") : (each.minus ? " - " : " + ");
      text += part;
    }
    if (!named[0] || !named[1]) return false;
    const clang::Expr* bare = expression->IgnoreParenImpCasts();
    // Alone it needs the parentheses around it no more.
    const clang::Expr* whole = summands.size() == 2 && !minus ? expression->IgnoreImpCasts() : bare;
    edits_.push_back({code_.Begin(whole), code_.End(whole), text});
    return true;
  }

  const FunctionCode& code_;
  const clang::VarDecl* left_;
  const clang::VarDecl* right_;
  const std::string& sum_;
  Edits edits_;
};

}  // namespace

std::vector<Summand> SummandsOf(const clang::Expr* expression) {
  std::vector<Summand> summands;
  AddSummands(expression, false, &summands);
  return summands;
}

std::optional<Edits> SumsReplaced(const FunctionCode& code, const clang::Stmt* stmt,
                                  const clang::VarDecl* left, const clang::VarDecl* right,
                                  const std::string& sum) {
  SumReplacer replacer(code, left, right, sum);
  if (!replacer.Visit(stmt) || replacer.edits().empty()) return std::nullopt;
  return replacer.edits();
}

bool IsSummand(const FunctionCode& code, const clang::Expr* expression,
               const clang::VarDecl* variable) {
  for (const clang::Stmt* each : Below(expression)) {
    const auto* name = dyn_cast<clang::DeclRefExpr>(each);
    if (name == nullptr || name->getDecl() != variable) continue;
    for (const clang::Stmt* at = each; at != expression;) {
      const clang::Stmt* part = std::exchange(at, code.Parent(at));
      const auto* binary = dyn_cast<clang::BinaryOperator>(at);
      const bool taken_away =
          binary != nullptr && binary->getOpcode() == clang::BO_Sub && binary->getRHS() == part;
      if (taken_away ||
          (binary != nullptr ? !binary->isAdditiveOp()
                             : !clang::isa<clang::ImplicitCastExpr, clang::ParenExpr>(at)))
        return false;
    }
  }
  return Mentions(expression, variable) > 0;
}

}  // namespace whetstone
