#include "cpu_bench_worker/screen/techniques.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/AST/Type.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr int kDeepNest = 4;

class Tagger : public clang::RecursiveASTVisitor<Tagger> {
 public:
  Tagger(clang::ASTContext* context, ScreenFindings* findings)
      : context_(*context), tags_(findings->techniques) {}

  bool TraverseForStmt(clang::ForStmt* loop) {
    const int loops_before = loops_inside_;
    loops_inside_ = 0;
    ++depth_;
    if (depth_ >= kDeepNest) tags_.insert("blocking");
    const bool go_on = RecursiveASTVisitor::TraverseForStmt(loop);
    --depth_;
    if (StepsByMoreThanOne(loop->getInc()))
      tags_.insert(loops_inside_ > 0 ? "blocking" : "unrolling");
    loops_inside_ = loops_before + 1;
    return go_on;
  }

  bool VisitConditionalOperator(clang::ConditionalOperator*) {
    if (depth_ > 0) tags_.insert("branchless");
    return true;
  }

  bool VisitDeclRefExpr(clang::DeclRefExpr* reference) {
    const auto* function = dyn_cast<clang::FunctionDecl>(reference->getDecl());
    if (function == nullptr) return true;
    const std::string name = function->getQualifiedNameAsString();
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    if (name.rfind("_mm", 0) == 0) tags_.insert("simd_intrinsics");
    if (has("prefetch")) tags_.insert("prefetch");
    if (has("fmadd") || has("fmsub") || name == "fma" || name == "std::fma") tags_.insert("fma");
    if (name == "malloc" || name == "aligned_alloc") tags_.insert("heap_scratch");
    if (name == "std::async" || name == "pthread_create") tags_.insert("threads");
    for (const char* algorithm :
         {"std::sort", "std::nth_element", "std::partition", "std::copy", "std::fill",
          "std::transform", "std::accumulate", "std::inclusive_scan"})
      if (name == algorithm) tags_.insert("std_algorithm");
    return true;
  }

  bool VisitCXXNewExpr(clang::CXXNewExpr*) {
    tags_.insert("heap_scratch");
    return true;
  }

  bool VisitVarDecl(clang::VarDecl* variable) {
    const clang::QualType type = variable->getType();
    if (type.isRestrictQualified()) tags_.insert("restrict");
    if (type->isVectorType() && !WrittenAsIntrinsicType(type)) tags_.insert("vector_extension");
    if (const auto* record = type->getAsCXXRecordDecl();
        record != nullptr && record->getQualifiedNameAsString() == "std::vector")
      tags_.insert("heap_scratch");
    if (variable->hasGlobalStorage())
      tags_.insert(type.isConstQualified() ? "lookup_table" : "static_buffer");
    return true;
  }

  bool VisitFunctionDecl(clang::FunctionDecl* function) {
    if (function->hasAttr<clang::TargetAttr>() || function->hasAttr<clang::TargetClonesAttr>())
      tags_.insert("target");
    return true;
  }

 private:
  static bool WrittenAsIntrinsicType(clang::QualType type) {
    return type.getAsString().find("__m") != std::string::npos;
  }

  // Returns whether `step` is such as i += 8 or i = i + 8: anything but ++i and i += 1.
  bool StepsByMoreThanOne(const clang::Expr* step) const {
    const auto* operation = llvm::dyn_cast_or_null<clang::BinaryOperator>(step);
    if (operation == nullptr || !operation->isAssignmentOp()) return false;
    const clang::Expr* amount = operation->getRHS()->IgnoreParenImpCasts();
    if (const auto* sum = dyn_cast<clang::BinaryOperator>(amount))
      amount = sum->getRHS()->IgnoreParenImpCasts();
    if (amount->isValueDependent()) return true;
    clang::Expr::EvalResult value;
    if (!amount->EvaluateAsInt(value, context_)) return true;
    return value.Val.getInt().getExtValue() != 1;
  }

  clang::ASTContext& context_;
  std::set<std::string>& tags_;
  int depth_ = 0;
  int loops_inside_ = 0;
};

}  // namespace

void TagTechniques(clang::ASTContext* context, const std::vector<clang::Decl*>& declarations,
                   const std::string& source, ScreenFindings* findings) {
  Tagger tagger(context, findings);
  for (clang::Decl* decl : declarations) tagger.TraverseDecl(decl);
  // Pragmas leave no trace in the tree that both compilers agree on.
  const auto has = [&](const char* text) { return source.find(text) != std::string::npos; };
  if (has("#pragma GCC unroll") || has("#pragma unroll")) findings->techniques.insert("unrolling");
  if (has("#pragma omp simd") || has("#pragma GCC ivdep"))
    findings->techniques.insert("pragma_simd");
  if (has("#pragma omp parallel") || has("std::thread")) findings->techniques.insert("threads");
  if (has("#pragma GCC target")) findings->techniques.insert("target");
}

}  // namespace whetstone
