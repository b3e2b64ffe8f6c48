#include "cpu_bench_worker/rewrite/analysis/extents.h"

#include <optional>
#include <vector>

#include "clang/AST/ExprCXX.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/index_ranges.h"
#include "cpu_bench_worker/rewrite/analysis/math_calls.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;

constexpr int kVariablesDeep = 24;  // of variables that are made of others
constexpr size_t kLengthsMax = 3;   // that an array may have, of which it needs the longest

class ExtentReader {
 public:
  explicit ExtentReader(const FunctionCode& code) : code_(code), ranges_(code) {}

  Extents Read() {
    Extents extents;
    if (Has<clang::LambdaExpr>(code_.body())) return extents;  // What it does is its own.
    std::map<const clang::ParmVarDecl*, std::vector<Polynomial>> reached;
    for (const clang::Stmt* stmt : Below(code_.body())) {
      const auto* element = dyn_cast<clang::ArraySubscriptExpr>(stmt);
      if (element == nullptr) continue;
      AddSizes(element->getIdx(), &extents);
      std::optional<Polynomial> place = ranges_.Most(element->getIdx());
      const clang::ParmVarDecl* array = BaseOf(element->getBase(), &place);
      if (array == nullptr || !place) continue;
      place = ranges_.Resolved(*place + Polynomial(1));
      if (!place) continue;
      known_.insert(element);
      AddLength(*place, &reached[array]);
    }
    for (const auto& [array, lengths] : reached) {
      if (!AllKnown(array) || lengths.size() > kLengthsMax) continue;
      std::string text;
      bool may_be_none = true;  // at some sizes
      for (const Polynomial& length : lengths) {
        may_be_none = may_be_none && !(length - Polynomial(1)).IsNeverNegativeFrom1();
        text = text.empty() ? length.Text() : "max(" + length.Text() + ", " + text + ")";
        for (const auto& [names, factor] : length.terms())
          extents.sizes.insert(names.begin(), names.end());
      }
      extents.arrays[array->getNameAsString()] = may_be_none ? "max(1, " + text + ")" : text;
    }
    for (const clang::Stmt* stmt : Below(code_.body())) AddSizesOf(stmt, &extents);
    return extents;
  }

 private:
  // Adds what a statement says of sizes: they bound loops, end turns early, move pointers, or are
  // handed to others.
  void AddSizesOf(const clang::Stmt* stmt, Extents* extents) {
    if (const auto* loop = dyn_cast<clang::ForStmt>(stmt)) AddSizes(loop->getCond(), extents);
    if (const auto* loop = dyn_cast<clang::WhileStmt>(stmt)) AddSizes(loop->getCond(), extents);
    if (const auto* loop = dyn_cast<clang::DoStmt>(stmt)) AddSizes(loop->getCond(), extents);
    const auto* branch = dyn_cast<clang::IfStmt>(stmt);
    // What is compared with an element says nothing of how many there are.
    if (branch != nullptr && Has<clang::BreakStmt, clang::ReturnStmt>(branch) &&
        !Has<clang::ArraySubscriptExpr>(branch->getCond()))
      AddSizes(branch->getCond(), extents);
    const auto* sum = dyn_cast<clang::BinaryOperator>(stmt);
    if (sum != nullptr && sum->getType()->isPointerType() && !sum->isAssignmentOp())
      AddSizes(sum, extents);
    if (sum != nullptr && sum->isAssignmentOp() && sum->getLHS()->getType()->isPointerType())
      AddSizes(sum->getRHS(), extents);
    const auto* call = dyn_cast<clang::CallExpr>(stmt);
    if (call != nullptr && AsMathCall(code_, call) == nullptr &&
        (call->getDirectCallee() == nullptr || !call->getDirectCallee()->isInStdNamespace()))
      for (const clang::Expr* argument : call->arguments()) AddSizes(argument, extents);
    if (const auto* made = dyn_cast<clang::CXXNewExpr>(stmt); made != nullptr && made->isArray())
      AddSizes(*made->getArraySize(), extents);
    if (const auto* declaration = dyn_cast<clang::DeclStmt>(stmt))
      for (const clang::Decl* decl : declaration->decls()) {
        const auto* variable = dyn_cast<clang::VarDecl>(decl);
        if (variable == nullptr) continue;
        if (variable->getType()->isRecordType()) AddSizes(variable->getInit(), extents);
        if (const auto* array = code_.context().getAsVariableArrayType(variable->getType()))
          AddSizes(array->getSizeExpr(), extents);
      }
  }

