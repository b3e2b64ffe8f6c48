#include <algorithm>

#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

// The assignments that a branch is; nothing if it does anything else.
std::optional<std::vector<Assignment>> AssignmentsOf(const FunctionCode& code,
                                                     const clang::Stmt* branch) {
  std::vector<Assignment> found;
  for (const clang::Stmt* stmt : StatementsOf(branch)) {
    const std::optional<Assignment> assignment = AsAssignment(stmt);
    // Its place is written more than once.
    if (!assignment || !CallsAreQuiet(code, assignment->target) ||
        !Changed(assignment->target).empty() ||
        (assignment->kind != clang::BO_Assign && *OperatorOf(assignment->kind) == '\0'))
      return std::nullopt;
    found.push_back(*assignment);
  }
  return found;
}

// "x = c ? e : x;" for each assignment of an if, which is the `number`th from 0; or nothing.
std::string Selected(const FunctionCode& code, const clang::IfStmt* guard, size_t number) {
  const std::optional<std::vector<Assignment>> then = AssignmentsOf(code, guard->getThen());
  const std::optional<std::vector<Assignment>> other = AssignmentsOf(code, guard->getElse());
  if (!then || then->empty() || !other ||
      guard->getCond()->IgnoreParenImpCasts()->getType()->isRecordType())
    return "";
  const auto target = [&](const Assignment& each) { return code.Text(each.target); };
  const auto value = [&](const Assignment& each) {
    const std::string by = each.value == nullptr ? "1" : code.Operand(each.value);
    return each.kind == clang::BO_Assign ? by
                                         : target(each) + " " + OperatorOf(each.kind) + " " + by;
  };
  const bool one_target =
      then->size() == 1 && other->size() == 1 && target(then->front()) == target(other->front());
  const bool once = one_target || then->size() + other->size() == 1;
  const std::string suffix = number == 0 ? "" : std::to_string(number + 1);
  const std::string condition =
      once ? code.Text(guard->getCond()) : code.Fresh({"take" + suffix, "chosen" + suffix});
  if (one_target)
    return target(then->front()) + " = " + condition + " ? " + value(then->front()) + " : " +
           value(other->front()) + ";";
  std::string text =
      once ? "" : "const bool " + condition + " = " + code.Text(guard->getCond()) + ";\n";
  for (const Assignment& each : *then)
    text += target(each) + " = " + condition + " ? " + value(each) + " : " + target(each) + ";\n";
  for (const Assignment& each : *other)
    text += target(each) + " = " + condition + " ? " + target(each) + " : " + value(each) + ";\n";
  text.pop_back();
  return text;
}

// The variable whose lowest bit `expression` is: v & 1.
const clang::VarDecl* LowBitOf(const FunctionCode& code, const clang::Expr* expression,
                               const clang::VarDecl* shifted_by) {
  const auto* bits = dyn_cast<clang::BinaryOperator>(expression->IgnoreParenCasts());
  if (bits == nullptr || bits->getOpcode() != clang::BO_And || code.Constant(bits->getRHS()) != 1)
    return nullptr;
  if (shifted_by == nullptr) return NamedVariable(bits->getLHS()->IgnoreParenCasts());
  const auto* shift = dyn_cast<clang::BinaryOperator>(bits->getLHS()->IgnoreParenCasts());
  if (shift == nullptr || shift->getOpcode() != clang::BO_Shr ||
      NamedVariable(shift->getRHS()) != shifted_by)
    return nullptr;
  return NamedVariable(shift->getLHS());
}

// "count" where `stmt` adds the lowest bit of `word` (or that at `place`) to it.
std::string CountedInto(const FunctionCode& code, const clang::Stmt* stmt,
                        const clang::VarDecl* place, const clang::VarDecl** word) {
  std::optional<Assignment> assignment = AsAssignment(stmt);
  const clang::Expr* bit = assignment ? assignment->value : nullptr;
  if (const auto* guard = AsGuard(stmt)) {
    const std::vector<const clang::Stmt*> then = StatementsOf(guard->getThen());
    if (then.size() != 1) return "";
    assignment = AsAssignment(then[0]);
    if (!assignment || assignment->value != nullptr) return "";
    bit = guard->getCond();
    if (const auto* test = dyn_cast<clang::BinaryOperator>(bit->IgnoreParenImpCasts());
        test != nullptr && test->isEqualityOp())
      bit = test->getLHS();
  }
  if (!assignment || assignment->kind != clang::BO_AddAssign || bit == nullptr ||
      NamedVariable(assignment->target) == nullptr)
    return "";
  *word = LowBitOf(code, bit, place);
  return *word == nullptr ? "" : code.Text(assignment->target);
}

std::string BitsOf(const FunctionCode& code, const clang::VarDecl* word) {
  const bool wide = code.context().getTypeSize(word->getType()) > 32;
  return std::string(wide ? "__builtin_popcountll(" : "__builtin_popcount(") +
         word->getNameAsString() + ")";
}

