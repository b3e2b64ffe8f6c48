#include <algorithm>

#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

enum class Kind { kSum, kXor, kOr, kLeast, kLargest };

// One statement that takes another value into an accumulator.
struct Taking {
  const clang::Stmt* stmt = nullptr;
  const clang::VarDecl* accumulator = nullptr;
  Kind kind = Kind::kSum;
  const clang::Expr* value = nullptr;  // of a minimum or maximum
  int mentions = 0;                    // of the accumulator
};

// value < accumulator or the like: what is compared, and whether the smaller one is wanted.
std::optional<Taking> AsComparison(const clang::Expr* condition,
                                   const clang::VarDecl* accumulator) {
  const std::optional<CounterComparison> compared = ComparedCounter(condition, accumulator);
  if (!compared) return std::nullopt;
  return Taking{.stmt = nullptr,
                .accumulator = accumulator,
                .kind = compared->upper ? Kind::kLargest : Kind::kLeast,
                .value = compared->limit,
                .mentions = 0};
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
  const int mentions = Mentions(stmt, accumulator);
  Taking taking{stmt, accumulator, Kind::kSum, nullptr, mentions};
  const clang::Expr* value =
      assignment->value == nullptr ? nullptr : assignment->value->IgnoreParenImpCasts();
  if (condition != nullptr) {
    const std::optional<Taking> compared = AsComparison(condition, accumulator);
    if (!compared || mentions != 2 || code.Text(compared->value) != code.Text(value))
      return std::nullopt;
    taking.kind = compared->kind;
    taking.value = compared->value;
    return taking;
  }
  if (assignment->kind != clang::BO_Assign) {
    if (assignment->kind == clang::BO_XorAssign) taking.kind = Kind::kXor;
    if (assignment->kind == clang::BO_OrAssign) taking.kind = Kind::kOr;
    const bool known = taking.kind != Kind::kSum || assignment->kind == clang::BO_AddAssign ||
                       assignment->kind == clang::BO_SubAssign;
    return known && mentions == 1 ? std::optional(taking) : std::nullopt;
  }
  if (const auto* choice = dyn_cast<clang::ConditionalOperator>(value)) {
    const std::optional<Taking> compared = AsComparison(choice->getCond(), accumulator);
    const bool first = compared && code.Text(choice->getTrueExpr()) == code.Text(compared->value);
    if (!first || mentions != 3 || NamedVariable(choice->getFalseExpr()) != accumulator)
      return std::nullopt;
    taking.kind = compared->kind;
    taking.value = compared->value;
    return taking;
  }
  const auto* sum = dyn_cast<clang::BinaryOperator>(value);
  const bool plain =
      sum != nullptr && sum->getOpcode() == clang::BO_Add && mentions == 2 &&
      (NamedVariable(sum->getLHS()) == accumulator || NamedVariable(sum->getRHS()) == accumulator);
  return plain ? std::optional(taking) : std::nullopt;
}

// The statements of a loop that take values into accumulators, if it changes nothing else.
std::vector<Taking> TakingsOf(const FunctionCode& code, const Loop& loop) {
  const clang::Stmt* body = loop.stmt->getBody();
  if (Has<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::ReturnStmt, clang::BreakStmt,
          clang::GotoStmt>(body))
    return {};
  std::vector<Taking> takings;
  for (const clang::Stmt* stmt : Below(body)) {
    if (const std::optional<Assignment> assignment = AsAssignment(stmt);
        assignment && NamedVariable(assignment->target) == nullptr)
      return {};
    if (std::optional<Taking> taking = AsTaking(code, stmt)) {
      const bool part_of_other =
          std::any_of(takings.begin(), takings.end(), [&](const Taking& other) {
            return code.Begin(other.stmt) <= code.Begin(stmt) &&
                   code.End(other.stmt) >= code.End(stmt);
          });
      if (!part_of_other) takings.push_back(*taking);
    }
  }
  const Variables changed = ChangedOutside(body);
  std::erase_if(takings, [&](const Taking& each) { return changed.count(each.accumulator) == 0; });
  for (const clang::VarDecl* variable : changed) {
    int known = 0;
    std::set<Kind> kinds;
    for (const Taking& each : takings) {
      if (each.accumulator != variable) continue;
      known += each.mentions;
      kinds.insert(each.kind);
    }
    if (known != Mentions(body, variable) || kinds.size() != 1) return {};
  }
  return takings;
}

