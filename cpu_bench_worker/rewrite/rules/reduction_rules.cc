#include <algorithm>

#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/takings.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

// The statements of an innermost loop that take values into accumulators, if it changes nothing
// else.
std::vector<Taking> TakingsOfInnermost(const FunctionCode& code, const Loop& loop) {
  const clang::Stmt* body = loop.stmt->getBody();
  if (Has<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::BreakStmt>(body)) return {};
  return TakingsOf(code, body);
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
      if (JoinedBy(taking.kind) == nullptr) filled += here + " = " + accumulator + ";\n";
      joined += Joined(taking.kind, here, accumulator) + "\n";
    }
    TakeInto(code, taking, part + "[" + lane + "]", &edits);
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
    const std::vector<Taking> takings = TakingsOfInnermost(code, loop);
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
