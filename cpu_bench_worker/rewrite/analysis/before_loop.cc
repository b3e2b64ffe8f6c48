#include "cpu_bench_worker/rewrite/analysis/before_loop.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "clang/Basic/SourceManager.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/helper_functions.h"
#include "cpu_bench_worker/rewrite/analysis/math_calls.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;

// Adds the variable whose elements or fields are assigned to, and those that it points into.
void AddWritten(const clang::Expr* target, Variables* written) {
  const clang::Expr* base = target->IgnoreParenCasts();
  while (true) {
    const clang::Expr* within = nullptr;
    if (const auto* element = dyn_cast<clang::ArraySubscriptExpr>(base))
      within = element->getBase();
    else if (const auto* field = dyn_cast<clang::MemberExpr>(base))
      within = field->getBase();
    else if (const auto* pointed = dyn_cast<clang::UnaryOperator>(base))
      within = pointed->getSubExpr();
    else if (const auto* call = dyn_cast<clang::CXXOperatorCallExpr>(base))
      within = call->getArg(0);
    else if (const clang::BindingDecl* binding = NamedBinding(base))
      within = binding->getBinding();
    if (within == nullptr) break;
    base = within->IgnoreParenCasts();
  }
  const clang::Expr* whole = target->IgnoreParenCasts();
  for (const clang::VarDecl* variable : Used(base)) {
    const clang::QualType type = variable->getType();
    const bool pointer = type->isPointerType();
    // What a pointer is moved by is not written to.
    if (NamedVariable(base) == nullptr && !pointer && !type->isArrayType()) continue;
    const bool refers = type->isReferenceType() || (pointer && NamedVariable(whole) == nullptr);
    const bool new_one = written->insert(variable).second;
    if (new_one && refers && variable->getInit() != nullptr)
      AddWritten(variable->getInit(), written);
  }
}

// Adds what a call may write to through pointers and references.
void AddWrittenBy(const clang::CallExpr* call, Variables* written) {
  if (const auto* assigned = dyn_cast<clang::CXXOperatorCallExpr>(call)) {
    if (assigned->isAssignmentOp()) AddWritten(assigned->getArg(0), written);
    return;
  }
  const clang::FunctionDecl* callee = call->getDirectCallee();
  if (const auto* member = dyn_cast<clang::CXXMemberCallExpr>(call))
    if (const clang::CXXMethodDecl* method = member->getMethodDecl();
        method != nullptr && !method->isConst())
      AddWritten(member->getImplicitObjectArgument(), written);
  for (unsigned i = 0; i < call->getNumArgs(); ++i) {
    const bool known = callee != nullptr && i < callee->getNumParams();
    const clang::QualType type =
        known ? callee->getParamDecl(i)->getType() : call->getArg(i)->getType();
    const clang::QualType target = type->getPointeeType();
    if (!target.isNull() && !target.isConstQualified()) AddWritten(call->getArg(i), written);
  }
}

// Whether `around` may be done without this part of it.
bool Chooses(const clang::Stmt* around, const clang::Stmt* part) {
  if (const auto* branch = dyn_cast<clang::IfStmt>(around))
    return part == branch->getThen() || part == branch->getElse();
  if (const auto* choice = dyn_cast<clang::ConditionalOperator>(around))
    return part != choice->getCond();
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(around))
    return binary->isLogicalOp() && part == binary->getRHS();
  if (const auto* choice = dyn_cast<clang::SwitchStmt>(around)) return part == choice->getBody();
  if (const auto* loop = dyn_cast<clang::ForStmt>(around))
    return part == loop->getBody() || part == loop->getInc();
  if (const auto* loop = dyn_cast<clang::WhileStmt>(around)) return part == loop->getBody();
  if (const auto* loop = dyn_cast<clang::CXXForRangeStmt>(around)) return part == loop->getBody();
  return isa<clang::BinaryConditionalOperator>(around);
}

using Known = std::map<const clang::FunctionDecl*, bool>;

bool IsQuiet(const FunctionCode& code, const clang::CallExpr* call, Known* known);

