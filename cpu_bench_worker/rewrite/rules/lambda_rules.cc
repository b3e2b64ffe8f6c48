// Functions that a function is written with inside: rules know those that stand by themselves.
#include <algorithm>
#include <set>

#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "cpu_bench_worker/rewrite/analysis/helper_functions.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

// `const auto near = [&](int i) { … };`
struct NamedLambda {
  const clang::DeclStmt* declaration = nullptr;
  const clang::VarDecl* variable = nullptr;
  const clang::LambdaExpr* lambda = nullptr;
};

std::optional<NamedLambda> AsNamedLambda(const clang::Stmt* stmt) {
  const auto* declaration = dyn_cast<clang::DeclStmt>(stmt);
  if (declaration == nullptr || !declaration->isSingleDecl()) return std::nullopt;
  const auto* variable = dyn_cast<clang::VarDecl>(declaration->getSingleDecl());
  if (variable == nullptr || variable->getInit() == nullptr ||
      variable->getType()->isReferenceType() || variable->isStaticLocal())
    return std::nullopt;
  const auto* lambda =
      dyn_cast<clang::LambdaExpr>(variable->getInit()->IgnoreUnlessSpelledInSource());
  if (lambda == nullptr) return std::nullopt;
  return NamedLambda{declaration, variable, lambda};
}

const clang::CXXOperatorCallExpr* CallOf(const clang::Stmt* stmt, const clang::VarDecl* variable) {
  const auto* call = dyn_cast<clang::CXXOperatorCallExpr>(stmt);
  const bool calls = call != nullptr && call->getOperator() == clang::OO_Call &&
                     call->getNumArgs() > 0 && NamedVariable(call->getArg(0)) == variable;
  return calls ? call : nullptr;
}

// Whether its text means the same in a function by itself: it names nothing of the function around
// it but what it captures.
bool MeansTheSameApart(const clang::LambdaExpr* lambda) {
  const clang::CXXMethodDecl* call = lambda->getCallOperator();
  if (lambda->isGenericLambda() || lambda->isMutable() || call->isVariadic() ||
      Has<clang::LambdaExpr, clang::CXXThisExpr>(lambda->getBody()))
    return false;
  for (const clang::ParmVarDecl* parameter : call->parameters())
    if (parameter->hasDefaultArg()) return false;
  Variables captured;
  for (const clang::LambdaCapture& each : lambda->captures()) {
    const auto* variable =
        each.capturesVariable() ? dyn_cast<clang::VarDecl>(each.getCapturedVar()) : nullptr;
    if (variable == nullptr || variable->isInitCapture()) return false;
    captured.insert(variable);
  }
  const std::vector<const clang::Stmt*> parts = Below(lambda->getBody());
  return std::all_of(parts.begin(), parts.end(), [&](const clang::Stmt* each) {
    const auto* name = dyn_cast<clang::DeclRefExpr>(each);
    if (name == nullptr || name->getBeginLoc().isMacroID()) return name == nullptr;
    const clang::ValueDecl* named = name->getDecl();
    if (named->getDeclContext()->isFileContext() || named->getDeclContext() == call) return true;
    const auto* variable = dyn_cast<clang::VarDecl>(named);
    if (variable == nullptr) return !named->getDeclContext()->isFunctionOrMethod();
    return captured.count(variable) > 0;
  });
}

// The parameter that stands for what is captured; empty where none can.
std::string AsParameter(const FunctionCode& code, const clang::LambdaCapture& capture,
                        const clang::LambdaExpr* lambda, const clang::Stmt* block) {
  const auto* variable = llvm::cast<clang::VarDecl>(capture.getCapturedVar());
  const std::string name = variable->getNameAsString();
  const clang::QualType type = variable->getType().getNonReferenceType();
  const bool copied = capture.getCaptureKind() == clang::LCK_ByCopy;
  // A copy is what it was when it was made.
  if (copied && Changed(block).count(variable) > 0) return "";
  if (const clang::ArrayType* array = code.context().getAsArrayType(type)) {
    if (copied || array->getElementType()->isArrayType()) return "";
    return (array->getElementType().isConstQualified() ? "const " : "") +
           code.Type(array->getElementType()) + "* " + name;
  }
  const bool number = type->isArithmeticType() || type->isPointerType();
  if (number && (copied || OnlyRead(lambda->getBody(), variable)))
    return code.Type(type) + " " + name;
  const auto* record = type->getAsCXXRecordDecl();
  if (record != nullptr && (record->isLambda() || record->isLocalClass() != nullptr)) return "";
  return (copied || type.isConstQualified() ? "const " : "") + code.Type(type) + "& " + name;
}

