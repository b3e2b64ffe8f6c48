#include "cpu_bench_worker/rewrite/value_parts.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "cpu_bench_worker/rewrite/before_loop.h"
#include "cpu_bench_worker/rewrite/helper_functions.h"
#include "cpu_bench_worker/rewrite/math_calls.h"
#include "cpu_bench_worker/rewrite/turn_tables.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr size_t kResultsMax = 2;
constexpr size_t kInputsMax = 8;  // of a loop, that are looked at

// Adds all that is below `stmt` beside the input.
void AddBeside(const FunctionCode& code, const Input& input, const clang::Stmt* stmt,
               Statements* beside) {
  if (stmt == nullptr) return;
  if (isa<clang::ArraySubscriptExpr>(stmt) && code.Text(stmt) == code.Text(input.element)) return;
  beside->push_back(stmt);
  for (const clang::Stmt* child : stmt->children()) AddBeside(code, input, child, beside);
}

bool KeepsToItself(const FunctionCode& code, const clang::Stmt* stmt);

// Whether a call does nothing but compute a number.
bool ComputesNumber(const FunctionCode& code, const clang::CallExpr* call) {
  if (!IsQuiet(code, call) || !call->getType()->isArithmeticType()) return false;
  const clang::FunctionDecl* definition = WrittenHere(code, call);
  return definition == nullptr || KeepsToItself(code, definition->getBody());
}

