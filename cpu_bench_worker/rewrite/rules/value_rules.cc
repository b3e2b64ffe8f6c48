#include <set>

#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/math_calls.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr int64_t kPowerMax = 8;

bool HasEffects(const clang::Stmt* stmt) {
  return Has<clang::CallExpr>(stmt) || !Changed(stmt).empty();
}

// The innermost loop around an expression, if no variable of `value` changes in it: every turn
// computes the same. Null: it is in none, or not so.
const Loop* LoopThatKeeps(const FunctionCode& code, const clang::Stmt* stmt,
                          const clang::Expr* value) {
  const clang::Stmt* around = code.Parent(stmt);
  while (around != nullptr && code.LoopOf(around) == nullptr) around = code.Parent(around);
  const Loop* loop = around == nullptr ? nullptr : code.LoopOf(around);
  if (loop == nullptr || code.Begin(stmt) < code.Begin(loop->stmt->getBody())) return nullptr;
  const Variables inside = ChangedOrDeclared(loop->stmt);
  return Share(Used(value), inside) ? nullptr : loop;
}

// "(x * x * x)" for the third power; empty where there is no such product.
std::string Power(const FunctionCode& code, const clang::CallExpr* call) {
  const std::string name = call->getDirectCallee()->getNameAsString();
  if ((name != "pow" && name != "powf") || call->getNumArgs() != 2) return "";
  const clang::Expr* base = call->getArg(0)->IgnoreImpCasts();
  clang::Expr::EvalResult exponent;
  if (HasEffects(base) || call->getArg(1)->isValueDependent() ||
      !call->getArg(1)->EvaluateAsRValue(exponent, code.context()))
    return "";
  const double value = exponent.Val.isFloat() ? exponent.Val.getFloat().convertToDouble()
                       : exponent.Val.isInt()
                           ? static_cast<double>(exponent.Val.getInt().getExtValue())
                           : 0;
  const std::string type = FloatingType(call->getType());
  // A whole number would be multiplied as one.
  const std::string once = FloatingType(base->getType()) == type ? "" : "(" + type + ")";
  const std::string operand = once + code.Operand(base);
  if (value == 0.5) return std::string(type == "float" ? "sqrtf(" : "sqrt(") + operand + ")";
  if (value < 2 || value > kPowerMax || value != static_cast<int>(value)) return "";
  std::string product = operand;
  for (int factor = 1; factor < value; ++factor) product += " * " + operand;
  return "(" + product + ")";
}

// value % divisor between integers, where the divisor is known only when the program runs.
struct Remainder {
  const clang::Expr* value = nullptr;
  const clang::Expr* divisor = nullptr;
};

std::optional<Remainder> AsRemainder(const FunctionCode& code, const clang::Stmt* stmt) {
  const auto* binary = dyn_cast<clang::BinaryOperator>(stmt);
  if (binary == nullptr || binary->getOpcode() != clang::BO_Rem || HasEffects(binary) ||
      code.Constant(binary->getRHS()).has_value())
    return std::nullopt;
  return Remainder{binary->getLHS(), binary->getRHS()};
}

bool HasRemainder(const FunctionCode& code, const clang::Expr* value) {
  for (const clang::Stmt* each : Below(value))
    if (AsRemainder(code, each)) return true;
  return false;
}

// The value between 0 and the divisor, for one that is below 2 (or 3) times the divisor.
std::string Reduced(const FunctionCode& code, const Remainder& remainder, bool twice) {
  const std::string value = code.Operand(remainder.value);
  const std::string divisor = code.Operand(remainder.divisor);
  const std::string once =
      value + " >= " + divisor + " ? " + value + " - " + divisor + " : " + value;
  if (!twice) return "(" + once + ")";
  return "(" + value + " >= 2 * " + divisor + " ? " + value + " - 2 * " + divisor + " : " + once +
         ")";
}

// Whether an expression is a sum or difference, as of neighbours in a circle.
bool IsSum(const clang::Expr* value) {
  const auto* binary = dyn_cast<clang::BinaryOperator>(value->IgnoreParenImpCasts());
  return binary != nullptr && binary->isAdditiveOp();
}

