#include "cpu_bench_worker/rewrite/analysis/helper_functions.h"

#include <algorithm>

#include "clang/AST/Attr.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;
using clang::isa_and_nonnull;

bool Assigns(const clang::Stmt* stmt) { return AsAssignment(stmt).has_value(); }

// Whether what is assigned is a variable of the function or a part of one.
bool AssignsOwn(const clang::FunctionDecl* definition, const clang::Stmt* assignment) {
  const clang::Expr* target = AsWritten(llvm::cast<clang::Expr>(*assignment->child_begin()));
  while (true) {
    const auto* member = dyn_cast<clang::MemberExpr>(target);
    const auto* element = dyn_cast<clang::ArraySubscriptExpr>(target);
    if (member != nullptr && !member->isArrow())
      target = AsWritten(member->getBase());
    else if (element != nullptr && AsWritten(element->getBase())->getType()->isArrayType())
      target = AsWritten(element->getBase());
    else
      break;
  }
  const clang::VarDecl* variable = NamedVariable(target);
  return variable != nullptr && variable->getDeclContext() == definition &&
         !variable->getType()->isReferenceType();
}

// Whether a declaration can be put elsewhere as it is written, but for its names.
bool CanMove(const clang::DeclStmt* declaration) {
  return std::all_of(
      declaration->decl_begin(), declaration->decl_end(), [](const clang::Decl* decl) {
        const auto* variable = dyn_cast<clang::VarDecl>(decl);
        return variable != nullptr && !isa<clang::DecompositionDecl>(decl) &&
               (!variable->isStaticLocal() || variable->getType().isConstQualified());
      });
}

// Whether a function is a plain one whose text means the same elsewhere.
bool MeansTheSame(const FunctionCode& code, const clang::FunctionDecl* definition) {
  const clang::Stmt* body = definition->getBody();
  if (isa<clang::CXXMethodDecl>(definition) || definition->isVariadic() ||
      definition->getTemplatedKind() != clang::FunctionDecl::TK_NonTemplate ||
      definition->hasAttr<clang::TargetAttr>() || !isa_and_nonnull<clang::CompoundStmt>(body) ||
      code.At(definition->getEndLoc()) >= code.Begin(code.body()) ||
      Has<clang::LambdaExpr, clang::StmtExpr, clang::PredefinedExpr,
          clang::BinaryConditionalOperator>(body))
    return false;
  for (const clang::ParmVarDecl* parameter : definition->parameters()) {
    const clang::QualType type = parameter->getType().getNonReferenceType();
    if (type->isArrayType() || type->isFunctionPointerType() || type->isFunctionType() ||
        (type->isPointerType() && type->getPointeeType()->isArrayType()))
      return false;
  }
  for (const clang::Stmt* each : Below(body)) {
    if (NamedVariable(each) != nullptr && each->getBeginLoc().isMacroID()) return false;
    // Who calls itself, or one below that may call it back, has no end.
    const auto* call = dyn_cast<clang::CallExpr>(each);
    const clang::FunctionDecl* callee = call == nullptr ? nullptr : WrittenHere(code, call);
    if (callee != nullptr && code.At(callee->getBeginLoc()) >= code.At(definition->getBeginLoc()))
      return false;
  }
  return true;
}

// Whether a statement can stand somewhere else: declarations, expressions, loops and conditions
// that end where they end.
bool IsPlainStatement(const clang::Stmt* stmt) {
  const std::vector<const clang::Stmt*> parts = Below(stmt);
  return std::all_of(parts.begin(), parts.end(), [](const clang::Stmt* each) {
    if (const auto* declaration = dyn_cast<clang::DeclStmt>(each)) return CanMove(declaration);
    if (const auto* loop = dyn_cast<clang::ForStmt>(each))
      return loop->getConditionVariable() == nullptr;
    if (const auto* loop = dyn_cast<clang::WhileStmt>(each))
      return loop->getConditionVariable() == nullptr;
    if (isa<clang::IfStmt>(each)) return AsPlainIf(each) != nullptr;
    return isa<clang::Expr, clang::CompoundStmt, clang::DoStmt, clang::CXXForRangeStmt,
               clang::BreakStmt, clang::ContinueStmt, clang::NullStmt>(each);
  });
}

}  // namespace

const clang::FunctionDecl* WrittenHere(const FunctionCode& code, const clang::CallExpr* call) {
  const clang::FunctionDecl* callee = call->getDirectCallee();
  const clang::FunctionDecl* definition = callee == nullptr ? nullptr : callee->getDefinition();
  if (definition == nullptr || definition->getBeginLoc().isMacroID() ||
      !code.context().getSourceManager().isInMainFile(definition->getBeginLoc()))
    return nullptr;
  return definition;
}