  // Adds the parameters that an expression is made of, through all that variables are given.
  void AddSizes(const clang::Expr* expression, Extents* extents) {
    if (expression == nullptr) return;
    for (const clang::VarDecl* used : Used(expression)) {
      if (isa<clang::ParmVarDecl>(used) && used->getType()->isIntegerType())
        extents->sizes.insert(used->getNameAsString());
      if (!followed_.insert(used).second) continue;
      AddSizes(used->getInit(), extents);
      for (const clang::Stmt* stmt : Below(code_.body())) {
        const std::optional<Assignment> assignment = AsAssignment(stmt);
        if (!assignment || NamedVariable(assignment->target) != used) continue;
        AddSizes(assignment->value, extents);
        for (const clang::Stmt* at = code_.Parent(stmt); at != nullptr; at = code_.Parent(at))
          if (const auto* branch = dyn_cast<clang::IfStmt>(at))
            AddSizes(branch->getCond(), extents);
      }
    }
  }

  // Keeps those lengths of which none is at least another one.
  static void AddLength(const Polynomial& length, std::vector<Polynomial>* lengths) {
    for (const Polynomial& each : *lengths)
      if ((each - length).IsNeverNegativeFrom1()) return;
    std::erase_if(*lengths,
                  [&](const Polynomial& each) { return (length - each).IsNeverNegativeFrom1(); });
    lengths->push_back(length);
  }

  // Whether every mention of a pointer leads to an element whose place is known.
  bool AllKnown(const clang::VarDecl* pointer, int depth = kVariablesDeep) const {
    if (depth <= 0 || ranges_.MayChange(pointer)) return false;
    for (const clang::Stmt* each : Below(code_.body())) {
      const auto* name = dyn_cast<clang::DeclRefExpr>(each);
      if (name != nullptr && name->getDecl() == pointer && !LeadsToKnown(name, depth)) return false;
    }
    return true;
  }
  bool LeadsToKnown(const clang::Expr* name, int depth) const {
    const clang::Stmt* part = name;
    for (const clang::Stmt* at = code_.Parent(name); at != nullptr;
         part = at, at = code_.Parent(at)) {
      if (isa<clang::ParenExpr, clang::ImplicitCastExpr>(at)) continue;
      if (const auto* element = dyn_cast<clang::ArraySubscriptExpr>(at)) {
        const auto* address = dyn_cast_or_null<clang::UnaryOperator>(code_.Parent(at));
        if (address == nullptr || address->getOpcode() != clang::UO_AddrOf)
          return known_.count(element) > 0;
        continue;
      }
      if (const auto* address = dyn_cast<clang::UnaryOperator>(at)) {
        if (address->getOpcode() != clang::UO_AddrOf) return false;
        continue;
      }
      if (const auto* sum = dyn_cast<clang::BinaryOperator>(at)) {
        if (sum->getOpcode() != clang::BO_Add || !sum->getType()->isPointerType()) return false;
        continue;
      }
      const auto* declaration = dyn_cast<clang::DeclStmt>(at);
      if (declaration == nullptr) return false;
      for (const clang::Decl* decl : declaration->decls()) {
        const auto* variable = dyn_cast<clang::VarDecl>(decl);
        if (variable != nullptr && variable->getInit() == part)
          return variable->getType()->isPointerType() && AllKnown(variable, depth - 1);
      }
      return false;
    }
    return false;
  }

  // The parameter that an array begins in; *place is moved by where.
  const clang::ParmVarDecl* BaseOf(const clang::Expr* base, std::optional<Polynomial>* place,
                                   int depth = kVariablesDeep) const {
    const clang::Expr* bare = base->IgnoreParenImpCasts();
    if (depth <= 0) return nullptr;
    const auto moved = [&](const clang::Expr* from, const clang::Expr* by) {
      const std::optional<Polynomial> distance = ranges_.Most(by);
      if (!distance || !*place) return static_cast<const clang::ParmVarDecl*>(nullptr);
      *place = **place + *distance;
      return BaseOf(from, place, depth - 1);
    };
    if (const clang::VarDecl* variable = NamedVariable(bare)) {
      if (ranges_.MayChange(variable) || !variable->getType()->isPointerType()) return nullptr;
      if (const auto* parameter = dyn_cast<clang::ParmVarDecl>(variable)) return parameter;
      return variable->getInit() == nullptr ? nullptr
                                            : BaseOf(variable->getInit(), place, depth - 1);
    }
    const auto* sum = dyn_cast<clang::BinaryOperator>(bare);
    if (sum != nullptr && sum->getOpcode() == clang::BO_Add)
      return sum->getLHS()->getType()->isPointerType() ? moved(sum->getLHS(), sum->getRHS())
                                                       : moved(sum->getRHS(), sum->getLHS());
    const auto* address = dyn_cast<clang::UnaryOperator>(bare);
    const auto* element =
        address == nullptr || address->getOpcode() != clang::UO_AddrOf
            ? nullptr
            : dyn_cast<clang::ArraySubscriptExpr>(address->getSubExpr()->IgnoreParens());
    return element == nullptr ? nullptr : moved(element->getBase(), element->getIdx());
  }

  const FunctionCode& code_;
  const IndexRanges ranges_;
  std::set<const clang::Stmt*> known_;  // elements whose places are
  Variables followed_;                  // to what they are given
};

}  // namespace

Extents ExtentsOf(const FunctionCode& code) { return ExtentReader(code).Read(); }

}  // namespace whetstone
