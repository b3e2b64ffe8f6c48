#include "cpu_bench_worker/screen/rules.h"

#include <algorithm>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/Basic/SourceManager.h"
#include "cpu_bench_worker/screen/forbidden_calls.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

// Returns whether an attribute only steers how code is made. Everything else is refused: section,
// alias, ifunc, constructor, weak, used, naked, cleanup, symver …
bool HarmlessAttribute(clang::attr::Kind kind) {
  switch (kind) {
    case clang::attr::AlwaysInline:
    case clang::attr::NoInline:
    case clang::attr::Flatten:
    case clang::attr::Hot:
    case clang::attr::Cold:
    case clang::attr::Const:
    case clang::attr::Pure:
    case clang::attr::NoThrow:
    case clang::attr::Leaf:
    case clang::attr::Restrict:
    case clang::attr::NoAlias:
    case clang::attr::NonNull:
    case clang::attr::ReturnsNonNull:
    case clang::attr::AssumeAligned:
    case clang::attr::AllocAlign:
    case clang::attr::AllocSize:
    case clang::attr::Aligned:
    case clang::attr::AlignValue:
    case clang::attr::Packed:
    case clang::attr::MaxFieldAlignment:
    case clang::attr::MayAlias:
    case clang::attr::Unused:
    case clang::attr::Deprecated:
    case clang::attr::WarnUnusedResult:
    case clang::attr::WarnUnused:
    case clang::attr::NoReturn:
    case clang::attr::CXX11NoReturn:
    case clang::attr::NoUniqueAddress:
    case clang::attr::Final:
    case clang::attr::Override:
    case clang::attr::MinVectorWidth:
    case clang::attr::OptimizeNone:
    case clang::attr::MinSize:
    case clang::attr::LoopHint:
    case clang::attr::OMPDeclareSimdDecl:
    case clang::attr::Uninitialized:
    case clang::attr::NoStackProtector:
    case clang::attr::NoSplitStack:
    case clang::attr::ConstInit:
    case clang::attr::Assumption:
    case clang::attr::TrivialABI:
    case clang::attr::Annotate:
      return true;
    default:
      return false;
  }
}

// Returns whether an attribute says of a header's function that it does nothing but compute.
bool OnlyComputing(clang::attr::Kind kind) {
  return kind == clang::attr::Const || kind == clang::attr::Pure || kind == clang::attr::NoThrow ||
         kind == clang::attr::Leaf;
}

bool IsTarget(clang::attr::Kind kind) {
  return kind == clang::attr::Target || kind == clang::attr::TargetClones ||
         kind == clang::attr::TargetVersion;
}

class Visitor : public clang::RecursiveASTVisitor<Visitor> {
 public:
  Visitor(clang::ASTContext* context, const ScreenRules& rules, ScreenFindings* findings)
      : context_(*context),
        sources_(context->getSourceManager()),
        rules_(rules),
        findings_(findings) {}

  bool shouldVisitTemplateInstantiations() const { return true; }

  bool VisitDecl(clang::Decl* decl) {
    const bool again = DeclaresNumbersAgain(decl);
    for (const clang::Attr* attribute : decl->attrs()) {
      if (attribute->isImplicit() || attribute->isInherited()) continue;
      if (!attribute->getLocation().isValid()) continue;
      const std::string name = attribute->getSpelling();
      if (IsTarget(attribute->getKind()) && !again) {
        if (!rules_.allows("target"))
          Forbid(attribute->getLocation(), "attribute " + name + " is not allowed in this problem");
      } else if (!HarmlessAttribute(attribute->getKind()) ||
                 (again && !OnlyComputing(attribute->getKind()))) {
        Forbid(attribute->getLocation(), "attribute " + name + " is not allowed");
      }
    }
    return true;
  }

  bool VisitNamedDecl(clang::NamedDecl* decl) {
    // A header's function keeps its name: it says what the program does.
    if (decl->getIdentifier() != nullptr && !DeclaresNumbersAgain(decl))
      findings_->declared.insert(decl->getName().str());
    return true;
  }

  bool VisitLinkageSpecDecl(clang::LinkageSpecDecl* decl) {
    Forbid(decl->getLocation(), "extern \"C\" is not allowed");
    return true;
  }

  bool VisitFileScopeAsmDecl(clang::FileScopeAsmDecl* decl) {
    Forbid(decl->getLocation(), "assembly outside a function is not allowed");
    return true;
  }

  bool VisitAsmStmt(clang::AsmStmt* statement) {
    if (!rules_.allows("asm")) Forbid(statement->getAsmLoc(), "inline assembly is not allowed");
    return true;
  }

