#include "cpu_bench_worker/rewrite/analysis/containers.h"

namespace whetstone {

using clang::dyn_cast;
using clang::isa;

namespace {

bool IsOfStd(clang::QualType type, const char* name) {
  const clang::CXXRecordDecl* record = type.getNonReferenceType()->getAsCXXRecordDecl();
  return record != nullptr && record->isInStdNamespace() && record->getIdentifier() != nullptr &&
         record->getName() == name;
}

}  // namespace

bool IsVector(clang::QualType type) { return IsOfStd(type, "vector"); }
bool IsString(clang::QualType type) { return IsOfStd(type, "basic_string"); }
bool IsSpan(clang::QualType type) { return IsOfStd(type, "span"); }

std::vector<const clang::Expr*> MadeWith(const clang::Expr* expression) {
  for (const clang::Stmt* each : Below(expression)) {
    const auto* made = dyn_cast<clang::CXXConstructExpr>(each);
    if (made == nullptr) continue;
    std::vector<const clang::Expr*> arguments;
    for (const clang::Expr* argument : made->arguments())
      if (!isa<clang::CXXDefaultArgExpr>(argument)) arguments.push_back(argument);
    // Around the one that is written are those that copy it or move it.
    if (arguments.size() == 1 &&
        isa<clang::CXXConstructExpr>(arguments[0]->IgnoreImplicit()->IgnoreParens()))
      continue;
    return arguments;
  }
  return {};
}

std::optional<Container> AsContainer(const clang::Stmt* stmt) {
  const auto* declaration = dyn_cast<clang::DeclStmt>(stmt);
  const auto* variable = declaration != nullptr && declaration->isSingleDecl()
                             ? dyn_cast<clang::VarDecl>(declaration->getSingleDecl())
                             : nullptr;
  if (variable == nullptr || !variable->isLocalVarDecl() || variable->isStaticLocal() ||
      variable->getType().isConstQualified() || variable->getType()->isReferenceType() ||
      variable->getInit() == nullptr ||
      !isa<clang::CXXConstructExpr>(variable->getInit()->IgnoreImplicit()) ||
      Has<clang::InitListExpr, clang::CXXStdInitializerListExpr>(variable->getInit()) ||
      (!IsVector(variable->getType()) && !IsString(variable->getType())))
    return std::nullopt;
  return Container{variable, MadeWith(variable->getInit())};
}

const clang::CXXMemberCallExpr* AsCallOf(const clang::Stmt* stmt, const clang::VarDecl* variable,
                                         const char* name) {
  if (const auto* whole = dyn_cast<clang::ExprWithCleanups>(stmt)) stmt = whole->getSubExpr();
  const auto* call = dyn_cast<clang::CXXMemberCallExpr>(stmt);
  if (call == nullptr || call->getMethodDecl() == nullptr ||
      call->getMethodDecl()->getIdentifier() == nullptr ||
      call->getMethodDecl()->getName() != name ||
      NamedVariable(call->getImplicitObjectArgument()) != variable)
    return nullptr;
  return call;
}

}  // namespace whetstone