// What is added up in a sum or difference.
std::vector<const clang::Expr*> Terms(const clang::Expr* value) {
  const auto* binary = dyn_cast<clang::BinaryOperator>(value->IgnoreParenImpCasts());
  if (binary == nullptr || !binary->isAdditiveOp()) return {value};
  std::vector<const clang::Expr*> terms = Terms(binary->getLHS());
  if (binary->getOpcode() == clang::BO_Add)
    for (const clang::Expr* term : Terms(binary->getRHS())) terms.push_back(term);
  return terms;
}

// The edit that takes a term out of its sum.
Edit WithoutTerm(const FunctionCode& code, const clang::Expr* term) {
  const clang::Stmt* around = code.Parent(term);
  while (around != nullptr && isa<clang::ImplicitCastExpr>(around)) around = code.Parent(around);
  const auto* sum = around == nullptr ? nullptr : dyn_cast<clang::BinaryOperator>(around);
  if (sum == nullptr || sum->getRHS()->IgnoreParenImpCasts() != term->IgnoreParenImpCasts())
    return code.Instead(term, "0");
  return {code.End(sum->getLHS()), code.End(sum->getRHS()), ""};
}

// What is multiplied by the counter in `value`; null if it is anything else.
const clang::Expr* FactorOf(const clang::Expr* value, const clang::VarDecl* counter) {
  const auto* product = dyn_cast<clang::BinaryOperator>(value->IgnoreParenImpCasts());
  if (product == nullptr || product->getOpcode() != clang::BO_Mul) return nullptr;
  if (NamedVariable(product->getLHS()) == counter) return product->getRHS();
  return NamedVariable(product->getRHS()) == counter ? product->getLHS() : nullptr;
}

// A division by `divisor` between numbers with fractions: x / d, or x /= d as a statement of its
// own or not; null if it is anything else.
const clang::BinaryOperator* AsDivision(const clang::Stmt* stmt) {
  const auto* binary = dyn_cast<clang::BinaryOperator>(stmt);
  const bool divides = binary != nullptr && (binary->getOpcode() == clang::BO_Div ||
                                             binary->getOpcode() == clang::BO_DivAssign);
  // No edit reaches into a macro.
  const bool plain = divides && !binary->getOperatorLoc().isMacroID();
  return plain && !FloatingType(binary->getType()).empty() ? binary : nullptr;
}

// A variable that a loop's turn hands to the next one: what it is set to by the last statement.
struct HandedOn {
  const clang::VarDecl* variable = nullptr;
  const clang::Expr* value = nullptr;  // of this turn, made of the counter and what does not change
  std::string type;                    // that it had in between
};

std::optional<HandedOn> HandedOnBy(const FunctionCode& code, const Loop& loop) {
  if (loop.body.size() < 2 ||
      Has<clang::ContinueStmt, clang::BreakStmt, clang::ReturnStmt>(loop.stmt->getBody()))
    return std::nullopt;
  const std::optional<Assignment> last = AsAssignment(loop.body.back());
  if (!last || last->kind != clang::BO_Assign) return std::nullopt;
  const clang::VarDecl* variable = NamedVariable(last->target);
  const Variables own = Declared(loop.stmt);
  // Behind the loop nobody asks for it.
  if (variable == nullptr || own.count(variable) > 0 || !variable->getType()->isArithmeticType() ||
      Mentions(code.body(), variable) != Mentions(loop.stmt, variable))
    return std::nullopt;
  for (size_t i = 0; i + 1 < loop.body.size(); ++i)
    if (Changed(loop.body[i]).count(variable) > 0) return std::nullopt;
  HandedOn handed{variable, last->value, ""};
  if (const clang::VarDecl* named = NamedVariable(last->value);
      named != nullptr && own.count(named) > 0) {
    if (named->getInit() == nullptr || Changed(loop.stmt).count(named) > 0) return std::nullopt;
    handed.value = named->getInit();
    handed.type = code.Type(named);
  }
  const Variables changed = ChangedOrDeclared(loop.stmt->getBody());
  if (Mentions(handed.value, loop.var) == 0 || Share(Used(handed.value), changed))
    return std::nullopt;
  return handed;
}

}  // namespace

