// Sums over ranges, as differences of two sums from the beginning (prefix sums).
#include <algorithm>

#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/math_calls.h"
#include "cpu_bench_worker/rewrite/analysis/takings.h"
#include "cpu_bench_worker/rewrite/analysis/turn_tables.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

// Whether what the loop adds up depends on nothing that changes in the loop around it, which only
// says where it begins and ends.
bool AddsTheSame(const FunctionCode& code, const Loop& outer, const Loop& loop,
                 const std::vector<Taking>& takings) {
  Variables used = Used(loop.stmt->getBody());
  for (const clang::VarDecl* own : Declared(loop.stmt)) used.erase(own);
  for (const Taking& each : takings) used.erase(each.accumulator);
  return !Share(used, Varying(outer.stmt)) && CallsAreQuiet(code, loop.stmt->getBody());
}

// Whether the loop's bounds differ from turn to turn of the one around it, by its counter alone.
bool BoundsVary(const BeforeLoop& before, const Loop& outer, const Loop& loop) {
  const std::optional<Variables> first = before.Needs(loop.first);
  const std::optional<Variables> last = before.Needs(loop.last);
  if (!first || !last) return false;
  Variables needed = *first;
  needed.insert(last->begin(), last->end());
  return needed.size() == 1 && *needed.begin() == outer.var;
}

// What holds sums of the accumulator's values, and does not run over where those do not.
std::string SumType(const FunctionCode& code, const clang::VarDecl* accumulator) {
  const clang::QualType type = accumulator->getType();
  if (!FloatingType(type).empty()) return "double";
  return type->isUnsignedIntegerType() && code.context().getTypeSize(type) == 64 ? "unsigned long"
                                                                                 : "long";
}

void AddPrefixSums(const FunctionCode& code, const Loop& outer, const Loop& loop,
                   const std::vector<Taking>& takings, Rewrites* rewrites) {
  const BeforeLoop before(code, outer.stmt);
  const std::string type = code.Type(loop.var);
  const std::string counter = loop.var->getNameAsString();
  const std::string from = code.Fresh({"from", "first_from"});
  const std::string to = code.Fresh({"to", "last_to"});
  const std::string begin = code.Fresh({"begin", "range_begin"});
  const std::string end = code.Fresh({"end", "range_end"});
  const std::string more = loop.inclusive ? " + 1" : "";
  const std::string ranges = "const " + type + " " + begin + " = " + before.Text(loop.first, {}) +
                             ";\nconst " + type + " " + end + " = " +
                             before.Operand(loop.last, {}) + more + ";\n";
  std::string made =
      type + " " + from + " = 0;\n" + type + " " + to + " = 0;\n" + code.Head(outer) + " {\n" +
      ranges + "if (" + begin + " >= " + end + ") continue;\nif (" + from + " == " + to + ") {\n" +
      from + " = " + begin + ";\n" + to + " = " + end + ";\n}\nif (" + begin + " < " + from + ") " +
      from + " = " + begin + ";\nif (" + end + " > " + to + ") " + to + " = " + end + ";\n}\n";
  std::string summed;
  std::string carried;
  std::string deleted;
  std::map<const clang::VarDecl*, std::string> tables;
  Edits edits;
  for (const Taking& taking : takings) {
    std::string& table = tables[taking.accumulator];
    const std::string name = taking.accumulator->getNameAsString();
    if (table.empty()) {
      table = code.Fresh({name + "_to", "sums_of_" + name});
      const std::string of = SumType(code, taking.accumulator);
      made += of + "* const " + table + " = new " + of + "[" + to + " - " + from + " + 1];\n" +
              table + "[0] = 0;\n";
      carried += table + "[" + counter + " - " + from + " + 1] = " + table + "[" + counter + " - " +
                 from + "];\n";
      summed += name + " += " + table + "[" + end + " - " + from + "] - " + table + "[" + begin +
                " - " + from + "];\n";
      deleted += "\ndelete[] " + table + ";";
    }
    TakeInto(code, taking, table + "[" + counter + " - " + from + " + 1]", &edits);
  }
  made += "for (" + type + " " + counter + " = " + from + "; " + counter + " < " + to + "; " +
          counter + "++) {\n" + carried + code.Text(loop.body, edits) + "}\n";
  const std::string difference =
      "{\n" + ranges + "if (" + begin + " < " + end + ") {\n" + summed + "}\n}";
  rewrites->push_back(
      {"sums from the beginning",
       code.Source({code.Instead(
           outer.stmt,
           made + code.Text(outer.stmt, {code.Instead(loop.stmt, difference)}) + deleted)})});
}

}  // namespace

void SubtractSums(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const Loop* outer = code.LoopAround(loop.stmt);
    const clang::Stmt* body = loop.stmt->getBody();
    // In a turn without the loop its bounds may mean nothing.
    if (outer == nullptr || LeavesFunction(outer->stmt) || HasOwn<clang::BreakStmt>(body) ||
        MaySkip(code, {outer}, loop.stmt) ||
        !BoundsVary(BeforeLoop(code, outer->stmt), *outer, loop))
      continue;
    const std::vector<Taking> takings = TakingsOf(code, body);
    const bool sums = !takings.empty() &&
                      std::all_of(takings.begin(), takings.end(),
                                  [](const Taking& each) { return each.kind == TakingKind::kSum; });
    if (sums && AddsTheSame(code, *outer, loop, takings))
      AddPrefixSums(code, *outer, loop, takings, rewrites);
  }
}

}  // namespace whetstone
