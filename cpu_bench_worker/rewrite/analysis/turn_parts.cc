#include "cpu_bench_worker/rewrite/analysis/turn_parts.h"

#include <algorithm>

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/containers.h"
#include "cpu_bench_worker/rewrite/analysis/helper_functions.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

// Whether what is given by value as this may be a view that is written through.
bool IsWrittenThrough(clang::QualType type) {
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr) return false;
  if (const auto* made = dyn_cast<clang::ClassTemplateSpecializationDecl>(record);
      made != nullptr && IsSpan(type))
    return !made->getTemplateArgs()[0].getAsType().isConstQualified();
  return !record->hasDefinition() || record->getNumBases() > 0 ||
         std::any_of(record->field_begin(), record->field_end(), [](const clang::FieldDecl* each) {
           return !each->getType()->isArithmeticType();
         });
}

bool AllKeepToThemselves(const FunctionCode& code, const clang::Stmt* stmt, int depth);

// Whether all that a call does is to return a value and to write to what it is given for that: a
// function of the program that knows nothing but its parameters, or one of the standard library.
bool KeepsToItself(const FunctionCode& code, const clang::CallExpr* call, int depth) {
  if (IsQuiet(code, call)) return true;
  const clang::FunctionDecl* callee = call->getDirectCallee();
  if (callee == nullptr || depth == 0) return false;
  if (const auto* operation = dyn_cast<clang::CXXOperatorCallExpr>(call)) {
    // What a function calls operators of is its own, or what it was given to write to.
    const clang::VarDecl* object = NamedVariable(operation->getArg(0));
    return depth < kDepthMax || operation->isAssignmentOp() ||
           operation->getOperator() == clang::OO_Subscript ||
           (object != nullptr && object->isImplicit());  // of a loop over a range
  }
  if (isa<clang::CXXMemberCallExpr>(call)) return true;
  if (const clang::FunctionDecl* definition = WrittenHere(code, call)) {
    for (const clang::ParmVarDecl* parameter : definition->parameters())
      if (IsWrittenThrough(parameter->getType())) return false;
    return !NamesState(definition->getBody()) && !Has<clang::LambdaExpr>(definition->getBody()) &&
           AllKeepToThemselves(code, definition->getBody(), depth - 1);
  }
  static const auto* const known = new std::set<std::string>{
      "accumulate",  "count",       "count_if",    "fill",        "inner_product", "iota",
      "max_element", "min_element", "nth_element", "partial_sum", "reduce",        "sort"};
  return callee->isInStdNamespace() && callee->getDeclName().isIdentifier() &&
         known->count(callee->getNameAsString()) > 0;
}

bool AllKeepToThemselves(const FunctionCode& code, const clang::Stmt* stmt, int depth) {
  const std::vector<const clang::Stmt*> parts = Below(stmt);
  return std::all_of(parts.begin(), parts.end(), [&](const clang::Stmt* each) {
    const auto* call = dyn_cast<clang::CallExpr>(each);
    return call == nullptr || KeepsToItself(code, call, depth);
  });
}

// Whether it takes long by more than divisions of its own.
bool LastsLong(const FunctionCode& code, const clang::Stmt* stmt) {
  const std::vector<const clang::Stmt*> parts = Below(stmt);
  return std::any_of(parts.begin(), parts.end(), [&](const clang::Stmt* each) {
    return !isa<clang::BinaryOperator>(each) && ComputesLong(code, each);
  });
}

Piece PieceOf(const FunctionCode& code, const clang::Stmt* stmt, const clang::VarDecl* variable) {
  const clang::Stmt* done = variable == nullptr ? stmt : variable->getInit();
  Piece piece{.stmt = stmt, .variable = variable, .named = {}, .written = {}};
  piece.movable = IsMovable(code, stmt);
  if (done != nullptr) {
    piece.named = Used(done);
    piece.written = Changed(done);
    piece.written.merge(Written(done));
    piece.takes_long = LastsLong(code, done);
    for (const clang::VarDecl* own : Declared(done)) {
      piece.named.erase(own);
      piece.written.erase(own);
    }
  }
  if (variable != nullptr) piece.written.insert(variable);
  return piece;
}

}  // namespace