std::string Inverted(const FunctionCode& code, const clang::Expr* condition) {
  const auto* test = dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
  if (test == nullptr || !test->isComparisonOp()) return "!(" + code.Text(condition) + ")";
  const clang::BinaryOperatorKind kind =
      clang::BinaryOperator::negateComparisonOp(test->getOpcode());
  return code.Text(test->getLHS()) + " " + clang::BinaryOperator::getOpcodeStr(kind).str() + " " +
         code.Text(test->getRHS());
}

}  // namespace

void SelectWithoutBranch(const FunctionCode& code, Rewrites* rewrites) {
  Edits all;
  for (const clang::Stmt* stmt : Below(code.body())) {
    const auto* guard = AsPlainIf(stmt);
    if (guard == nullptr) continue;
    const std::string text = Selected(code, guard, all.size());
    if (text.empty()) continue;
    all.push_back(code.WithOwn(guard, text));
    rewrites->push_back({"no branch", code.Source({all.back()})});
  }
  if (all.size() > 1) rewrites->push_back({"no branches", code.Source(all)});
}

void GoToTheValue(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const auto* guard = GuardOf(loop);
    if (guard == nullptr) continue;
    Variables inside = Changed(loop.stmt);
    inside.insert(loop.var);
    for (const clang::Expr* condition : Conjuncts(guard->getCond())) {
      const auto* test = dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
      if (test == nullptr || test->getOpcode() != clang::BO_EQ) continue;
      const bool left = NamedVariable(test->getLHS()) == loop.var;
      const clang::Expr* value = left ? test->getRHS() : test->getLHS();
      if ((!left && NamedVariable(test->getRHS()) != loop.var) || Share(Used(value), inside))
        continue;
      const std::string name = loop.var->getNameAsString();
      std::string in_range = name + " >= " + code.Operand(loop.first) + " && " + name +
                             (loop.inclusive ? " <= " : " < ") + code.Operand(loop.last);
      for (const clang::Expr* other : Conjuncts(guard->getCond()))
        if (other != condition) in_range += " && " + code.Text(other);
      rewrites->push_back(
          {"straight to the value",
           code.Source({code.Instead(
               loop.stmt, "{\nconst " + code.Type(loop.var) + " " + name + " = " +
                              code.Text(value) + ";\nif (" + in_range + ") {\n" +
                              code.Text(StatementsOf(guard->getThen()), {}) + "}\n}")})});
    }
  }
}

void EndEarly(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const auto* guard = GuardOf(loop);
    if (guard == nullptr) continue;
    rewrites->push_back(
        {"ended early", code.Source({code.Instead(
                            guard, "if (" + Inverted(code, guard->getCond()) + ") {\nbreak;\n}\n" +
                                       code.Text(StatementsOf(guard->getThen()), {}))})});
  }
}

void GoOnWhereItEnded(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& outer : code.loops()) {
    const Loop* inner = code.OnlyLoopIn(outer);
    const auto* guard = inner == nullptr ? nullptr : GuardOf(*inner);
    if (guard == nullptr) continue;
    const std::vector<const clang::Stmt*> then = StatementsOf(guard->getThen());
    const std::optional<Assignment> counted =
        then.size() == 1 ? AsAssignment(then[0]) : std::nullopt;
    if (!counted || counted->value != nullptr || counted->kind != clang::BO_AddAssign ||
        Share(Used(guard->getCond()), Changed(guard->getThen())))
      continue;
    const std::string place = code.Fresh({"end", "reach", "ahead"});
    const std::string type = code.Type(inner->var);
    Edits edits;
    code.Replace(guard->getCond(), inner->var, place, &edits);
    const std::string first = code.Operand(inner->first);
    rewrites->push_back(
        {"two pointers",
         code.Source({code.Instead(
             outer.stmt, type + " " + place + " = 0;\n" + code.Head(outer) + " {\nif (" + place +
                             " < " + code.Text(inner->first) + ") {\n" + place + " = " +
                             code.Text(inner->first) + ";\n}\nwhile (" + place + " < " +
                             code.Bound(*inner) + " && " + code.Text(guard->getCond(), edits) +
                             ") {\n" + place + "++;\n}\n" + code.Text(counted->target) +
                             " += " + place + " - " + first + ";\n}")})});
  }
}