// How a part is joined to its accumulator; null for a minimum or maximum.
const char* JoinedBy(Kind kind) {
  return kind == Kind::kSum   ? " += "
         : kind == Kind::kXor ? " ^= "
         : kind == Kind::kOr  ? " |= "
                              : nullptr;
}

std::string Choice(Kind kind, const std::string& value, const std::string& accumulator) {
  return accumulator + " = " + value + (kind == Kind::kLeast ? " < " : " > ") + accumulator +
         " ? " + value + " : " + accumulator + ";";
}

void AddAccumulators(const FunctionCode& code, const Loop& loop, const std::vector<Taking>& takings,
                     int count, Rewrites* rewrites) {
  const std::string name = loop.var->getNameAsString();
  const std::string lane = code.Fresh({"q", "t", "lane"});
  const std::string size = std::to_string(count);
  const std::string each =
      "for (int " + lane + " = 0; " + lane + " < " + size + "; " + lane + "++)";
  Edits edits;
  code.Replace(loop.stmt->getBody(), loop.var, name + " + " + lane, &edits);
  std::string arrays;
  std::string filled;
  std::string joined;
  std::map<const clang::VarDecl*, std::string> parts;
  for (const Taking& taking : takings) {
    std::string& part = parts[taking.accumulator];
    const std::string accumulator = taking.accumulator->getNameAsString();
    if (part.empty()) {
      const std::string number = parts.size() > 1 ? std::to_string(parts.size()) : "";
      part = code.Fresh({"part" + number, "parts" + number, accumulator + "_part"});
      const std::string here = part + "[" + lane + "]";
      arrays += code.Type(taking.accumulator) + " " + part + "[" + size + "]" +
                (JoinedBy(taking.kind) != nullptr ? " = {};\n" : ";\n");
      if (const char* joined_by = JoinedBy(taking.kind)) {
        joined += accumulator + joined_by + here + ";\n";
      } else {
        filled += here + " = " + accumulator + ";\n";
        joined += Choice(taking.kind, here, accumulator) + "\n";
      }
    }
    const std::string here = part + "[" + lane + "]";
    if (JoinedBy(taking.kind) != nullptr) {
      code.Replace(taking.stmt, taking.accumulator, here, &edits);
      continue;
    }
    const std::string value = code.Text(taking.value, edits);
    // It stands in the braces of the lanes' loop, so that it needs none of its own.
    Override(&edits,
             {code.Begin(taking.stmt), code.End(taking.stmt), Choice(taking.kind, value, here)});
  }
  const std::string text =
      arrays + (filled.empty() ? "" : each + " {\n" + filled + "}\n") +
      code.InGroups(loop, count, each + " {\n" + code.Text(loop.body, edits) + "}\n") + "\n" +
      each + " {\n" + joined + "}";
  rewrites->push_back({size + " accumulators",
                       code.Source({code.Instead(loop.stmt, code.WithCounter(loop, text))})});
}

}  // namespace

void SeveralAccumulators(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const std::vector<Taking> takings = TakingsOf(code, loop);
    if (takings.empty()) continue;
    const std::optional<int64_t> turns = code.Constant(loop.last);
    for (const int count : {8, 16, 32, 64})
      if (!turns || *turns >= 2 * count) AddAccumulators(code, loop, takings, count, rewrites);
  }
}