  bool VisitFunctionDecl(clang::FunctionDecl* function) {
    if (function->isImplicit()) return true;
    const std::string name = function->getNameAsString();
    if (function->isMain()) {
      Forbid(function->getLocation(), "main is not allowed; define only " + rules_.signature);
    } else if (function->isReplaceableGlobalAllocationFunction()) {
      Forbid(function->getLocation(), "replacing operator new or delete is not allowed");
    } else if (function->isThisDeclarationADefinition() && function->isExternC()) {
      Forbid(function->getLocation(), "defining the C function " + name + " is not allowed");
    } else if (DeclaresNumbersAgain(function)) {
      return true;
    } else if (!function->isDefined() && !function->isDeleted() && !function->isDefaulted() &&
               !function->isPure() &&
               function->getTemplatedKind() == clang::FunctionDecl::TK_NonTemplate &&
               !function->isDependentContext()) {
      Forbid(function->getLocation(), "the function " + name + " is declared but not defined");
    }
    return true;
  }

  bool VisitVarDecl(clang::VarDecl* variable) {
    if (isa<clang::ParmVarDecl>(variable) || !variable->hasGlobalStorage()) return true;
    const std::string name = variable->getNameAsString();
    if (variable->hasDefinition() == clang::VarDecl::DeclarationOnly) {
      Forbid(variable->getLocation(), "the variable " + name + " is declared but not defined");
      return true;
    }
    const clang::QualType type = variable->getType();
    // What a template initialises is seen only where clang makes it of the template, which it need
    // not do.
    const clang::Expr* const made = variable->getInit();
    if (!variable->isStaticLocal() && !variable->isConstexpr() &&
        (type->isDependentType() || (made != nullptr && made->isValueDependent()))) {
      Forbid(variable->getLocation(),
             "the variable " + name +
                 " is initialised before the function is called, by a template; make it constexpr "
                 "or a static local");
      return true;
    }
    if (type->isDependentType()) return true;
    if (!rules_.allows("static") && !type.isConstQualified())
      Forbid(variable->getLocation(),
             "static data that can change (" + name + ") is not allowed in this problem");
    // It is initialised inside a call, where it counts.
    if (variable->isStaticLocal()) return true;
    const clang::Expr* init = variable->getInit();
    if (init != nullptr && !init->isValueDependent() && !LeavesZeros(*init) &&
        !variable->hasConstantInitialization())
      Forbid(variable->getLocation(), "the variable " + name +
                                          " is initialised before the function is called; use a "
                                          "constant or a static local");
    else if (variable->needsDestruction(context_) != clang::QualType::DK_none)
      Forbid(variable->getLocation(), "the variable " + name + " runs code when the program ends");
    return true;
  }

  bool VisitDeclRefExpr(clang::DeclRefExpr* reference) {
    const auto* function = dyn_cast<clang::FunctionDecl>(reference->getDecl());
    if (function != nullptr && !DefinedHere(*function))
      CheckCall(*function, reference->getLocation());
    return true;
  }

  // A call in a template whose arguments depend on it: which function it is shows only when it is
  // made, which clang need not do.
  bool VisitUnresolvedLookupExpr(clang::UnresolvedLookupExpr* lookup) {
    std::vector<const clang::FunctionDecl*> functions;
    for (const clang::NamedDecl* decl : lookup->decls())
      if (const clang::FunctionDecl* function = decl->getUnderlyingDecl()->getAsFunction())
        functions.push_back(function);
    // Of its own functions of that name it means one.
    for (const clang::FunctionDecl* function : functions)
      if (DefinedHere(*function)) return true;
    for (const clang::FunctionDecl* function : functions)
      CheckCall(*function, lookup->getNameLoc());
    return true;
  }

  bool VisitMemberExpr(clang::MemberExpr* member) {
    const auto* function = dyn_cast<clang::FunctionDecl>(member->getMemberDecl());
    if (function != nullptr && !DefinedHere(*function))
      CheckCall(*function, member->getMemberLoc());
    return true;
  }

  bool VisitCXXConstructExpr(clang::CXXConstructExpr* construct) {
    const std::string name = construct->getConstructor()->getParent()->getQualifiedNameAsString();
    const std::string why = ForbiddenClass(name, rules_);
    if (!why.empty()) Forbid(construct->getLocation(), name + " is not allowed: it " + why);
    return true;
  }

 private:
  void CheckCall(const clang::FunctionDecl& function, clang::SourceLocation at) {
    const std::string name = function.getQualifiedNameAsString();
    const std::string why = ForbiddenCall(name, rules_);
    if (!why.empty()) Forbid(at, name + " is not allowed: it " + why);
  }