// Whether a body, or another part of a function, does nothing but compute with what is its own.
bool IsQuietPart(const FunctionCode& code, const clang::FunctionDecl* function,
                 const clang::Stmt* part, Known* known);

bool IsQuietFunction(const FunctionCode& code, const clang::FunctionDecl* definition,
                     Known* known) {
  // What is asked for while it is looked at calls itself.
  const auto [at, is_new] = known->emplace(definition, false);
  if (!is_new) return at->second;
  bool quiet = IsQuietPart(code, definition, definition->getBody(), known);
  if (const auto* constructor = dyn_cast<clang::CXXConstructorDecl>(definition))
    for (const clang::CXXCtorInitializer* each : constructor->inits())
      quiet = quiet && IsQuietPart(code, definition, each->getInit(), known);
  return at->second = quiet;
}

bool IsQuietPart(const FunctionCode& code, const clang::FunctionDecl* function,
                 const clang::Stmt* part, Known* known) {
  if (Has<clang::LambdaExpr, clang::CXXNewExpr, clang::CXXDeleteExpr, clang::CXXThrowExpr,
          clang::AsmStmt>(part) ||
      NamesState(part))
    return false;
  Variables all = Written(part);
  all.merge(Changed(part));
  for (const clang::VarDecl* written : all)
    if (written->getDeclContext() != function || written->getType()->isReferenceType() ||
        written->getType()->isPointerType())
      return false;
  const std::vector<const clang::Stmt*> parts = Below(part);
  return std::all_of(parts.begin(), parts.end(), [&](const clang::Stmt* each) {
    if (const auto* made = dyn_cast<clang::CXXConstructExpr>(each)) {
      const clang::FunctionDecl* constructor = made->getConstructor()->getDefinition();
      return constructor == nullptr || !made->getConstructor()->isUserProvided() ||
             !code.context().getSourceManager().isInMainFile(constructor->getBeginLoc()) ||
             IsQuietFunction(code, constructor, known);
    }
    const auto* inner = dyn_cast<clang::CallExpr>(each);
    return inner == nullptr || IsQuiet(code, inner, known);
  });
}

// Whether v[i] only looks at what is there, unlike that of a map.
bool OnlyLooks(const clang::CXXOperatorCallExpr* element) {
  const auto* method = dyn_cast<clang::CXXMethodDecl>(element->getDirectCallee());
  if (element->getOperator() != clang::OO_Subscript || method == nullptr) return false;
  const std::string name = method->getParent()->getNameAsString();
  return method->isConst() ||
         (method->getParent()->isInStdNamespace() &&
          (name == "vector" || name == "array" || name == "span" || name == "basic_string"));
}

// Whether this is an element of an array or a container.
bool IsElement(const clang::Stmt* stmt) {
  const auto* call = dyn_cast<clang::CXXOperatorCallExpr>(stmt);
  return isa<clang::ArraySubscriptExpr>(stmt) ||
         (call != nullptr && call->getOperator() == clang::OO_Subscript);
}

// Whether this is v.size(), or asks a container of the standard library something like it.
bool AsksForSize(const clang::CallExpr* call) {
  const auto* member = dyn_cast<clang::CXXMemberCallExpr>(call);
  const clang::CXXMethodDecl* method = member == nullptr ? nullptr : member->getMethodDecl();
  return method != nullptr && method->getParent()->isInStdNamespace() && method->isConst() &&
         method->getIdentifier() != nullptr &&
         (method->getName() == "size" || method->getName() == "empty");
}

bool IsQuiet(const FunctionCode& code, const clang::CallExpr* call, Known* known) {
  const clang::FunctionDecl* callee = call->getDirectCallee();
  if (callee == nullptr) return false;
  if (AsksForSize(call)) return true;
  if (const auto* element = dyn_cast<clang::CXXOperatorCallExpr>(call)) return OnlyLooks(element);
  // A program may have a cbrt of its own.
  const clang::FunctionDecl* definition = WrittenHere(code, call);
  if (definition != nullptr)
    return !isa<clang::CXXMethodDecl>(definition) && IsQuietFunction(code, definition, known);
  if (AsMathCall(code, call) != nullptr) return true;
  const std::string name = callee->isInStdNamespace() ? callee->getNameAsString() : "";
  return name == "min" || name == "max" || name == "clamp" || name == "abs";
}