void KeepInVariable(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const Variables inside = ChangedOrDeclared(loop.stmt);
    for (const clang::Stmt* stmt : Below(loop.stmt->getBody())) {
      const std::optional<Assignment> assignment = AsAssignment(stmt);
      if (!assignment || !isa<clang::ArraySubscriptExpr>(assignment->target) ||
          Share(Used(assignment->target), inside))
        continue;
      const std::string element = code.Text(assignment->target);
      const std::string kept = code.Fresh({"sum", "value", "kept"});
      Edits edits;
      for (const clang::Stmt* each : Below(loop.stmt->getBody()))
        if (isa<clang::ArraySubscriptExpr>(each) && code.Text(each) == element)
          edits.push_back(code.Instead(each, kept));
      if (assignment->kind == clang::BO_Assign && edits.size() < 2) continue;
      // What the element is set to just before the loop is the variable's first value.
      const std::vector<const clang::Stmt*> around = StatementsOf(code.Parent(loop.stmt));
      const auto at = std::find(around.begin(), around.end(), loop.stmt);
      std::optional<Assignment> before;
      if (at != around.begin() && at != around.end()) before = AsAssignment(*(at - 1));
      if (before && (before->kind != clang::BO_Assign || code.Text(before->target) != element))
        before.reset();
      Edits whole;
      if (before) whole.push_back(code.Instead(*(at - 1), ""));
      whole.push_back(code.Instead(loop.stmt, code.Type(assignment->target) + " " + kept + " = " +
                                                  (before ? code.Text(before->value) : element) +
                                                  ";\n" + code.Text(loop.stmt, edits) + "\n" +
                                                  element + " = " + kept + ";"));
      rewrites->push_back({"kept in a variable", code.Source(whole)});
      break;  // Others of this element would come out the same.
    }
  }
}

void CountFromCounter(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const Variables own = Declared(loop.stmt);
    for (const clang::VarDecl* variable : Changed(loop.stmt->getBody())) {
      if (own.count(variable) > 0 || !variable->getType()->isIntegerType()) continue;
      // It is counted once, by the last statement, or as it is read.
      std::vector<const clang::UnaryOperator*> counted;
      int changes = 0;
      for (const clang::Stmt* each : Below(loop.stmt->getBody())) {
        const std::optional<Assignment> assignment = AsAssignment(each);
        if (!assignment || NamedVariable(assignment->target) != variable) continue;
        ++changes;
        const auto* unary = dyn_cast<clang::UnaryOperator>(each);
        if (unary != nullptr && unary->isIncrementOp()) counted.push_back(unary);
      }
      if (changes != 1 || counted.size() != 1) continue;
      const bool last = loop.body.size() > 1 && loop.body.back() == counted[0];
      const bool read = isa<clang::Expr>(code.Parent(counted[0])) && counted[0]->isPostfix();
      if (!last && (!read || Mentions(loop.stmt->getBody(), variable) != 1)) continue;
      const clang::Stmt* around = code.Parent(counted[0]);
      while (around != nullptr && !isa<clang::ForStmt, clang::WhileStmt, clang::IfStmt>(around))
        around = code.Parent(around);
      if (around != loop.stmt) continue;
      const bool from_zero = code.Constant(loop.first) == 0;
      const std::string name = variable->getNameAsString();
      const std::string turn =
          loop.var->getNameAsString() + (from_zero ? "" : " - " + code.Operand(loop.first));
      Edits edits;
      if (last) code.Replace(loop.stmt->getBody(), variable, name + " + " + turn, &edits);
      Override(&edits, code.Instead(counted[0], last ? "" : "(" + name + " + " + turn + ")"));
      const std::string bound = code.Bound(loop);
      rewrites->push_back(
          {"counted from the counter",
           code.Source({code.Instead(
               loop.stmt, code.Text(loop.stmt, edits) + "\n" + name + " += " + bound +
                              (from_zero ? "" : " - " + code.Operand(loop.first)) + ";")})});
    }
  }
}

}  // namespace whetstone
