#include <algorithm>
#include <set>
#include <utility>

#include "clang/AST/ExprCXX.h"
#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/turn_tables.h"
#include "cpu_bench_worker/rewrite/analysis/value_parts.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr int kStepsPerTurn = 4;  // values for each turn, where each takes but a step

// A loop of these statements that takes steps from a number as long as it can, so that for the next
// number it goes on where it ended for this one:
//   int left = value; int year = 0; while (left >= days(year)) { left -= days(year); year++; }
struct Stepwise {
  const clang::WhileStmt* loop = nullptr;
  const clang::VarDecl* rest = nullptr;
  std::vector<const clang::VarDecl*> states;  // `rest` and what changes with it
};

std::optional<Stepwise> StepwiseOf(const FunctionCode& code, const Input& input,
                                   const OfValue& part) {
  Variables before;  // declared up to here, and not by what is given
  const clang::VarDecl* rest = nullptr;
  for (const clang::Stmt* stmt : part.statements) {
    if (const auto* declaration = dyn_cast<clang::DeclStmt>(stmt)) {
      if (!declaration->isSingleDecl()) return std::nullopt;
      const auto* variable = dyn_cast<clang::VarDecl>(declaration->getSingleDecl());
      const clang::Expr* value = variable == nullptr ? nullptr : variable->getInit();
      if (value == nullptr || Share(Used(value), before)) return std::nullopt;
      const clang::Expr* bare = value->IgnoreParenImpCasts();
      const bool given = input.variable != nullptr ? NamedVariable(bare) == input.variable
                                                   : code.Text(bare) == code.Text(input.element);
      if (given && rest == nullptr && variable->getType()->isSignedIntegerType() &&
          Holds(code, variable->getType(), bare->getType())) {
        rest = variable;
      } else if (NeedsInput(code, input, value) || (rest != nullptr && Mentions(value, rest) > 0)) {
        return std::nullopt;
      }
      before.insert(variable);
      continue;
    }
    const auto* loop = dyn_cast<clang::WhileStmt>(stmt);
    const auto* test =
        loop == nullptr ? nullptr
                        : dyn_cast<clang::BinaryOperator>(loop->getCond()->IgnoreParenImpCasts());
    if (test == nullptr || rest == nullptr || NeedsInput(code, input, loop) ||
        Has<clang::BreakStmt>(loop) || NamedVariable(test->getLHS()) != rest ||
        (test->getOpcode() != clang::BO_GE && test->getOpcode() != clang::BO_GT))
      return std::nullopt;
    int named = 0;
    for (const clang::Stmt* each : StatementsOf(loop->getBody())) {
      named += Mentions(each, rest);
      const std::optional<Assignment> step = AsAssignment(each);
      if (step && NamedVariable(step->target) == rest && step->kind != clang::BO_SubAssign)
        return std::nullopt;
    }
    Stepwise found{loop, rest, {rest}};
    for (const clang::VarDecl* changed : ChangedOutside(loop))
      if (changed != rest) found.states.push_back(changed);
    const bool own = std::all_of(found.states.begin(), found.states.end(),
                                 [&](const auto* each) { return before.count(each) > 0; });
    return named == 1 && own && Mentions(loop->getCond(), rest) == 1 ? std::optional(found)
                                                                     : std::nullopt;
  }
  return std::nullopt;
}

// The least and the greatest number of a type, which is at least an int.
struct Limits {
  std::string type;
  std::string least;
  std::string most;
};

Limits LimitsOf(const FunctionCode& code, clang::QualType type) {
  const auto bits = code.context().getTypeSize(type);
  const bool is_signed = type->isSignedIntegerType();
  if (bits < 32 || (bits == 32 && is_signed)) return {"int", "-2147483647 - 1", "2147483647"};
  if (bits == 32) return {"unsigned", "0", "4294967295u"};
  if (is_signed) return {"long", "-9223372036854775807 - 1", "9223372036854775807"};
  return {"unsigned long", "0", "18446744073709551615u"};
}

// The statements with the input's place taken by the name of a value.
Edits WithValue(const FunctionCode& code, const Input& input, const Statements& statements,
                const std::string& value) {
  Edits edits;
  if (input.variable != nullptr) return edits;
  for (const clang::Stmt* stmt : statements)
    for (const clang::Stmt* read : ReadsOf(code, input, stmt))
      edits.push_back(code.Instead(read, value));
  return edits;
}

// What is declared before the loop over all values, and done for each of them.
std::pair<std::string, std::string> ForEachValue(const FunctionCode& code, const Input& input,
                                                 const OfValue& part, const std::string& value,
                                                 const std::string& least) {
  const Edits edits = WithValue(code, input, part.statements, value);
  const std::optional<Stepwise> stepwise = StepwiseOf(code, input, part);
  if (!stepwise) return {"", code.Text(part.statements, edits)};
  std::string before;
  std::string taken;
  Edits in_loop;
  for (const clang::VarDecl* state : stepwise->states) {
    const std::string name = state->getNameAsString();
    const std::string kept = code.Fresh({name + "_on", name + "_kept"});
    const bool rest = state == stepwise->rest;
    before += code.Type(state) + " " + kept + " = " + (rest ? least : code.Text(state->getInit())) +
              ";\n";
    taken += code.Type(state) + " " + name + " = " + kept + (rest ? "++" : "") + ";\n";
    code.Replace(stepwise->loop, state, kept, &in_loop);
  }
  std::string each_value;
  for (const clang::Stmt* stmt : part.statements) {
    if (stmt == stepwise->loop) {
      each_value += code.Text(stmt, in_loop) + "\n" + taken;
      continue;
    }
    const auto* declaration = dyn_cast<clang::DeclStmt>(stmt);
    const bool state = declaration != nullptr && declaration->isSingleDecl() &&
                       std::count(stepwise->states.begin(), stepwise->states.end(),
                                  dyn_cast<clang::VarDecl>(declaration->getSingleDecl())) > 0;
    if (!state) each_value += code.Text(stmt, edits) + "\n";
  }
  return {before, each_value};
}

