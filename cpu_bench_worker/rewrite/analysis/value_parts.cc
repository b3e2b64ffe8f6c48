#include "cpu_bench_worker/rewrite/analysis/value_parts.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/helper_functions.h"
#include "cpu_bench_worker/rewrite/analysis/math_calls.h"
#include "cpu_bench_worker/rewrite/analysis/turn_tables.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr size_t kResultsMax = 2;
constexpr size_t kInputsMax = 8;       // of a loop, that are looked at
constexpr size_t kStatementsMax = 64;  // of a loop that is looked at

// Adds all that is below `stmt` beside the input, whose text is `element`.
void AddBeside(const FunctionCode& code, const std::string& element, const clang::Stmt* stmt,
               Statements* beside) {
  if (stmt == nullptr) return;
  if (isa<clang::ArraySubscriptExpr>(stmt) && code.Text(stmt) == element) return;
  beside->push_back(stmt);
  for (const clang::Stmt* child : stmt->children()) AddBeside(code, element, child, beside);
}

// Whether what is below `stmt` only computes with numbers and what is declared there.
bool KeepsToItself(const FunctionCode& code, const clang::Stmt* stmt) {
  if (NamesState(stmt)) return false;
  for (const clang::Stmt* each : Below(stmt)) {
    const auto* call = dyn_cast<clang::CallExpr>(each);
    if (call != nullptr && (!call->getType()->isArithmeticType() || !IsQuiet(code, call)))
      return false;
    if (isa<clang::LambdaExpr, clang::CXXNewExpr, clang::CXXDeleteExpr, clang::CXXConstructExpr,
            clang::CXXThrowExpr, clang::GotoStmt, clang::AsmStmt>(each) ||
        NamedBinding(each) != nullptr || each->getBeginLoc().isMacroID())
      return false;
  }
  for (const clang::VarDecl* own : Declared(stmt)) {
    clang::QualType type = own->getType();
    if (const auto* array = code.context().getAsConstantArrayType(type))
      type = array->getElementType();
    if (!type->isArithmeticType() || own->isStaticLocal()) return false;
  }
  return true;
}

// What one statement of a turn does.
struct Step {
  const clang::Stmt* stmt = nullptr;
  std::vector<const clang::VarDecl*> declared;  // by the statement itself
  Variables own;
  Variables named;  // beside the input
  Variables written;
  bool alone = true;  // it does not end the turn, and keeps to itself
  bool needs = false;
  bool takes_long = false;
};

Step StepOf(const FunctionCode& code, const Input& input, const std::string& element,
            const clang::Stmt* stmt) {
  Step step{.stmt = stmt, .declared = {}, .own = Declared(stmt), .named = {}, .written = {}};
  step.written = Written(stmt);
  step.written.merge(Changed(stmt));
  step.alone = !EndsTurn(stmt) && KeepsToItself(code, stmt);
  if (const auto* declaration = dyn_cast<clang::DeclStmt>(stmt))
    for (const clang::Decl* decl : declaration->decls()) {
      step.declared.push_back(dyn_cast<clang::VarDecl>(decl));
      step.alone = step.alone && step.declared.back() != nullptr;
    }
  if (!step.alone) return step;
  step.needs = NeedsInput(code, input, stmt);
  Statements beside;
  AddBeside(code, element, stmt, &beside);
  for (const clang::Stmt* each : beside) {
    step.takes_long = step.takes_long || ComputesLong(code, each);
    const clang::VarDecl* named = isa<clang::DeclRefExpr>(each) ? NamedVariable(each) : nullptr;
    if (named != nullptr && named != input.variable) step.named.insert(named);
  }
  return step;
}

std::vector<Step> StepsOf(const FunctionCode& code, const Loop& loop, const Input& input) {
  const std::string element = code.Text(input.element);
  std::vector<Step> steps;
  for (const clang::Stmt* stmt : loop.body) steps.push_back(StepOf(code, input, element, stmt));
  return steps;
}

// The longest part of a turn that needs only the input and what `changing` has not, and of which
// the rest of the turn only needs numbers.
std::optional<OfValue> LongestOfValue(const std::vector<Step>& steps, const Input& input,
                                      const Variables& changing) {
  std::map<const clang::VarDecl*, size_t> last;  // the statement that names it last
  for (size_t i = 0; i < steps.size(); ++i)
    for (const clang::VarDecl* used : Used(steps[i].stmt)) last[used] = i;
  for (size_t begin = input.begins; begin < steps.size(); ++begin) {
    std::optional<OfValue> longest;
    Statements statements;
    std::vector<const clang::VarDecl*> declared;
    Variables own;
    bool needs = false;
    bool takes_long = false;
    for (size_t end = begin + 1; end < steps.size(); ++end) {
      const Step& step = steps[end - 1];
      statements.push_back(step.stmt);
      declared.insert(declared.end(), step.declared.begin(), step.declared.end());
      own.insert(step.own.begin(), step.own.end());
      const auto is_own = [&](const clang::VarDecl* each) { return own.count(each) > 0; };
      const auto is_known = [&](const auto* each) { return is_own(each) || !changing.count(each); };
      // What is added does not make up for this.
      if (!step.alone || !std::all_of(step.written.begin(), step.written.end(), is_own) ||
          !std::all_of(step.named.begin(), step.named.end(), is_known))
        break;
      needs = needs || step.needs;
      takes_long = takes_long || step.takes_long;
      std::vector<const clang::VarDecl*> results;
      for (const clang::VarDecl* each : declared)
        if (last.count(each) > 0 && last[each] >= end) results.push_back(each);
      const bool numbers = std::all_of(results.begin(), results.end(), [](const auto* each) {
        return each->getType()->isArithmeticType();
      });
      if (needs && takes_long && numbers && !results.empty() && results.size() <= kResultsMax)
        longest = OfValue{statements, results};
    }
    if (longest) return longest;
  }
  return std::nullopt;
}

