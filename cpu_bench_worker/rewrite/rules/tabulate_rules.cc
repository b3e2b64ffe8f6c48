#include <algorithm>
#include <set>
#include <utility>

#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/helper_functions.h"
#include "cpu_bench_worker/rewrite/analysis/math_calls.h"
#include "cpu_bench_worker/rewrite/analysis/turn_tables.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr size_t kCountersMax = 2;

// Whether a part of the expression takes long.
bool HasExpensive(const FunctionCode& code, const clang::Expr* expression) {
  const std::vector<const clang::Stmt*> parts = Below(expression);
  return std::any_of(parts.begin(), parts.end(),
                     [&](const clang::Stmt* each) { return ComputesLong(code, each); });
}

// An expression that depends on nothing but counters of loops within a loop.
struct OfCounters {
  const clang::Expr* expression = nullptr;
  Variables counters;
  std::vector<const Loop*> loops;  // theirs, outer ones first
};

std::optional<OfCounters> AsOfCounters(const FunctionCode& code, const BeforeLoop& before,
                                       const clang::Stmt* stmt) {
  const auto* expression = dyn_cast<clang::Expr>(stmt);
  if (expression == nullptr || expression != expression->IgnoreParenImpCasts() ||
      !expression->getType()->isArithmeticType() || expression->getBeginLoc().isMacroID() ||
      !HasExpensive(code, expression))
    return std::nullopt;
  const std::optional<Variables> needed = before.Needs(expression);
  if (!needed || needed->empty() || needed->size() > kCountersMax) return std::nullopt;
  OfCounters found{expression, *needed, {}};
  for (const Loop& loop : code.loops())
    if (loop.stmt != before.loop() && needed->count(loop.var) > 0) found.loops.push_back(&loop);
  return found.loops.size() == needed->size() ? std::optional(found) : std::nullopt;
}

// The edits that take all that computes the same as the expression from the table.
Edits TakenFromTable(const FunctionCode& code, const BeforeLoop& before, const OfCounters& found,
                     const std::string& entry) {
  const std::string text = before.Text(found.expression, {});
  Edits edits;
  for (const clang::Stmt* each : Below(found.loops[0]->stmt->getBody())) {
    if (each->getStmtClass() != found.expression->getStmtClass()) continue;
    const std::optional<OfCounters> other = AsOfCounters(code, before, each);
    if (other && other->counters == found.counters && before.Text(other->expression, {}) == text)
      edits.push_back(code.Instead(each, entry));
  }
  return edits;
}

// A table of such an expression.
struct Table {
  OfCounters values;
  std::vector<Axis> axes;
};

// Makes these tables before the loop.
void AddTables(const FunctionCode& code, const BeforeLoop& before, const std::vector<Table>& tables,
               Rewrites* rewrites) {
  std::string declared;
  std::string filled;
  std::string deleted;
  std::string lines;
  Edits edits;
  for (size_t i = 0; i < tables.size(); ++i) {
    const auto& [values, axes] = tables[i];
    const Entries entries = EntriesOf(axes);
    const std::string name = NameOf(code, "table", i == 0 ? "" : std::to_string(i + 1));
    const std::string entry = name + "[" + entries.index + "]";
    const std::string floating = FloatingType(values.expression->getType());
    declared += TableOf(floating.empty() ? code.Type(values.expression) : floating, name, entries);
    deleted += Deleted(name, entries);
    lines += entry + " = " + before.Text(values.expression, {}) + ";\n";
    for (const Edit& edit : TakenFromTable(code, before, values, entry)) edits.push_back(edit);
    // Tables for the turns of the same loops are filled together.
    if (i + 1 < tables.size() && tables[i + 1].values.loops == values.loops) continue;
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis)
      lines = axis->head + " {\n" + lines + "}\n";
    filled += std::exchange(lines, "");
  }
  // What is a part of something else in a table is not looked up itself.
  Edits outer;
  for (const Edit& edit : edits)
    if (std::none_of(edits.begin(), edits.end(), [&](const Edit& other) {
          return other.begin <= edit.begin && other.end >= edit.end &&
                 other.end - other.begin > edit.end - edit.begin;
        }))
      outer.push_back(edit);
  rewrites->push_back(
      {"computed once for each",
       code.Source({code.Instead(before.loop(),
                                 declared + filled + code.Text(before.loop(), outer) + deleted)})});
}

}  // namespace

void TabulateTurns(const FunctionCode& code, Rewrites* rewrites) {
  std::set<const clang::Stmt*> done;
  for (const clang::Stmt* loop : Below(code.body())) {
    if (!IsLoop(loop)) continue;
    const BeforeLoop before(code, loop);
    std::vector<Table> tables;
    std::set<std::pair<std::vector<const Loop*>, std::string>> seen;
    for (const clang::Stmt* stmt : Below(loop)) {
      if (done.count(stmt) > 0) continue;
      const std::optional<OfCounters> values = AsOfCounters(code, before, stmt);
      const std::optional<std::vector<Axis>> axes =
          values ? AxesOf(code, before, values->loops) : std::nullopt;
      if (!axes || (!EntriesOf(*axes).known && LeavesFunction(loop)) ||
          before.MayHarm(values->expression, values->loops))
        continue;
      const std::vector<const clang::Stmt*> parts = Below(stmt);
      done.insert(parts.begin(), parts.end());
      if (seen.insert({values->loops, before.Text(values->expression, {})}).second)
        tables.push_back({*values, *axes});
    }
    // All of them come first: a program that takes long is measured a few times only.
    if (tables.size() > 1) AddTables(code, before, tables, rewrites);
    for (const Table& table : tables) AddTables(code, before, {table}, rewrites);
  }
}

}  // namespace whetstone