void TabulateBytes(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const clang::Stmt* body = loop.stmt->getBody();
    if (loop.body.empty() || Has<clang::ReturnStmt, clang::GotoStmt>(body)) continue;
    const std::optional<Assignment> result = AsAssignment(loop.body.back());
    if (!result || result->kind != clang::BO_Assign ||
        !isa<clang::ArraySubscriptExpr>(result->target) || Mentions(result->target, loop.var) == 0)
      continue;
    // Everything else that the turn needs of its counter is one byte.
    std::string byte;
    bool fits = true;
    int of_counter = 0;
    for (const clang::Stmt* each : Below(body)) {
      const auto* element = dyn_cast<clang::ArraySubscriptExpr>(each);
      if (element == nullptr || element == result->target || Mentions(element, loop.var) == 0)
        continue;
      const bool is_byte = element->getType()->isIntegerType() &&
                           code.context().getTypeSize(element->getType()) == 8 &&
                           element->getType()->isUnsignedIntegerType();
      fits = fits && is_byte && (byte.empty() || byte == code.Text(element));
      byte = code.Text(element);
      of_counter += Mentions(element, loop.var);
    }
    const Variables changed = ChangedOutside(body);
    if (!fits || byte.empty() || !changed.empty() ||
        Mentions(body, loop.var) != of_counter + Mentions(result->target, loop.var))
      continue;
    const std::string table = code.Fresh({"table", "lookup", "of_byte"});
    const std::string value = code.Fresh({"v", "byte", "of"});
    Edits edits = {code.Instead(result->target, table + "[" + value + "]")};
    for (const clang::Stmt* each : Below(body))
      if (isa<clang::ArraySubscriptExpr>(each) && code.Text(each) == byte)
        edits.push_back(code.Instead(each, value));
    const std::string type = code.Type(result->target);
    rewrites->push_back(
        {"a table of bytes",
         code.Source({code.Instead(
             loop.stmt, type + " " + table + "[256];\nfor (int " + value + " = 0; " + value +
                            " < 256; " + value + "++) {\n" + code.Text(loop.body, edits) + "}\n" +
                            code.Head(loop) + " {\n" + code.Text(result->target) + " = " + table +
                            "[" + byte + "];\n}")})});
  }
}

void CountBits(const FunctionCode& code, Rewrites* rewrites) {
  for (const clang::Stmt* stmt : Below(code.body())) {
    const clang::VarDecl* word = nullptr;
    std::string count;
    if (const Loop* loop = code.LoopOf(stmt); loop != nullptr && loop->body.size() == 1) {
      count = CountedInto(code, loop->body[0], loop->var, &word);
    } else if (const auto* loop = dyn_cast<clang::WhileStmt>(stmt)) {
      const std::vector<const clang::Stmt*> body = StatementsOf(loop->getBody());
      for (const clang::Stmt* each : body) {
        if (body.size() != 2) break;
        const clang::VarDecl* bit_of = nullptr;
        const std::string into = CountedInto(code, each, nullptr, &bit_of);
        const std::optional<Assignment> assignment = AsAssignment(each);
        if (!into.empty()) {
          count = into;
          word = bit_of;
        } else if (assignment && assignment->value == nullptr) {
          // count++ beside v &= v - 1, which takes one bit away.
          const std::optional<Assignment> other = AsAssignment(each == body[0] ? body[1] : body[0]);
          if (!other || other->kind != clang::BO_AndAssign) continue;
          count = code.Text(assignment->target);
          word = NamedVariable(other->target);
        }
      }
      if (word != nullptr &&
          (Used(loop->getCond()).count(word) == 0 || Changed(loop->getBody()).count(word) == 0))
        word = nullptr;
    }
    if (word == nullptr || count.empty()) continue;
    rewrites->push_back(
        {"bits counted at once",
         code.Source({code.Instead(stmt, count + " += " + BitsOf(code, word) + ";")})});
  }
}

void CountInOneStep(const FunctionCode& code, Rewrites* rewrites) {
  for (const clang::Stmt* stmt : Below(code.body())) {
    const auto* loop = dyn_cast<clang::WhileStmt>(stmt);
    const std::vector<const clang::Stmt*> body =
        loop == nullptr ? std::vector<const clang::Stmt*>{} : StatementsOf(loop->getBody());
    const std::optional<Assignment> counted =
        body.size() == 1 ? AsAssignment(body[0]) : std::nullopt;
    if (!counted || counted->value != nullptr || counted->kind != clang::BO_AddAssign) continue;
    const clang::VarDecl* counter = NamedVariable(counted->target);
    std::string limit;
    std::string reached;
    for (const clang::Expr* condition : Conjuncts(loop->getCond())) {
      if (counter == nullptr) break;
      if (const std::optional<CounterComparison> compared = ComparedCounter(condition, counter)) {
        if (compared->upper)
          limit = code.Operand(compared->limit) + (compared->equal ? " + 1" : "");
        continue;
      }
      // value >= counter + offset, written either way round.
      const auto* test = dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
      if (test == nullptr || !test->isRelationalOp()) continue;
      const bool greater = test->getOpcode() == clang::BO_GE || test->getOpcode() == clang::BO_GT;
      const clang::Expr* value = greater ? test->getLHS() : test->getRHS();
      const auto* sum = dyn_cast<clang::BinaryOperator>(
          (greater ? test->getRHS() : test->getLHS())->IgnoreParenImpCasts());
      if (sum == nullptr || sum->getOpcode() != clang::BO_Add ||
          NamedVariable(sum->getLHS()) != counter || Used(value).count(counter) > 0)
        continue;
      const std::string offset = code.Text(sum->getRHS());
      reached = "(" + code.Type(counter) + ")" + code.Operand(value) +
                (offset == "1" ? "" : " + 1 - " + offset);
    }
    if (limit.empty() || reached.empty()) continue;
    const std::string name = counter->getNameAsString();
    rewrites->push_back(
        {"counted in one step",
         code.Source({code.Instead(stmt, name + " = " + reached + ";\nif (" + name + " > " + limit +
                                             ") {\n" + name + " = " + limit + ";\n}")})});
  }
}

}  // namespace whetstone
