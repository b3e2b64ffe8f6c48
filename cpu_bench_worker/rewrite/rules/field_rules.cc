#include <map>

#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;

// The fields of a variable's plain struct of numbers, in order; empty if it is anything else.
std::vector<const clang::FieldDecl*> FieldsOf(const clang::VarDecl* variable) {
  const clang::CXXRecordDecl* record = variable->getType()->getAsCXXRecordDecl();
  if (record == nullptr || !record->hasDefinition() || !record->isAggregate() ||
      record->getNumBases() > 0 || record->isUnion())
    return {};
  std::vector<const clang::FieldDecl*> fields;
  for (const clang::FieldDecl* field : record->fields()) {
    if (!field->getType()->isArithmeticType() || field->isBitField() || field->getName().empty())
      return {};
    fields.push_back(field);
  }
  return fields;
}

// The value that a struct says a field begins with; nothing where it is written elsewhere.
std::optional<std::string> DefaultValue(const FunctionCode& code, const clang::FieldDecl* field) {
  const clang::Expr* value = field->getInClassInitializer();
  if (value == nullptr || value->getBeginLoc().isMacroID() ||
      !code.context().getSourceManager().isInMainFile(value->getBeginLoc()))
    return std::nullopt;
  return " = " + code.Text(value);
}

// The value that a field begins with; nothing where the variable is declared in another way than
// with a list in braces, or without any value.
std::optional<std::string> FirstValue(const FunctionCode& code, const clang::VarDecl* variable,
                                      const clang::FieldDecl* field) {
  const auto* list = dyn_cast_or_null<clang::InitListExpr>(variable->getInit());
  if (list == nullptr) {
    const auto* made = dyn_cast_or_null<clang::CXXConstructExpr>(variable->getInit());
    const bool nothing =
        variable->getInit() == nullptr || (made != nullptr && made->getNumArgs() == 0);
    if (nothing && field->hasInClassInitializer()) return DefaultValue(code, field);
    return nothing ? std::optional<std::string>("") : std::nullopt;
  }
  const unsigned place = field->getFieldIndex();
  if (place >= list->getNumInits() || isa<clang::ImplicitValueInitExpr>(list->getInit(place)))
    return " = 0";
  return isa<clang::CXXDefaultInitExpr>(list->getInit(place))
             ? DefaultValue(code, field)
             : std::optional<std::string>(" = " + code.Text(list->getInit(place)));
}

}  // namespace

void FieldsInVariables(const FunctionCode& code, Rewrites* rewrites) {
  for (const clang::Stmt* stmt : Below(code.body())) {
    const auto* declaration = dyn_cast<clang::DeclStmt>(stmt);
    if (declaration == nullptr || !declaration->isSingleDecl()) continue;
    const auto* variable = dyn_cast<clang::VarDecl>(declaration->getSingleDecl());
    if (variable == nullptr || variable->isStaticLocal()) continue;
    const std::vector<const clang::FieldDecl*> fields = FieldsOf(variable);
    if (fields.empty()) continue;
    std::map<const clang::ValueDecl*, std::string> names;
    std::string declared;
    std::string whole;
    bool fits = true;
    for (size_t i = 0; i < fields.size() && fits; ++i) {
      const std::optional<std::string> first = FirstValue(code, variable, fields[i]);
      fits = first.has_value();
      if (!fits) break;
      const std::string name =
          code.Fresh({variable->getNameAsString() + "_" + fields[i]->getNameAsString()});
      names[fields[i]] = name;
      declared += (declared.empty() ? "" : "\n") + code.Type(fields[i]) + " " + name + *first + ";";
      whole += (whole.empty() ? "" : ", ") + name;
    }
    Edits edits = {code.Instead(stmt, declared)};
    bool used = false;
    for (const clang::Stmt* each : Below(code.body())) {
      if (NamedVariable(each) != variable || !isa<clang::DeclRefExpr>(each)) continue;
      const clang::Stmt* around = code.Parent(each);
      if (const auto* member = dyn_cast_or_null<clang::MemberExpr>(around)) {
        const auto name = names.find(member->getMemberDecl());
        fits &= name != names.end();
        if (fits) edits.push_back(code.Instead(member, name->second));
        used = true;
        continue;
      }
      // Elsewhere it is copied as a whole. What takes its place or address is not copied.
      const auto* call = dyn_cast_or_null<clang::CXXOperatorCallExpr>(around);
      fits &= !isa<clang::UnaryOperator>(around) &&
              (call == nullptr || (call->getNumArgs() == 2 && call->getArg(1) == each));
      edits.push_back({code.Begin(each), code.Begin(each) + variable->getName().size(),
                       code.Type(variable) + "{" + whole + "}"});
    }
    if (fits && used) rewrites->push_back({"fields in variables", code.Source(edits)});
  }
}

}  // namespace whetstone