  // A header's function that takes numbers and gives one, as exp: who declares it again may say
  // that it does nothing else, and ask for its form for vectors. What calls it is checked as any
  // call is.
  bool DeclaresNumbersAgain(const clang::Decl* decl) const {
    const auto* function = dyn_cast<clang::FunctionDecl>(decl);
    if (function == nullptr) return false;
    const clang::FunctionDecl* first = function->getCanonicalDecl();
    if (first == function || first->isImplicit() || function->isThisDeclarationADefinition() ||
        !function->isExternC() ||
        sources_.isInMainFile(sources_.getExpansionLoc(first->getLocation())) ||
        function->getNumParams() == 0 || function->isNoReturn() ||
        !function->getReturnType()->isRealFloatingType())
      return false;
    return std::all_of(function->param_begin(), function->param_end(),
                       [](const clang::ParmVarDecl* parameter) {
                         return parameter->getType()->isRealFloatingType();
                       });
  }

  // An object whose constructor does nothing: static data is zero before the program starts.
  static bool LeavesZeros(const clang::Expr& init) {
    const auto* construct = dyn_cast<clang::CXXConstructExpr>(&init);
    return construct != nullptr && construct->getConstructor()->isTrivial() &&
           construct->getNumArgs() == 0;
  }

  bool DefinedHere(const clang::FunctionDecl& function) const {
    const clang::FunctionDecl* definition = nullptr;
    return function.isDefined(definition) &&
           sources_.isInMainFile(sources_.getExpansionLoc(definition->getLocation()));
  }

  void Forbid(clang::SourceLocation location, const std::string& what) {
    const clang::SourceLocation at = sources_.getExpansionLoc(location);
    if (!sources_.isInMainFile(at)) return;  // This is an instantiation of the library's own code.
    std::string line = "line " + std::to_string(sources_.getExpansionLineNumber(at)) + ": " + what;
    for (const std::string& known : findings_->forbidden)
      if (known == line) return;
    findings_->forbidden.push_back(std::move(line));
  }

  clang::ASTContext& context_;
  const clang::SourceManager& sources_;
  const ScreenRules& rules_;
  ScreenFindings* findings_;
};

// Finds the asked function: it is at global scope, has C++ linkage and a body, and is visible to
// the linker.
void FindFunction(clang::ASTContext* context, const std::vector<clang::Decl*>& declarations,
                  const ScreenRules& rules, ScreenFindings* findings) {
  for (const clang::Decl* decl : declarations) {
    const auto* function = dyn_cast<clang::FunctionDecl>(decl);
    if (function == nullptr || !function->getDeclName().isIdentifier() ||
        function->getName() != rules.function || !function->isThisDeclarationADefinition())
      continue;
    const std::string type = FunctionType(*context, *function);
    if (type == rules.type && function->isExternallyVisible() && !function->isInlined()) {
      findings->function_defined = true;
    } else if (findings->near_miss.empty()) {
      findings->near_miss = function->getStorageClass() == clang::SC_Static ? "static " : "";
      if (function->isInlined()) findings->near_miss += "inline ";
      findings->near_miss += type;
    }
  }
}

}  // namespace

std::string FunctionType(const clang::ASTContext& context, const clang::FunctionDecl& function) {
  clang::PrintingPolicy policy(context.getLangOpts());
  clang::QualType type = function.getType();
  const auto* prototype = type->getAs<clang::FunctionProtoType>();
  if (prototype != nullptr && prototype->hasExceptionSpec()) {
    clang::FunctionProtoType::ExtProtoInfo info = prototype->getExtProtoInfo();
    info.ExceptionSpec = {};
    type = const_cast<clang::ASTContext&>(context).getFunctionType(
        prototype->getReturnType(), prototype->getParamTypes(), info);
  }
  return type.getCanonicalType().getAsString(policy);
}

void CheckRules(clang::ASTContext* context, const std::vector<clang::Decl*>& declarations,
                const ScreenRules& rules, ScreenFindings* findings) {
  FindFunction(context, declarations, rules, findings);
  Visitor visitor(context, rules, findings);
  for (clang::Decl* decl : declarations) visitor.TraverseDecl(decl);
}

std::string UnknownAttributeProblem(const std::string& name) {
  for (const char* harmless : {"optimize", "noipa", "noclone", "no_icf", "artificial", "simd"})
    if (name == harmless) return "";
  return "attribute " + name + " is not allowed";
}

}  // namespace whetstone