// The same with what is not `seen` yet.
bool ComputesLong(const FunctionCode& code, const clang::Stmt* stmt,
                  std::set<const clang::FunctionDecl*>* seen) {
  if (isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt>(stmt) || IsExpensive(code, stmt))
    return true;
  const auto* call = dyn_cast<clang::CallExpr>(stmt);
  const clang::FunctionDecl* called = call == nullptr ? nullptr : WrittenHere(code, call);
  if (called == nullptr || !seen->insert(called).second) return false;
  const std::vector<const clang::Stmt*> parts = Below(called->getBody());
  return std::any_of(parts.begin(), parts.end(),
                     [&](const clang::Stmt* each) { return ComputesLong(code, each, seen); });
}

}  // namespace

// Whether what stands behind the statement may be left out in a turn of the loop around it.
bool EndsTurn(const clang::Stmt* stmt) {
  if (stmt == nullptr) return false;
  if (isa<clang::ContinueStmt, clang::BreakStmt, clang::ReturnStmt, clang::GotoStmt>(stmt))
    return true;
  // These have a `break` of their own.
  if (IsLoop(stmt)) return Has<clang::ReturnStmt, clang::GotoStmt>(stmt);
  if (isa<clang::SwitchStmt>(stmt))
    return Has<clang::ContinueStmt, clang::ReturnStmt, clang::GotoStmt>(stmt);
  return std::any_of(stmt->child_begin(), stmt->child_end(), EndsTurn);
}

bool NamesState(const clang::Stmt* stmt) {
  const Variables named = Used(stmt);
  return std::any_of(named.begin(), named.end(), [](const clang::VarDecl* each) {
    return each->hasGlobalStorage() && !each->getType().isConstQualified();
  });
}

bool IsQuiet(const FunctionCode& code, const clang::CallExpr* call) {
  Known known;
  return IsQuiet(code, call, &known);
}

bool ComputesLong(const FunctionCode& code, const clang::Stmt* stmt) {
  std::set<const clang::FunctionDecl*> seen;
  return ComputesLong(code, stmt, &seen);
}

bool CallsAreQuiet(const FunctionCode& code, const clang::Stmt* stmt) {
  const std::vector<const clang::Stmt*> parts = Below(stmt);
  return std::all_of(parts.begin(), parts.end(), [&](const clang::Stmt* each) {
    const auto* call = dyn_cast<clang::CallExpr>(each);
    return call == nullptr || IsQuiet(code, call);
  });
}

bool OnlyComputes(const FunctionCode& code, const clang::Expr* expression) {
  if (Has<clang::LambdaExpr, clang::CXXNewExpr>(expression) || !Changed(expression).empty() ||
      NamesBinding(expression))
    return false;
  for (const clang::Stmt* each : Below(expression))
    if (const auto* call = dyn_cast<clang::CallExpr>(each);
        AsAssignment(each) || (call != nullptr && !IsQuiet(code, call)))
      return false;
  return true;
}

Variables Written(const clang::Stmt* stmt) {
  Variables written;
  for (const clang::Stmt* each : Below(stmt)) {
    if (const std::optional<Assignment> assignment = AsAssignment(each))
      AddWritten(assignment->target, &written);
    if (const auto* call = dyn_cast<clang::CallExpr>(each)) AddWrittenBy(call, &written);
  }
  return written;
}

Variables Varying(const clang::Stmt* stmt) {
  Variables varying = ChangedOrDeclared(stmt);
  varying.merge(Written(stmt));
  return varying;
}

bool IsAtom(const clang::Expr* expression) {
  return isa<clang::DeclRefExpr, clang::IntegerLiteral, clang::FloatingLiteral, clang::ParenExpr,
             clang::ArraySubscriptExpr, clang::MemberExpr, clang::CallExpr, clang::CXXNamedCastExpr,
             clang::CXXFunctionalCastExpr>(expression->IgnoreImplicit());
}