// What stands between the parentheses behind the captures.
std::string ParametersOf(const FunctionCode& code, const std::string& source,
                         const clang::LambdaExpr* lambda) {
  if (!lambda->hasExplicitParameters()) return "";
  const size_t open = source.find('(', code.At(lambda->getIntroducerRange().getEnd()));
  int depth = 0;
  for (size_t at = open; at < code.Begin(lambda->getBody()); ++at) {
    depth += (source[at] == '(') - (source[at] == ')');
    if (depth == 0) return source.substr(open + 1, at - open - 1);
  }
  return "";
}

// Adds the edits that make a function of it, in front of the one it stands in.
void TakeOut(const FunctionCode& code, const NamedLambda& named, Edits* edits) {
  const std::string source = code.Source({});
  const clang::Stmt* block = code.Parent(named.declaration);
  if (block == nullptr || !MeansTheSameApart(named.lambda)) return;
  std::string parameters = ParametersOf(code, source, named.lambda), arguments;
  for (const clang::LambdaCapture& each : named.lambda->captures()) {
    const std::string parameter = AsParameter(code, each, named.lambda, block);
    if (parameter.empty()) return;
    parameters += (parameters.empty() ? "" : ", ") + parameter;
    arguments += (arguments.empty() ? "" : ", ") + each.getCapturedVar()->getNameAsString();
  }
  const std::string name = code.Fresh({named.variable->getNameAsString()});
  Edits calls;
  int mentions = 0;
  for (const clang::Stmt* each : Below(code.body())) {
    // Another one that captures it would need all that this one captures.
    if (const auto* other = dyn_cast<clang::LambdaExpr>(each)) {
      for (const clang::LambdaCapture& captured : other->captures())
        if (captured.capturesVariable() && captured.getCapturedVar() == named.variable) return;
    }
    if (isa<clang::DeclRefExpr>(each) && NamedVariable(each) == named.variable) ++mentions;
    const clang::CXXOperatorCallExpr* call = CallOf(each, named.variable);
    if (call == nullptr) continue;
    if (call->getBeginLoc().isMacroID() || call->getRParenLoc().isMacroID() ||
        code.Text(call->getArg(0)) != named.variable->getNameAsString())
      return;
    const size_t begin = code.Begin(call), end = code.At(call->getRParenLoc());
    calls.push_back({begin, begin + named.variable->getNameAsString().size(), name});
    if (!arguments.empty())
      calls.push_back({end, end, (call->getNumArgs() > 1 ? ", " : "") + arguments});
  }
  if (calls.empty() || static_cast<size_t>(mentions) != calls.size() / (arguments.empty() ? 1 : 2))
    return;
  clang::QualType returned = named.lambda->getCallOperator()->getReturnType();
  // What v.size() returns is known as size_type only within its class.
  if (returned->isArithmeticType()) returned = returned.getCanonicalType();
  edits->insert(edits->end(), calls.begin(), calls.end());
  edits->push_back(code.Instead(named.declaration, ""));
  edits->push_back({code.FunctionBegin(), code.FunctionBegin(),
                    "static " + code.Type(returned) + " " + name + "(" + parameters + ") " +
                        code.Text(named.lambda->getBody()) + "\n"});
}

}  // namespace

void LambdasApart(const FunctionCode& code, Rewrites* rewrites) {
  Edits all;
  std::set<std::string> names;
  for (const clang::Stmt* each : Below(code.body())) {
    const std::optional<NamedLambda> named = AsNamedLambda(each);
    // Another one of that name waits for its turn.
    if (!named || !names.insert(named->variable->getNameAsString()).second) continue;
    Edits edits;
    TakeOut(code, *named, &edits);
    const bool apart = std::all_of(edits.begin(), edits.end(), [&](const Edit& edit) {
      return std::none_of(all.begin(), all.end(), [&](const Edit& other) {
        return edit.begin < other.end && other.begin < edit.end;
      });
    });
    if (apart) all.insert(all.end(), edits.begin(), edits.end());
  }
  if (!all.empty()) rewrites->push_back({"a lambda by itself", code.Source(all)});
}

}  // namespace whetstone
