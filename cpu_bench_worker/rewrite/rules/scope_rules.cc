// Variables that a function declares at its beginning, as C once wanted it, and sets anew wherever
// it needs them: each such place gets a variable of its own (live range splitting).
#include <algorithm>
#include <initializer_list>
#include <string>

#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

// The assignments that can declare a variable.
using Sets = std::vector<const clang::Stmt*>;

bool SetsAnew(const clang::Stmt* stmt, const clang::VarDecl* variable) {
  const std::optional<Assignment> set = AsAssignment(stmt);
  return set && set->kind == clang::BO_Assign && NamedVariable(set->target) == variable &&
         Mentions(stmt, variable) == 1;
}

bool AreSetWithin(const clang::Stmt* stmt, const clang::VarDecl* variable, Sets* sets);

// Whether whatever names the variable among these statements of a block comes behind one that sets
// it. Adds these.
bool AreSetAmong(const std::vector<const clang::Stmt*>& statements, const clang::VarDecl* variable,
                 Sets* sets) {
  std::vector<const clang::Stmt*> naming;
  for (const clang::Stmt* each : statements)
    if (Mentions(each, variable) > 0) naming.push_back(each);
  // The last ones may need nothing of what was before.
  std::vector<Sets> within(naming.size());
  size_t alone = naming.size();
  while (alone > 0 && AreSetWithin(naming[alone - 1], variable, &within[alone - 1])) --alone;
  if (alone > 0) {
    if (!SetsAnew(naming[0], variable)) return false;
    sets->push_back(naming[0]);
  }
  for (; alone < naming.size(); ++alone)
    sets->insert(sets->end(), within[alone].begin(), within[alone].end());
  return true;
}

// The same of these parts of a statement, if nothing else of it names the variable.
bool AreSetInParts(const clang::Stmt* stmt, std::initializer_list<const clang::Stmt*> parts,
                   const clang::VarDecl* variable, Sets* sets) {
  int named = 0;
  for (const clang::Stmt* part : parts) {
    const int here = Mentions(part, variable);
    named += here;
    // What stands there without braces cannot declare anything.
    if (here > 0 && !((isa<clang::CompoundStmt, clang::IfStmt>(part) || IsLoop(part)) &&
                      AreSetAmong(StatementsOf(part), variable, sets)))
      return false;
  }
  return named == Mentions(stmt, variable);
}

// The same of all that a statement does.
bool AreSetWithin(const clang::Stmt* stmt, const clang::VarDecl* variable, Sets* sets) {
  if (isa<clang::CompoundStmt>(stmt)) return AreSetAmong(StatementsOf(stmt), variable, sets);
  if (const auto* branch = dyn_cast<clang::IfStmt>(stmt))
    return AreSetInParts(stmt, {branch->getThen(), branch->getElse()}, variable, sets);
  if (const auto* loop = dyn_cast<clang::ForStmt>(stmt)) {
    if (loop->getInit() != nullptr && SetsAnew(loop->getInit(), variable)) {
      sets->push_back(loop->getInit());
      return true;
    }
    return AreSetInParts(stmt, {loop->getBody()}, variable, sets);
  }
  if (const auto* loop = dyn_cast<clang::WhileStmt>(stmt))
    return AreSetInParts(stmt, {loop->getBody()}, variable, sets);
  if (const auto* loop = dyn_cast<clang::DoStmt>(stmt))
    return AreSetInParts(stmt, {loop->getBody()}, variable, sets);
  if (const auto* loop = dyn_cast<clang::CXXForRangeStmt>(stmt))
    return AreSetInParts(stmt, {loop->getBody()}, variable, sets);
  return false;
}

// Whether another variable of its name is declared beside where this one would be.
bool IsNameTaken(const FunctionCode& code, const clang::Stmt* set, const clang::VarDecl* variable) {
  const clang::Stmt* around = code.Parent(set);
  const auto* loop = dyn_cast<clang::ForStmt>(around);
  for (const clang::Stmt* each : StatementsOf(loop == nullptr ? around : loop->getBody())) {
    if (!isa<clang::DeclStmt>(each)) continue;
    for (const clang::VarDecl* other : Declared(each))
      if (other != variable && other->getName() == variable->getName()) return true;
  }
  return false;
}