std::optional<Helper> AsHelper(const FunctionCode& code, const clang::FunctionDecl* definition) {
  if (!MeansTheSame(code, definition)) return std::nullopt;
  Helper helper{.definition = definition, .first = StatementsOf(definition->getBody())};
  if (helper.first.empty()) return std::nullopt;
  const auto* end = dyn_cast<clang::ReturnStmt>(helper.first.back());
  helper.value = end == nullptr ? dyn_cast<clang::Expr>(helper.first.back()) : end->getRetValue();
  const bool nothing = definition->getReturnType()->isVoidType();
  if ((helper.value == nullptr && !nothing) || nothing != (end == nullptr)) return std::nullopt;
  if (helper.value != nullptr) helper.first.pop_back();
  while (!helper.first.empty()) {
    const clang::IfStmt* guard = AsGuard(helper.first.back());
    const std::vector<const clang::Stmt*> then =
        guard == nullptr ? std::vector<const clang::Stmt*>{} : StatementsOf(guard->getThen());
    const auto* returned = then.size() == 1 ? dyn_cast<clang::ReturnStmt>(then[0]) : nullptr;
    if (returned == nullptr || returned->getRetValue() == nullptr) break;
    helper.guards.insert(helper.guards.begin(), {guard->getCond(), returned->getRetValue()});
    helper.first.pop_back();
  }
  // A number is chosen, of the type that is returned.
  if (!helper.guards.empty() && !definition->getReturnType()->isArithmeticType())
    return std::nullopt;
  for (const clang::Stmt* each : helper.first)
    if (!IsPlainStatement(each)) return std::nullopt;
  for (const clang::Stmt* each : Below(definition->getBody()))
    helper.quiet &= !Assigns(each) || AssignsOwn(definition, each);
  return helper;
}

const clang::Expr* AsWritten(const clang::Expr* expression) {
  return expression->IgnoreUnlessSpelledInSource();
}

clang::QualType PlainType(clang::QualType type) {
  return type.getNonReferenceType().getCanonicalType().getUnqualifiedType();
}

bool IsClosed(const clang::Expr* expression) {
  const clang::Expr* bare = AsWritten(expression);
  return isa<clang::ParenExpr>(expression->IgnoreImplicit()) ||
         (isa<clang::CallExpr>(bare) && !isa<clang::CXXOperatorCallExpr>(bare)) ||
         isa<clang::DeclRefExpr, clang::IntegerLiteral, clang::FloatingLiteral,
             clang::CharacterLiteral, clang::CXXBoolLiteralExpr, clang::ArraySubscriptExpr,
             clang::MemberExpr, clang::CXXFunctionalCastExpr, clang::CXXTemporaryObjectExpr>(bare);
}

bool StandsApart(const clang::CallExpr* call, const clang::Stmt* around) {
  if (around == nullptr) return false;
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(around))
    return binary->isAssignmentOp() && AsWritten(binary->getRHS()) == call;
  return !isa<clang::Expr>(around) || isa<clang::ParenExpr, clang::InitListExpr>(around) ||
         (isa<clang::CallExpr>(around) && !isa<clang::CXXOperatorCallExpr>(around));
}

bool CallsOrAssigns(const clang::Stmt* stmt) {
  const std::vector<const clang::Stmt*> all = Below(stmt);
  return Has<clang::CallExpr>(stmt) || std::any_of(all.begin(), all.end(), Assigns);
}

const clang::BindingDecl* NamedBinding(const clang::Stmt* expression) {
  const auto* name = clang::dyn_cast_or_null<clang::DeclRefExpr>(expression);
  return name == nullptr ? nullptr : dyn_cast<clang::BindingDecl>(name->getDecl());
}

bool NamesBinding(const clang::Stmt* stmt) {
  const std::vector<const clang::Stmt*> all = Below(stmt);
  return std::any_of(all.begin(), all.end(),
                     [](const clang::Stmt* each) { return NamedBinding(each) != nullptr; });
}

bool OnlyRead(const clang::Stmt* stmt, const clang::VarDecl* variable, bool read) {
  if (stmt == nullptr) return true;
  if (const auto* name = dyn_cast<clang::DeclRefExpr>(stmt))
    return read || name->getDecl() != variable;
  if (const auto* cast = dyn_cast<clang::ImplicitCastExpr>(stmt)) {
    read = cast->getCastKind() == clang::CK_LValueToRValue || cast->getType().isConstQualified();
  } else if (!isa<clang::MemberExpr, clang::ParenExpr>(stmt)) {
    read = false;
  }
  return std::all_of(stmt->child_begin(), stmt->child_end(),
                     [&](const clang::Stmt* child) { return OnlyRead(child, variable, read); });
}

}  // namespace whetstone