// The loops around this one and itself, outer ones first, as long as they count.
std::vector<const Loop*> LoopsAround(const FunctionCode& code, const Loop& loop) {
  std::vector<const Loop*> loops;
  for (const clang::Stmt* at = loop.stmt; at != nullptr; at = code.Parent(at)) {
    const Loop* around = code.LoopOf(at);
    if (around != nullptr) loops.insert(loops.begin(), around);
    if (around == nullptr && !isa<clang::CompoundStmt>(at)) break;
  }
  return loops;
}

}  // namespace

bool Holds(const FunctionCode& code, clang::QualType type, clang::QualType number) {
  const auto bits = code.context().getTypeSize(type);
  const auto needed = code.context().getTypeSize(number);
  const bool is_signed = type->isSignedIntegerType();
  if (is_signed == number->isSignedIntegerType()) return bits >= needed;
  return is_signed && bits > needed;
}

Statements ReadsOf(const FunctionCode& code, const Input& input, const clang::Stmt* stmt) {
  Statements reads;
  const std::string text = code.Text(input.element);
  for (const clang::Stmt* each : Below(stmt))
    if (isa<clang::ArraySubscriptExpr>(each) && code.Text(each) == text) reads.push_back(each);
  return reads;
}

bool NeedsInput(const FunctionCode& code, const Input& input, const clang::Stmt* stmt) {
  if (input.variable != nullptr) return Mentions(stmt, input.variable) > 0;
  return !ReadsOf(code, input, stmt).empty();
}

std::vector<Input> InputsOf(const FunctionCode& code, const Loop& loop) {
  std::vector<Input> inputs;
  if (loop.body.size() > kStatementsMax) return inputs;
  std::set<std::string> seen;
  const Variables changed = Changed(loop.stmt->getBody());
  const Variables written = Written(loop.stmt->getBody());
  for (size_t i = 0; i < loop.body.size(); ++i) {
    for (const clang::Stmt* each : Below(loop.body[i])) {
      const auto* element = dyn_cast<clang::ArraySubscriptExpr>(each);
      if (element == nullptr || !element->getType()->isIntegerType() ||
          element->getType()->isBooleanType() ||
          code.context().getTypeSize(element->getType()) > 64 || Mentions(element, loop.var) == 0 ||
          NamedVariable(element->getBase()) == nullptr || Share(Used(element->getBase()), written))
        continue;
      if (seen.insert(code.Text(element)).second) inputs.push_back({element, nullptr, 0});
      const auto* declaration = dyn_cast<clang::DeclStmt>(loop.body[i]);
      const auto* variable = declaration == nullptr || !declaration->isSingleDecl()
                                 ? nullptr
                                 : dyn_cast<clang::VarDecl>(declaration->getSingleDecl());
      if (variable != nullptr && variable->getType()->isIntegerType() &&
          !variable->getType()->isBooleanType() && changed.count(variable) == 0 &&
          Holds(code, variable->getType(), element->getType()) &&
          variable->getInit()->IgnoreParenImpCasts() == element)
        inputs.push_back({element, variable, i + 1});
    }
  }
  if (inputs.size() > kInputsMax) inputs.resize(kInputsMax);
  return inputs;
}

std::optional<Place> PlaceOf(const FunctionCode& code, const Loop& loop, const Input& input) {
  const std::vector<const Loop*> around = LoopsAround(code, loop);
  const std::vector<Step> steps = StepsOf(code, loop, input);
  for (const Loop* outer : around) {
    const BeforeLoop before(code, outer->stmt);
    Variables changing = ChangedOrDeclared(outer->stmt);
    changing.merge(Written(outer->stmt));
    std::optional<Variables> needed = before.Needs(input.element);
    if (!needed || LeavesFunction(outer->stmt) || Has<clang::BreakStmt>(outer->stmt->getBody()))
      continue;
    Place place{.loops = {}, .outer = outer->stmt, .part = {}};
    bool known = true;
    for (auto each = around.rbegin(); each != around.rend(); ++each) {
      if (needed->erase((*each)->var) > 0) {
        place.loops.insert(place.loops.begin(), *each);
        for (const clang::Expr* bound : {(*each)->first, (*each)->last}) {
          std::optional<Variables> of_bound = before.Needs(bound);
          known = known && of_bound;
          if (of_bound) needed->merge(*of_bound);
        }
      }
      if (*each == outer) break;
    }
    if (!known || !needed->empty() || place.loops.empty()) continue;
    std::optional<OfValue> part = LongestOfValue(steps, input, changing);
    if (!part) continue;
    // The element has to be there in turns that go by without it too.
    const std::vector<const Loop*> within(std::find(around.begin(), around.end(), outer),
                                          around.end());
    if (MaySkip(code, within, input.element) &&
        (input.variable != nullptr || MaySkip(code, within, part->statements[0])))
      continue;
    place.part = *std::move(part);
    return place;
  }
  return std::nullopt;
}

}  // namespace whetstone