// Whether it is a number that can be declared again, without what it begins with.
bool IsOwnNumber(const FunctionCode& code, const clang::VarDecl* variable) {
  return variable != nullptr && variable->hasLocalStorage() &&
         variable->getType()->isArithmeticType() && !variable->getType()->isEnumeralType() &&
         !variable->getType().isConstQualified() && !variable->getType().isVolatileQualified() &&
         (variable->getInit() == nullptr || OnlyComputes(code, variable->getInit()));
}

// Whether a pointer or reference may know the variable.
bool IsKnownElsewhere(const FunctionCode& code, const clang::VarDecl* variable) {
  for (const clang::Stmt* each : Below(code.body())) {
    const auto* unary = dyn_cast<clang::UnaryOperator>(each);
    if (unary != nullptr && unary->getOpcode() == clang::UO_AddrOf &&
        NamedVariable(unary->getSubExpr()) == variable)
      return true;
    const auto* declaration = dyn_cast<clang::DeclStmt>(each);
    if (declaration == nullptr) continue;
    for (const clang::Decl* decl : declaration->decls()) {
      const auto* other = dyn_cast<clang::VarDecl>(decl);
      if (other != nullptr && other->getType()->isReferenceType() &&
          NamedVariable(other->getInit()) == variable)
        return true;
    }
  }
  return false;
}

// The assignments that can declare the variable, which its block declares; none, if they cannot.
Sets SetsOf(const FunctionCode& code, const clang::Stmt* block, const clang::VarDecl* variable) {
  Sets sets;
  if (IsKnownElsewhere(code, variable) || !AreSetAmong(StatementsOf(block), variable, &sets) ||
      std::any_of(sets.begin(), sets.end(),
                  [&](const clang::Stmt* each) { return IsNameTaken(code, each, variable); }))
    return {};
  return sets;
}

// The variables of a statement of a block that declares numbers; none, if it is anything else.
std::vector<const clang::VarDecl*> NumbersDeclared(const FunctionCode& code,
                                                   const clang::Stmt* stmt) {
  const auto* declaration = dyn_cast<clang::DeclStmt>(stmt);
  const clang::Stmt* block = code.Parent(stmt);
  // A switch jumps over what is declared in it.
  if (declaration == nullptr || !isa<clang::CompoundStmt>(block) ||
      llvm::isa_and_nonnull<clang::SwitchStmt>(code.Parent(block)))
    return {};
  std::vector<const clang::VarDecl*> variables;
  for (const clang::Decl* decl : declaration->decls()) {
    variables.push_back(dyn_cast<clang::VarDecl>(decl));
    if (!IsOwnNumber(code, variables.back())) return {};
  }
  return variables;
}

}  // namespace

void DeclareWhereSet(const FunctionCode& code, Rewrites* rewrites) {
  if (Has<clang::LambdaExpr, clang::GotoStmt, clang::LabelStmt>(code.body())) return;
  Edits edits;
  for (const clang::Stmt* stmt : Below(code.body())) {
    Edits inside;
    std::string left;
    for (const clang::VarDecl* variable : NumbersDeclared(code, stmt)) {
      const std::string type = code.Type(variable);
      const Sets sets = SetsOf(code, code.Parent(stmt), variable);
      for (const clang::Stmt* each : sets)
        inside.push_back({code.Begin(each), code.Begin(each), type + " "});
      if (!sets.empty()) continue;
      left += type + " " + variable->getNameAsString();
      if (variable->getInit() != nullptr) left += " = " + code.Text(variable->getInit());
      left += ";\n";
    }
    if (inside.empty()) continue;
    edits.push_back(code.Instead(stmt, left));
    edits.insert(edits.end(), inside.begin(), inside.end());
  }
  if (!edits.empty()) rewrites->push_back({"declared where set", code.Source(edits)});
}

}  // namespace whetstone
