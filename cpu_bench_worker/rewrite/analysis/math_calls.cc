#include "cpu_bench_worker/rewrite/analysis/math_calls.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "clang/Basic/SourceManager.h"

namespace whetstone {

using clang::dyn_cast;

namespace {

constexpr std::string_view kExpensive[] = {
    "acos",  "acosh", "asin", "asinh", "atan",  "atan2", "atanh", "cbrt",   "cos",   "cosh",
    "erf",   "erfc",  "exp",  "exp2",  "expm1", "fmod",  "hypot", "lgamma", "log",   "log10",
    "log1p", "log2",  "pow",  "sin",   "sinh",  "sqrt",  "tan",   "tanh",   "tgamma"};

bool IsExpensiveName(std::string_view name) {
  return std::find(std::begin(kExpensive), std::end(kExpensive), name) != std::end(kExpensive);
}

}  // namespace

std::string FloatingType(clang::QualType type) {
  const clang::QualType bare = type.getCanonicalType().getUnqualifiedType();
  if (bare->isSpecificBuiltinType(clang::BuiltinType::Float)) return "float";
  return bare->isSpecificBuiltinType(clang::BuiltinType::Double) ? "double" : "";
}

const clang::CallExpr* AsMathCall(const FunctionCode& code, const clang::Stmt* stmt) {
  const auto* call = dyn_cast<clang::CallExpr>(stmt);
  const clang::FunctionDecl* callee = call == nullptr ? nullptr : call->getDirectCallee();
  if (callee == nullptr || call->getNumArgs() == 0 || call->getBeginLoc().isMacroID() ||
      FloatingType(call->getType()).empty())
    return nullptr;
  const clang::SourceManager& sources = code.context().getSourceManager();
  if (callee->getBuiltinID() == 0 && !sources.isInSystemHeader(callee->getLocation()))
    return nullptr;
  for (const clang::Expr* argument : call->arguments())
    if (!argument->getType()->isArithmeticType()) return nullptr;
  return call;
}

std::string ExpensiveName(const clang::CallExpr* math_call) {
  const clang::FunctionDecl* callee = math_call->getDirectCallee();
  const std::string name = callee == nullptr ? "" : callee->getNameAsString();
  if (IsExpensiveName(name)) return name;
  const std::string_view plain(name.data(), name.empty() ? 0 : name.size() - 1);
  return !name.empty() && name.back() == 'f' && IsExpensiveName(plain) ? std::string(plain) : "";
}

bool IsExpensive(const FunctionCode& code, const clang::Stmt* stmt) {
  const clang::CallExpr* call = AsMathCall(code, stmt);
  if (call != nullptr) return !ExpensiveName(call).empty();
  const auto* division = dyn_cast<clang::BinaryOperator>(stmt);
  clang::Expr::EvalResult value;
  return division != nullptr &&
         (division->getOpcode() == clang::BO_Div || division->getOpcode() == clang::BO_Rem) &&
         !division->getRHS()->isValueDependent() &&
         !division->getRHS()->EvaluateAsRValue(value, code.context());
}

}  // namespace whetstone