void RemaindersByComparison(const FunctionCode& code, Rewrites* rewrites) {
  for (const bool twice : {false, true}) {
    Edits edits;
    for (const clang::Stmt* stmt : Below(code.body())) {
      const std::optional<Remainder> remainder = AsRemainder(code, stmt);
      if (!remainder || !IsSum(remainder->value)) continue;
      const Edit edit = code.Instead(stmt, Reduced(code, *remainder, twice));
      rewrites->push_back({"a remainder by comparison", code.Source({edit})});
      // One within another stays as it is.
      if (edits.empty() || edits.back().end <= edit.begin) edits.push_back(edit);
    }
    if (edits.size() > 1) rewrites->push_back({"remainders by comparison", code.Source(edits)});
  }
}

void CutCircles(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const std::string divisor = code.Text(loop.last);
    if (loop.inclusive || code.Constant(loop.first) != 0 ||
        Has<clang::BreakStmt, clang::ReturnStmt>(loop.stmt->getBody()))
      continue;
    Edits inside;
    for (const clang::Stmt* stmt : Below(loop.stmt->getBody())) {
      const std::optional<Remainder> remainder = AsRemainder(code, stmt);
      if (!remainder || code.Text(remainder->divisor) != divisor ||
          Mentions(remainder->value, loop.var) != 1 || HasRemainder(code, remainder->value))
        continue;
      // A whole turn that is added for the remainder's sake goes, too.
      Edits without;
      bool forwards = false;
      for (const clang::Expr* term : Terms(remainder->value)) {
        forwards |= NamedVariable(term) == loop.var;
        if (code.Text(term) == divisor) without.push_back(WithoutTerm(code, term));
      }
      if (!forwards) without.clear();
      if (without.size() > 1) continue;
      const std::string value = code.Text(remainder->value, without);
      const Edit edit =
          code.Instead(stmt, isa<clang::ParenExpr>(remainder->value) ? value : "(" + value + ")");
      inside.push_back(edit);
    }
    if (inside.empty()) continue;
    const std::string name = loop.var->getNameAsString();
    const std::string type = code.Type(loop.var);
    const std::string bound = code.Bound(loop);
    const auto turns = [&](const std::string& condition, const Edits& edits) {
      return "for (; " + condition + "; " + name + "++) {\n" + code.Text(loop.body, edits) + "}\n";
    };
    rewrites->push_back(
        {"a circle cut open",
         code.Source({code.Instead(
             loop.stmt,
             code.WithCounter(loop, type + " " + name + " = 0;\n" +
                                        turns(name + " < 1 && " + name + " < " + bound, {}) +
                                        turns(name + " + 1 < " + bound, inside) +
                                        turns(name + " < " + bound, {})))})});
  }
}

void CountRemainders(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    if (Has<clang::ContinueStmt>(loop.stmt->getBody())) continue;
    const Variables inside = ChangedOrDeclared(loop.stmt);
    std::set<std::string> seen;
    for (const clang::Stmt* stmt : Below(loop.stmt->getBody())) {
      const std::optional<Remainder> remainder = AsRemainder(code, stmt);
      const clang::Expr* step = remainder ? FactorOf(remainder->value, loop.var) : nullptr;
      if (step == nullptr || Share(Used(step), inside) || Share(Used(remainder->divisor), inside) ||
          !seen.insert(code.Text(stmt)).second)
        continue;
      const std::string rest = code.Fresh({"rest", "left", "turn"});
      const std::string divisor = code.Operand(remainder->divisor);
      const std::string first =
          code.Constant(loop.first) == 0
              ? "0"
              : code.Operand(loop.first) + " * " + code.Operand(step) + " % " + divisor;
      Edits edits;
      for (const clang::Stmt* each : Below(loop.stmt->getBody()))
        if (AsRemainder(code, each) && code.Text(each) == code.Text(stmt))
          edits.push_back(code.Instead(each, rest));
      rewrites->push_back(
          {"a remainder counted along",
           code.Source({code.Instead(
               loop.stmt, code.Type(llvm::cast<clang::Expr>(stmt)) + " " + rest + " = " + first +
                              ";\n" + code.Head(loop) + " {\n" + code.Text(loop.body, edits) +
                              rest + " += " + code.Text(step) + ";\nif (" + rest +
                              " >= " + divisor + ") {\n" + rest + " -= " + divisor + ";\n}\n}")})});
    }
  }
}