Variables VaryingOutside(const clang::Stmt* stmt) {
  Variables varying = Varying(stmt);
  for (const clang::VarDecl* own : Declared(stmt)) varying.erase(own);
  return varying;
}

bool HasKnownEnd(const FunctionCode& code, const Loop& loop) {
  Variables varying = Varying(loop.stmt);
  varying.insert(loop.var);
  return loop.last->IgnoreParenImpCasts()->getType()->isIntegerType() &&
         OnlyComputes(code, loop.last) && !Share(Used(loop.last), varying) &&
         Written(loop.stmt->getBody()).count(loop.var) == 0;
}

bool MayFault(const FunctionCode& code, const clang::Stmt* stmt) {
  if (const auto* field = dyn_cast<clang::MemberExpr>(stmt)) return field->isArrow();
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(stmt))
    return unary->getOpcode() == clang::UO_Deref;
  if (IsElement(stmt)) return true;
  if (const auto* call = dyn_cast<clang::CallExpr>(stmt)) {
    const clang::FunctionDecl* definition = WrittenHere(code, call);
    if (definition == nullptr) return false;
    const std::vector<const clang::Stmt*> parts = Below(definition->getBody());
    return std::any_of(parts.begin(), parts.end(), [&](const clang::Stmt* each) {
      const auto* inner = dyn_cast<clang::CallExpr>(each);
      return inner == nullptr ? MayFault(code, each) : WrittenHere(code, inner) != nullptr;
    });
  }
  const auto* binary = dyn_cast<clang::BinaryOperator>(stmt);
  if (binary == nullptr) return false;
  const clang::BinaryOperatorKind kind = binary->getOpcode();
  if ((kind != clang::BO_Div && kind != clang::BO_Rem) || !binary->getType()->isIntegerType())
    return false;
  const std::optional<int64_t> divisor = code.Constant(binary->getRHS());
  return !divisor || *divisor == 0 || *divisor == -1;
}

bool MaySkip(const FunctionCode& code, const std::vector<const Loop*>& loops,
             const clang::Stmt* part) {
  const clang::Stmt* outer = loops[0]->stmt;
  if (code.Begin(part) < code.Begin(outer) || code.End(part) > code.End(outer)) return false;
  for (; part != outer; part = code.Parent(part)) {
    const clang::Stmt* around = code.Parent(part);
    if (around == nullptr) return false;
    const bool counted = std::any_of(loops.begin(), loops.end(),
                                     [&](const Loop* loop) { return loop->stmt == around; });
    if (!counted && Chooses(around, part)) return true;
    if (!isa<clang::CompoundStmt>(around)) continue;
    for (const clang::Stmt* each : around->children()) {
      if (each == part) break;
      if (EndsTurn(each)) return true;
    }
  }
  return false;
}

bool IsReadAnyway(const FunctionCode& code, const std::vector<const Loop*>& loops,
                  const clang::Stmt* part) {
  const clang::Stmt* body = loops[0]->stmt->getBody();
  if (!IsElement(part) || Has<clang::BreakStmt, clang::ReturnStmt, clang::GotoStmt>(body))
    return false;
  const std::string text = code.Text(part);
  const Variables used = Used(part);
  const std::vector<const clang::Stmt*> all = Below(loops.back()->stmt->getBody());
  return std::any_of(all.begin(), all.end(), [&](const clang::Stmt* each) {
    const auto* around = dyn_cast_or_null<clang::UnaryOperator>(code.Parent(each));
    const bool only_place = around != nullptr && around->getOpcode() == clang::UO_AddrOf;
    return IsElement(each) && !only_place && code.Text(each) == text && Used(each) == used &&
           !MaySkip(code, loops, each);
  });
}

bool KeepsSteps(const FunctionCode& code, clang::QualType from, clang::QualType to) {
  if (!from->isArithmeticType() || !to->isArithmeticType() || to->isBooleanType()) return false;
  if (to->isRealFloatingType()) return true;
  return from->isIntegerType() &&
         code.context().getTypeSize(to) >= code.context().getTypeSize(code.context().IntTy);
}

std::string Negated(const std::string& value) {
  return value[0] == '-' ? "-(" + value + ")" : "-" + value;
}

}  // namespace whetstone