bool IsMovable(const FunctionCode& code, const clang::Stmt* stmt) {
  if (HasOwn<clang::BreakStmt>(stmt) || HasOwn<clang::ContinueStmt>(stmt) || NamesState(stmt) ||
      NamesBinding(stmt) ||
      Has<clang::NullStmt, clang::ReturnStmt, clang::LabelStmt, clang::GotoStmt, clang::LambdaExpr,
          clang::CXXNewExpr, clang::CXXDeleteExpr, clang::CXXThrowExpr, clang::AsmStmt>(stmt))
    return false;
  for (const clang::VarDecl* own : Declared(stmt))
    if (own->isStaticLocal() || isa<clang::DecompositionDecl>(own)) return false;
  return AllKeepToThemselves(code, stmt, kDepthMax);
}

std::vector<Piece> PiecesOf(const FunctionCode& code,
                            const std::vector<const clang::Stmt*>& statements) {
  std::vector<Piece> pieces;
  for (const clang::Stmt* stmt : statements) {
    const auto* declaration = dyn_cast<clang::DeclStmt>(stmt);
    if (declaration == nullptr) {
      pieces.push_back(PieceOf(code, stmt, nullptr));
      continue;
    }
    for (const clang::Decl* decl : declaration->decls())
      if (const auto* variable = dyn_cast<clang::VarDecl>(decl))
        pieces.push_back(PieceOf(code, stmt, variable));
  }
  return pieces;
}

std::string TextOf(const FunctionCode& code, const Piece& piece, const Edits& edits) {
  const auto* declaration = dyn_cast<clang::DeclStmt>(piece.stmt);
  if (declaration == nullptr || declaration->isSingleDecl()) return code.Text(piece.stmt, edits);
  // Only types of numbers are written before the names of several.
  clang::QualType type = piece.variable->getType();
  std::string extent;
  if (const auto* array = code.context().getAsConstantArrayType(type)) {
    type = array->getElementType();
    extent = "[" + std::to_string(array->getSize().getZExtValue()) + "]";
  }
  const clang::Expr* value = piece.variable->getInit();
  const bool list = value != nullptr && isa<clang::InitListExpr>(value->IgnoreImplicit());
  return (type.isConstQualified() ? "const " : "") + code.Type(type) + " " +
         piece.variable->getNameAsString() + extent +
         (value == nullptr ? "" : (list ? " " : " = ") + code.Text(value, edits)) + ";";
}

PartPlaces PartWith(const std::vector<Piece>& pieces, size_t place) {
  Variables own;
  for (const Piece& each : pieces)
    if (each.variable != nullptr) own.insert(each.variable);
  PartPlaces part = {place};
  for (size_t before = 0; part.size() > before;) {
    before = part.size();
    Variables needed;
    for (const size_t each : part)
      for (const Variables* all : {&pieces[each].named, &pieces[each].written})
        std::set_intersection(all->begin(), all->end(), own.begin(), own.end(),
                              std::inserter(needed, needed.end()));
    for (size_t i = 0; i < pieces.size(); ++i)
      if (Share(pieces[i].written, needed)) part.insert(i);
  }
  return part;
}

std::optional<PartUse> UseOf(const std::vector<Piece>& pieces, const PartPlaces& part) {
  PartUse use;
  Variables made;  // by what takes long, and by what changes that
  const auto add = [&](size_t place) {
    use.gone.insert(place);
    made.insert(pieces[place].written.begin(), pieces[place].written.end());
  };
  for (const size_t each : part)
    if (pieces[each].takes_long) add(each);
  for (size_t before = 0; use.gone.size() > before;) {
    before = use.gone.size();
    for (const size_t each : part)
      if (use.gone.count(each) == 0 && Share(pieces[each].written, made)) add(each);
  }
  const PartPlaces replaced = use.gone;
  use.gone = part;  // but for what the rest needs
  Variables needed;
  for (size_t place = pieces.size(); place-- > 0;) {
    const Piece& piece = pieces[place];
    const bool rest = part.count(place) == 0;
    if (!rest && (replaced.count(place) > 0 || !Share(piece.written, needed))) continue;
    use.gone.erase(place);
    needed.insert(piece.named.begin(), piece.named.end());
    needed.insert(piece.written.begin(), piece.written.end());
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    const clang::VarDecl* variable = pieces[i].variable;
    if (variable != nullptr && part.count(i) > 0 && made.count(variable) > 0 &&
        needed.count(variable) > 0)
      use.results.push_back(variable);
    if (use.gone.count(i) > 0) continue;
    // It sees what the part makes in the end.
    for (const size_t later : replaced)
      if (later > i && Share(pieces[later].written, pieces[i].named)) return std::nullopt;
  }
  return use.results.empty() ? std::nullopt : std::optional(use);
}

}  // namespace whetstone
