// What is computed at length of an element, wherever it is read: once for each element of the array
// (memoization over an array).
#include <algorithm>
#include <set>
#include <string>

#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/helper_functions.h"
#include "cpu_bench_worker/rewrite/analysis/turn_tables.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr size_t kElementTablesMax = 4;  // of a function

// An expression that needs one element of an array, which is a parameter, and what stays the same.
struct OfElement {
  const clang::Expr* expression = nullptr;
  const clang::ArraySubscriptExpr* element = nullptr;
  const clang::VarDecl* array = nullptr;
  const clang::Stmt* outer = nullptr;  // the outermost loop around it
};

// The loops around a statement: how many, and the outermost.
struct LoopsOver {
  int count = 0;
  const clang::Stmt* outermost = nullptr;
};
LoopsOver LoopsOverOf(const FunctionCode& code, const clang::Stmt* stmt) {
  LoopsOver found;
  for (const clang::Stmt* at = code.Parent(stmt); at != nullptr; at = code.Parent(at)) {
    if (!IsLoop(at)) continue;
    ++found.count;
    found.outermost = at;
  }
  return found;
}

// Its text, with `place` for the element's place.
std::string AtPlace(const FunctionCode& code, const OfElement& found, const std::string& place) {
  Edits edits;
  const std::string element = code.Text(found.element);
  for (const clang::Stmt* each : Below(found.expression))
    if (isa<clang::ArraySubscriptExpr>(each) && code.Text(each) == element)
      edits.push_back(code.Instead(each, found.array->getNameAsString() + "[" + place + "]"));
  return code.Text(found.expression, edits);
}

// Whether it calls a function of the program that has a loop which only data end.
bool CallsWhile(const FunctionCode& code, const clang::Stmt* stmt) {
  const auto* call = dyn_cast<clang::CallExpr>(stmt);
  const clang::FunctionDecl* called = call == nullptr ? nullptr : WrittenHere(code, call);
  return called != nullptr &&
         Has<clang::WhileStmt, clang::DoStmt, clang::CallExpr>(called->getBody());
}

std::optional<OfElement> AsOfElement(const FunctionCode& code, const clang::Stmt* stmt) {
  const auto* expression = dyn_cast<clang::Expr>(stmt);
  if (expression == nullptr || expression != expression->IgnoreParenImpCasts() ||
      !expression->getType()->isArithmeticType() || expression->getBeginLoc().isMacroID() ||
      !OnlyComputes(code, expression))
    return std::nullopt;
  OfElement found{.expression = expression};
  std::set<const clang::Stmt*> inside;  // of the element
  bool takes_long = false;
  for (const clang::Stmt* each : Below(expression)) {
    if (inside.count(each) > 0) continue;
    takes_long = takes_long || ComputesLong(code, each);
    const auto* element = dyn_cast<clang::ArraySubscriptExpr>(each);
    if (element == nullptr) continue;
    if (found.element != nullptr && code.Text(found.element) != code.Text(element))
      return std::nullopt;
    found.element = element;
    const std::vector<const clang::Stmt*> parts = Below(element);
    inside.insert(parts.begin(), parts.end());
  }
  if (found.element == nullptr || !takes_long) return std::nullopt;
  found.array = NamedVariable(found.element->getBase());
  const auto* parameter =
      found.array == nullptr ? nullptr : dyn_cast<clang::ParmVarDecl>(found.array);
  // Of an element that no turn asked for it must come to an end, and do no harm.
  for (const clang::Stmt* each : Below(expression))
    if (inside.count(each) == 0 && (MayFault(code, each) || CallsWhile(code, each)))
      return std::nullopt;
  const LoopsOver loops = LoopsOverOf(code, expression);
  // Alone a loop asks each element once, unless it goes from place to place.
  if (parameter == nullptr || loops.outermost == nullptr ||
      (loops.count == 1 && !Has<clang::ArraySubscriptExpr>(found.element->getIdx())))
    return std::nullopt;
  found.outer = loops.outermost;
  Variables varying = Varying(found.outer);
  for (const clang::Stmt* each : Below(expression)) {
    const auto* name = dyn_cast<clang::DeclRefExpr>(each);
    const clang::VarDecl* variable = name == nullptr ? nullptr : NamedVariable(name);
    const bool of_place = inside.count(each) > 0 && variable != found.array;
    if (variable != nullptr && !of_place && varying.count(variable) > 0) return std::nullopt;
  }
  return found;
}

// How many elements the array has, as the function can say it; empty where nobody knows, or a
// parameter is not what it was.
std::string LengthOf(const FunctionCode& code, const clang::VarDecl* array) {
  const auto known = code.lengths().find(array->getNameAsString());
  if (known == code.lengths().end()) return "";
  const Variables changed = Changed(code.body());
  const Variables declared = Declared(code.body());
  for (const clang::ParmVarDecl* parameter : code.parameters()) {
    const auto hides = [&](const clang::VarDecl* each) {
      return each->getName() == parameter->getName();
    };
    if (changed.count(parameter) > 0 || std::any_of(declared.begin(), declared.end(), hides))
      return "";
  }
  return known->second;
}

}  // namespace

void TabulateElements(const FunctionCode& code, Rewrites* rewrites) {
  std::set<const clang::Stmt*> done;
  std::set<std::string> seen;
  for (const clang::Stmt* stmt : Below(code.body())) {
    if (done.count(stmt) > 0 || seen.size() == kElementTablesMax) continue;
    const std::optional<OfElement> found = AsOfElement(code, stmt);
    const std::string length = found ? LengthOf(code, found->array) : "";
    if (length.empty() || LeavesFunction(found->outer)) continue;
    const std::vector<const clang::Stmt*> parts = Below(stmt);
    done.insert(parts.begin(), parts.end());
    const std::string place = code.Fresh({"k", "at", "place"});
    const std::string value = AtPlace(code, *found, place);
    if (!seen.insert(value).second) continue;
    const std::string table = code.Fresh({"table", "values", "table_of"});
    Edits edits;
    for (const clang::Stmt* each : Below(found->outer)) {
      if (each->getStmtClass() != stmt->getStmtClass()) continue;
      const std::optional<OfElement> other = AsOfElement(code, each);
      if (other && other->array == found->array && AtPlace(code, *other, place) == value)
        edits.push_back(
            code.Instead(each, table + "[" + code.Text(other->element->getIdx()) + "]"));
    }
    const std::string type = code.Type(found->expression);
    const std::string count = code.Fresh({"elements", "count_of"});
    rewrites->push_back(
        {"computed once for each element",
         code.Source({code.Instead(
             found->outer, "{\nconst long " + count + " = " + length + ";\n" + type + "* const " +
                               table + " = new " + type + "[" + count + " > 0 ? " + count +
                               " : 0];\nfor (long " + place + " = 0; " + place + " < " + count +
                               "; " + place + "++) {\n" + table + "[" + place + "] = " + value +
                               ";\n}\n" + code.Text(found->outer, edits) + "\ndelete[] " + table +
                               ";\n}")})});
  }
}

}  // namespace whetstone
