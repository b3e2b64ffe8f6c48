#include <algorithm>
#include <map>
#include <string>

#include "clang/AST/ExprCXX.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/takings.h"
#include "cpu_bench_worker/rewrite/analysis/value_ranges.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

constexpr int64_t kIntMax = 2147483647;
// A part of fewer turns is not worth its own loop, and longer ones gain nothing.
constexpr int64_t kPartTurnsMin = 256;
constexpr int64_t kPartTurnsMax = 65536;
// A loop of fewer turns is not worth it at all.
constexpr int64_t kLoopTurnsMin = 16;

// What a statement adds to a sum, or takes from it.
struct Added {
  const clang::Expr* value = nullptr;  // as it is written; null: 1
  NarrowValue narrow;                  // below the conversions to the sum's type
};

// Returns none where it is no sum, or not known to be small.
std::optional<Added> AddedBy(const FunctionCode& code, const Taking& taking) {
  const clang::Stmt* stmt = taking.stmt;
  if (const auto* whole = llvm::dyn_cast<clang::ExprWithCleanups>(stmt)) stmt = whole->getSubExpr();
  const std::optional<Assignment> assignment = AsAssignment(stmt);
  if (taking.kind != TakingKind::kSum || !assignment) return std::nullopt;
  const clang::Expr* value = assignment->value;
  if (value == nullptr) return Added{nullptr, {nullptr, {1, 1}}};
  if (assignment->kind == clang::BO_Assign) {
    const auto* sum = llvm::dyn_cast<clang::BinaryOperator>(value->IgnoreParenImpCasts());
    if (sum == nullptr) return std::nullopt;
    value = NamedVariable(sum->getLHS()) == taking.accumulator ? sum->getRHS() : sum->getLHS();
  }
  const std::optional<NarrowValue> narrow = AsNarrow(code, value);
  return narrow ? std::optional(Added{value, *narrow}) : std::nullopt;
}

// The sums that a loop keeps in wide types, though an int has room for what `turns` of its turns
// add.
struct NarrowSums {
  std::vector<std::pair<Taking, Added>> added;
  int64_t turns = kPartTurnsMax;
};

// Returns none where one of the wide sums has to stay: then nothing is gained.
std::optional<NarrowSums> NarrowSumsOf(const FunctionCode& code,
                                       const std::vector<Taking>& takings) {
  NarrowSums sums;
  std::map<const clang::VarDecl*, int64_t> most;  // of a turn
  for (const Taking& taking : takings) {
    if (!IsWide(code, taking.accumulator->getType())) continue;
    const std::optional<Added> added = AddedBy(code, taking);
    if (!added) return std::nullopt;
    const auto [least, largest] = added->narrow.range;
    most[taking.accumulator] += std::max(std::abs(least), std::abs(largest));
    sums.added.push_back({taking, *added});
  }
  for (const auto& [accumulator, turn] : most)
    sums.turns = std::min(sums.turns, kIntMax / std::max(turn, int64_t{1}));
  if (sums.added.empty() || sums.turns < kPartTurnsMin) return std::nullopt;
  return sums;
}

}  // namespace

void SumInNarrowParts(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const clang::Stmt* body = loop.stmt->getBody();
    const std::optional<int64_t> last = code.Constant(loop.last);
    const int64_t first = code.Constant(loop.first).value_or(0);
    const bool counts = loop.last->IgnoreParenImpCasts()->getType()->isIntegerType() &&
                        code.context().getTypeSize(loop.var->getType()) >= 32;
    if (!counts || (last && *last - first < kLoopTurnsMin) || HasLoop(body) ||
        Has<clang::BreakStmt>(body))
      continue;
    const std::optional<NarrowSums> sums = NarrowSumsOf(code, TakingsOf(code, body));
    if (!sums) continue;
    Edits edits;
    std::string declared;
    std::string joined;
    std::map<const clang::VarDecl*, std::string> parts;
    for (const auto& [taking, added] : sums->added) {
      std::string& part = parts[taking.accumulator];
      const std::string name = taking.accumulator->getNameAsString();
      if (part.empty()) {
        part = code.Fresh({name + "_here", name + "_part"});
        declared += "int " + part + " = 0;\n";
        joined += name + " += " + part + ";\n";
      }
      TakeInto(code, taking, part, &edits);
      // It is not converted to the sum's type and back.
      if (added.value != nullptr &&
          code.Text(added.value->IgnoreParens()) != code.Text(added.narrow.expression))
        edits.push_back({code.Begin(added.value), code.End(added.value),
                         code.Operand(added.narrow.expression)});
    }
    const std::string type = code.Type(loop.var);
    const std::string name = loop.var->getNameAsString();
    const std::string turns = code.Text(loop.body, edits);
    std::string text;
    if (last && *last - first < sums->turns) {
      text = declared + code.Head(loop) + " {\n" + turns + "}\n" + joined;
      text.pop_back();
    } else {
      const std::string from = code.Fresh({"from", "first_turn"});
      const std::string until = code.Fresh({"until", "last_turn"});
      const std::string part = "for (" + type + " " + name + " = " + from + "; " + name + " < " +
                               until + "; " + name + "++) {\n" + turns + "}\n";
      text = code.InParts(loop, sums->turns, from, until, declared + part + joined);
    }
    rewrites->push_back({"sums in narrow parts", code.Source({code.Instead(loop.stmt, text)})});
  }
}

}  // namespace whetstone