// Whether what is below `stmt` only computes with numbers and what is declared there.
bool KeepsToItself(const FunctionCode& code, const clang::Stmt* stmt) {
  for (const clang::Stmt* each : Below(stmt)) {
    const auto* call = dyn_cast<clang::CallExpr>(each);
    if (call != nullptr && !ComputesNumber(code, call)) return false;
    if (isa<clang::LambdaExpr, clang::CXXNewExpr, clang::CXXDeleteExpr, clang::CXXConstructExpr,
            clang::CXXThrowExpr, clang::GotoStmt, clang::AsmStmt>(each) ||
        NamedBinding(each) != nullptr || each->getBeginLoc().isMacroID())
      return false;
    const clang::VarDecl* named = isa<clang::DeclRefExpr>(each) ? NamedVariable(each) : nullptr;
    if (named != nullptr && named->hasGlobalStorage() && !named->getType().isConstQualified())
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

// Whether the turn may end or be left below `stmt`.
bool LeavesTurn(const clang::Stmt* stmt) {
  if (stmt == nullptr) return false;
  if (isa<clang::ContinueStmt, clang::BreakStmt, clang::ReturnStmt, clang::GotoStmt>(stmt))
    return true;
  if (isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt>(stmt))
    return Has<clang::ReturnStmt, clang::GotoStmt>(stmt);
  return std::any_of(stmt->child_begin(), stmt->child_end(), LeavesTurn);
}

// Whether this itself takes long, or a function that it calls.
bool TakesLong(const FunctionCode& code, const clang::Stmt* stmt, int calls) {
  if (isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt>(stmt) || IsExpensive(code, stmt))
    return true;
  const auto* call = dyn_cast<clang::CallExpr>(stmt);
  const clang::FunctionDecl* called =
      call == nullptr || calls == 0 ? nullptr : WrittenHere(code, call);
  const Statements parts = called == nullptr ? Statements{} : Below(called->getBody());
  return std::any_of(parts.begin(), parts.end(),
                     [&](const clang::Stmt* each) { return TakesLong(code, each, calls - 1); });
}

// What a turn's statements [begin, end) are, if they need only the input and what `changing` has
// not, and the rest of the turn only needs numbers of them.
std::optional<OfValue> OfValueFrom(const FunctionCode& code, const Loop& loop, const Input& input,
                                   const Variables& changing, size_t begin, size_t end) {
  OfValue found;
  Variables own;
  Statements beside;
  Variables written;
  bool needs = false;
  for (size_t i = begin; i < end; ++i) {
    const clang::Stmt* stmt = loop.body[i];
    found.statements.push_back(stmt);
    own.merge(Declared(stmt));
    AddBeside(code, input, stmt, &beside);
    written.merge(Written(stmt));
    written.merge(Changed(stmt));
    if (LeavesTurn(stmt) || !KeepsToItself(code, stmt)) return std::nullopt;
    needs = needs || NeedsInput(code, input, stmt);
  }
  const bool only_own = std::all_of(written.begin(), written.end(), [&](const auto* each) {
    return own.count(each) > 0 && each != input.variable;
  });
  const bool takes_long = std::any_of(beside.begin(), beside.end(), [&](const clang::Stmt* each) {
    return TakesLong(code, each, kDepthMax);
  });
  const bool only_input = std::all_of(beside.begin(), beside.end(), [&](const clang::Stmt* each) {
    const clang::VarDecl* named = isa<clang::DeclRefExpr>(each) ? NamedVariable(each) : nullptr;
    return named == nullptr || named == input.variable || own.count(named) > 0 ||
           changing.count(named) == 0;
  });
  if (!needs || !takes_long || !only_own || !only_input) return std::nullopt;
  for (size_t i = begin; i < end; ++i) {
    const auto* declaration = dyn_cast<clang::DeclStmt>(loop.body[i]);
    if (declaration == nullptr) continue;
    for (const clang::Decl* decl : declaration->decls()) {
      const auto* variable = dyn_cast<clang::VarDecl>(decl);
      const bool behind =
          std::any_of(loop.body.begin() + static_cast<long>(end), loop.body.end(),
                      [&](const clang::Stmt* stmt) { return Mentions(stmt, variable) > 0; });
      if (variable == nullptr || (behind && !variable->getType()->isArithmeticType()))
        return std::nullopt;
      if (behind) found.results.push_back(variable);
    }
  }
  const bool some = !found.results.empty() && found.results.size() <= kResultsMax;
  return some ? std::optional(found) : std::nullopt;
}

// The longest part of a turn like that.
std::optional<OfValue> LongestOfValue(const FunctionCode& code, const Loop& loop,
                                      const Input& input, const Variables& changing) {
  for (size_t begin = input.begins; begin < loop.body.size(); ++begin)
    for (size_t end = loop.body.size() - 1; end > begin; --end)
      if (auto found = OfValueFrom(code, loop, input, changing, begin, end)) return found;
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

bool NeedsInput(const FunctionCode& code, const Input& input, const clang::Stmt* stmt) {
  if (input.variable != nullptr) return Mentions(stmt, input.variable) > 0;
  const std::string text = code.Text(input.element);
  for (const clang::Stmt* each : Below(stmt))
    if (isa<clang::ArraySubscriptExpr>(each) && code.Text(each) == text) return true;
  return false;
}

std::vector<Input> InputsOf(const FunctionCode& code, const Loop& loop) {
  std::vector<Input> inputs;
  std::set<std::string> seen;
  const Variables changed = Changed(loop.stmt->getBody());
  const Variables written = Written(loop.stmt->getBody());
  for (size_t i = 0; i < loop.body.size(); ++i) {
    for (const clang::Stmt* each : Below(loop.body[i])) {
      const auto* element = dyn_cast<clang::ArraySubscriptExpr>(each);
      if (element == nullptr || !element->getType()->isIntegerType() ||
          element->getType()->isBooleanType() || Mentions(element, loop.var) == 0 ||
          NamedVariable(element->getBase()) == nullptr || Share(Used(element->getBase()), written))
        continue;
      if (seen.insert(code.Text(element)).second) inputs.push_back({element, nullptr, 0});
      const auto* declaration = dyn_cast<clang::DeclStmt>(loop.body[i]);
      const auto* variable = declaration == nullptr || !declaration->isSingleDecl()
                                 ? nullptr
                                 : dyn_cast<clang::VarDecl>(declaration->getSingleDecl());
      if (variable != nullptr && variable->getType()->isIntegerType() &&
          !variable->getType()->isBooleanType() && changed.count(variable) == 0 &&
          variable->getInit()->IgnoreParenImpCasts() == element)
        inputs.push_back({element, variable, i + 1});
    }
  }
  if (inputs.size() > kInputsMax) inputs.resize(kInputsMax);
  return inputs;
}

std::optional<Place> PlaceOf(const FunctionCode& code, const Loop& loop, const Input& input) {
  const std::vector<const Loop*> around = LoopsAround(code, loop);
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
    std::optional<OfValue> part = LongestOfValue(code, loop, input, changing);
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
