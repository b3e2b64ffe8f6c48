// Loops whose turns ask for their counter's quotient and remainder (strip mining).
#include <algorithm>
#include <set>

#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;

constexpr int64_t kDivisorMax = 64;

// counter / divisor (or counter >> 3), or counter % divisor (or counter & 7).
struct Division {
  int64_t divisor = 0;
  bool remainder = false;
};

std::optional<Division> DivisionOf(const FunctionCode& code, const clang::Stmt* stmt,
                                   const clang::VarDecl* counter) {
  const auto* binary = dyn_cast<clang::BinaryOperator>(stmt);
  if (binary == nullptr || NamedVariable(binary->getLHS()) != counter) return std::nullopt;
  const int64_t by = code.Constant(binary->getRHS()).value_or(0);
  Division division;
  switch (binary->getOpcode()) {
    case clang::BO_Div:
      division = {by, false};
      break;
    case clang::BO_Rem:
      division = {by, true};
      break;
    case clang::BO_Shr:
      division = {by < 1 || by > 6 ? 0 : int64_t{1} << by, false};
      break;
    case clang::BO_And:
      division = {by > 0 && (by & (by + 1)) == 0 ? by + 1 : 0, true};
      break;
    default:
      break;
  }
  if (division.divisor < 2 || division.divisor > kDivisorMax) return std::nullopt;
  return division;
}

bool HasStatic(const clang::Stmt* stmt) {
  const Variables declared = Declared(stmt);
  return std::any_of(declared.begin(), declared.end(),
                     [](const clang::VarDecl* each) { return each->isStaticLocal(); });
}

}  // namespace

void GroupByDivisor(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    if (code.Constant(loop.first) != 0 || !HasKnownEnd(code, loop) ||
        HasOwn<clang::BreakStmt>(loop.stmt->getBody()) || Has<clang::LabelStmt>(loop.stmt) ||
        HasStatic(loop.stmt))
      continue;
    // Remainders alone are no reason: that is unrolling.
    std::set<int64_t> divisors;
    for (const clang::Stmt* each : Below(loop.stmt->getBody()))
      if (const auto division = DivisionOf(code, each, loop.var); division && !division->remainder)
        divisors.insert(division->divisor);
    if (const std::optional<int64_t> turns = code.Constant(loop.last))
      divisors.erase(divisors.lower_bound(*turns), divisors.end());
    for (const int64_t divisor : divisors) {
      const std::string group = code.Fresh({"group", "quotient", "group_of"});
      const std::string rest = code.Fresh({"rest", "in_group", "rest_of"});
      Edits edits;
      for (const clang::Stmt* each : Below(loop.stmt->getBody()))
        if (const auto division = DivisionOf(code, each, loop.var);
            division && division->divisor == divisor)
          edits.push_back(code.Instead(each, division->remainder ? rest : group));
      const std::string type = code.Type(loop.var);
      const std::string name = loop.var->getNameAsString();
      const std::string by = std::to_string(divisor);
      const std::string bound =
          loop.inclusive ? "(" + code.Bound(loop) + ")" : code.Operand(loop.last);
      rewrites->push_back(
          {"groups by the divisor",
           code.Source({code.Instead(
               loop.stmt, "for (" + type + " " + group + " = 0; " + group + " < " + bound + " / " +
                              by + "; " + group + "++) {\nfor (" + type + " " + rest + " = 0; " +
                              rest + " < " + by + "; " + rest + "++) {\nconst " + type + " " +
                              name + " = " + group + " * " + by + " + " + rest + ";\n" +
                              code.Text(loop.body, edits) + "}\n}\nfor (" + type + " " + name +
                              " = " + bound + " / " + by + " * " + by + "; " + name + " < " +
                              bound + "; " + name + "++) {\n" + code.Text(loop.body, {}) + "}")})});
    }
  }
}

}  // namespace whetstone