// Whether statements come to an end, and do no harm, for values that are not there.
bool WorksForAll(const FunctionCode& code, const Statements& statements) {
  for (const clang::Stmt* stmt : statements)
    for (const clang::Stmt* each : Below(stmt))
      if (isa<clang::WhileStmt, clang::DoStmt>(each) ||
          (!isa<clang::ArraySubscriptExpr>(each) && MayFault(code, each)))
        return false;
  return true;
}

// Whether this is what is done where a table would be too large.
bool StandsBesideTable(const FunctionCode& code, const clang::Stmt* stmt) {
  for (; stmt != nullptr; stmt = code.Parent(stmt)) {
    const auto* branch = dyn_cast<clang::IfStmt>(stmt);
    if (branch != nullptr && Has<clang::CXXDeleteExpr>(branch->getThen())) return true;
  }
  return false;
}

}  // namespace

void TabulateValues(const FunctionCode& code, Rewrites* rewrites) {
  std::set<const clang::Stmt*> done;  // the last statements of parts
  for (const Loop& loop : code.loops()) {
    for (const Input& input : InputsOf(code, loop)) {
      const std::optional<Place> place = PlaceOf(code, loop, input);
      if (!place || StandsBesideTable(code, place->outer) ||
          !done.insert(place->part.statements.back()).second)
        continue;
      const OfValue& part = place->part;
      const BeforeLoop before(code, place->outer);
      const Limits limits = LimitsOf(code, input.element->getType());
      const auto name = [&](const std::string& wanted) { return NameOf(code, wanted, ""); };
      const std::string least = name("least");
      const std::string most = name("most");
      const std::string turns = name("turns");
      const std::string range = name("range");
      const std::string place_of = name("place");
      const std::string value = name("value");
      std::string heads;
      std::string ends;
      for (const Loop* each : place->loops) {
        heads += before.Head(*each) + " {\n";
        ends += "}\n";
      }
      const std::string given =
          input.variable != nullptr ? input.variable->getNameAsString() : value;
      const std::string type =
          input.variable != nullptr ? code.Type(input.variable) : code.Type(input.element);
      const auto [states, computed] =
          ForEachValue(code, input, part, given, "(" + type + ")" + least);
      // A byte has so few values that nobody looks which of them are there, where all will do.
      const bool byte = states.empty() &&
                        code.context().getTypeSize(input.element->getType()) == 8 &&
                        WorksForAll(code, part.statements);
      std::string tables;
      std::string filled;
      std::string deleted;
      std::string taken;
      for (const clang::VarDecl* result : part.results) {
        const std::string number = result == part.results[0] ? "" : "2";
        const std::string table = NameOf(code, "table", number);
        const std::string of = code.Type(result);
        const std::string at = input.variable != nullptr ? given : code.Text(input.element);
        tables += byte ? of + " " + table + "[256];\n"
                       : of + "* const " + table + " = new " + of + "[" + range + " + 1];\n";
        filled += table + "[" + place_of + "] = " + result->getNameAsString() + ";\n";
        deleted += "\ndelete[] " + table + ";";
        taken += of + " " + result->getNameAsString() + " = " + table + "[" +
                 (byte ? "(unsigned char)" + at : at + " - " + least) + "];\n";
      }
      Edits edits;
      for (const clang::Stmt* stmt : part.statements)
        edits.push_back(code.Instead(stmt, stmt == part.statements[0] ? taken : ""));
      if (byte) {
        rewrites->push_back(
            {"a table over values",
             code.Source({code.Instead(
                 place->outer, "{\n" + tables + "for (int " + place_of + " = 0; " + place_of +
                                   " < 256; " + place_of + "++) {\nconst " + type + " " + given +
                                   " = (" + code.Type(input.element) + ")" + place_of + ";\n" +
                                   computed + filled + "}\n" + code.Text(place->outer, edits) +
                                   "\n}")})});
        continue;
      }
      const std::string often = states.empty() ? "" : std::to_string(kStepsPerTurn) + " * ";
      rewrites->push_back(
          {"a table over values",
           code.Source({code.Instead(
               place->outer,
               "{\n" + limits.type + " " + least + " = " + limits.most + ";\n" + limits.type + " " +
                   most + " = " + limits.least + ";\nunsigned long " + turns + " = 0;\n" + heads +
                   "const " + limits.type + " " + value + " = " + before.Text(input.element, {}) +
                   ";\n" + least + " = " + value + " < " + least + " ? " + value + " : " + least +
                   ";\n" + most + " = " + value + " > " + most + " ? " + value + " : " + most +
                   ";\n" + turns + "++;\n" + ends + "const unsigned long " + range +
                   " = (unsigned long)" + most + " - (unsigned long)" + least + ";\nif (" + range +
                   " < " + often + turns + ") {\n" + tables + states + "for (unsigned long " +
                   place_of + " = 0; " + place_of + " <= " + range + "; " + place_of +
                   "++) {\nconst " + type + " " + given + " = (" + type + ")(" + least + " + " +
                   place_of + ");\n" + computed + filled + "}\n" + code.Text(place->outer, edits) +
                   deleted + "\n} else {\n" + code.Text(place->outer) + "\n}\n}")})});
    }
  }
}

}  // namespace whetstone