void MultiplyByInverse(const FunctionCode& code, Rewrites* rewrites) {
  std::set<std::pair<const Loop*, std::string>> seen;
  for (const clang::Stmt* stmt : Below(code.body())) {
    const clang::BinaryOperator* division = AsDivision(stmt);
    const clang::Expr* divisor = division == nullptr ? nullptr : division->getRHS();
    if (divisor == nullptr || HasEffects(divisor) ||
        Has<clang::ArraySubscriptExpr, clang::MemberExpr>(divisor))
      continue;
    const Loop* loop = LoopThatKeeps(code, stmt, divisor);
    const std::string text = code.Operand(divisor);
    if (loop == nullptr || !seen.insert({loop, text}).second) continue;
    const std::string inverse = code.Fresh({"inverse", "scale", "reciprocal"});
    Edits edits;
    for (const clang::Stmt* each : Below(loop->stmt->getBody())) {
      const clang::BinaryOperator* other = AsDivision(each);
      if (other == nullptr || code.Operand(other->getRHS()) != text) continue;
      const size_t at = code.At(other->getOperatorLoc());
      const bool assigns = other->isAssignmentOp();
      edits.push_back({at, code.Begin(other->getRHS()) + code.Text(other->getRHS()).size(),
                       (assigns ? "*= " : "* ") + inverse});
    }
    const std::string type = FloatingType(division->getType());
    rewrites->push_back({"multiplied by the inverse",
                         code.Source({code.Instead(
                             loop->stmt, "const " + type + " " + inverse + " = (" + type + ")1 / " +
                                             text + ";\n" + code.Text(loop->stmt, edits))})});
  }
}

void LookBack(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const std::optional<HandedOn> handed = HandedOnBy(code, loop);
    if (!handed) continue;
    const std::string name = loop.var->getNameAsString();
    Edits back;
    code.Replace(handed->value, loop.var, name + " - 1", &back);
    std::string value = code.Text(handed->value, back);
    const std::string own = code.Type(handed->variable);
    if (!handed->type.empty() && handed->type != own)
      value = "(" + handed->type + ")(" + value + ")";
    const std::vector<const clang::Stmt*> others(loop.body.begin(), loop.body.end() - 1);
    const std::string bound = code.Bound(loop);
    // The first turn has nothing behind it.
    rewrites->push_back(
        {"looked back",
         code.Source({code.Instead(
             loop.stmt,
             code.WithCounter(loop, code.Type(loop.var) + " " + name + " = " +
                                        code.Text(loop.first) + ";\nif (" + name + " < " + bound +
                                        ") {\n" + code.Text(others, {}) + name + "++;\n}\nfor (; " +
                                        name + " < " + bound + "; " + name + "++) {\n" + own + " " +
                                        handed->variable->getNameAsString() + " = " + value +
                                        ";\n" + code.Text(others, {}) + "}"))})});
  }
}

void HoistCalls(const FunctionCode& code, Rewrites* rewrites) {
  for (const clang::Stmt* stmt : Below(code.body())) {
    const clang::CallExpr* call = AsMathCall(code, stmt);
    if (call == nullptr || Used(call).empty()) continue;
    const Loop* loop = LoopThatKeeps(code, call, call);
    if (loop == nullptr) continue;
    const std::string value = code.Fresh({"value", "called", "before"});
    const Edits edits = {code.Instead(call, value)};
    rewrites->push_back(
        {"called once",
         code.Source({code.Instead(loop->stmt, "const " + FloatingType(call->getType()) + " " +
                                                   value + " = " + code.Text(call) + ";\n" +
                                                   code.Text(loop->stmt, edits))})});
  }
}

void MultiplyPowers(const FunctionCode& code, Rewrites* rewrites) {
  Edits edits;
  for (const clang::Stmt* stmt : Below(code.body())) {
    const clang::CallExpr* call = AsMathCall(code, stmt);
    const std::string power = call == nullptr ? "" : Power(code, call);
    if (!power.empty()) edits.push_back(code.Instead(call, power));
  }
  if (!edits.empty()) rewrites->push_back({"powers as products", code.Source(edits)});
}

void EndComputedOnce(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    if (!Has<clang::CallExpr>(loop.last) || Mentions(loop.last, loop.var) > 0) continue;
    const std::string end = code.Fresh({"end", "stop", "last"});
    const Edits edits = {code.Instead(loop.last, end)};
    rewrites->push_back(
        {"an end computed once",
         code.Source({code.Instead(loop.stmt, "const auto " + end + " = " + code.Text(loop.last) +
                                                  ";\n" + code.Text(loop.stmt, edits))})});
  }
}

}  // namespace whetstone
