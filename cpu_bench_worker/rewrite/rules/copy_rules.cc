// Copies that a function makes at its beginning, of arrays that it is given, to have its containers
// and structs again.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "absl/strings/str_replace.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "cpu_bench_worker/rewrite/analysis/containers.h"
#include "cpu_bench_worker/rewrite/analysis/helper_functions.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;

// A part of a copy: "zones[].border[]", and the texts of its places.
struct CopiedPart {
  std::string steps;
  std::vector<std::string> places;
};
using Loops = std::vector<const Loop*>;
constexpr size_t kCopiedPlacesMax = 6;

std::string PlaceMark(size_t number) { return std::string(1, static_cast<char>(number + 1)); }

bool IsName(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

// Whether it is an element of what is given, or a flag or choice of one.
bool IsOfGiven(const FunctionCode& code, const clang::Expr* value) {
  const clang::Expr* bare = value->IgnoreParenCasts();
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(bare))
    return (binary->getOpcode() == clang::BO_And || binary->getOpcode() == clang::BO_Rem ||
            binary->getOpcode() == clang::BO_NE) &&
           code.Constant(binary->getRHS()).has_value() && IsOfGiven(code, binary->getLHS());
  const auto* element = dyn_cast<clang::ArraySubscriptExpr>(bare);
  return element == nullptr
             ? NamedVariable(bare) != nullptr
             : NamedVariable(element->getBase()) != nullptr && !CallsOrAssigns(element->getIdx());
}

// Whether what a pointer points to is copied into a container as it is.
bool HoldsSame(clang::QualType container, const clang::VarDecl* pointer) {
  const auto* record = dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(
      container.getNonReferenceType()->getAsCXXRecordDecl());
  return record != nullptr && record->getTemplateArgs().size() > 0 &&
         record->getTemplateArgs()[0].getKind() == clang::TemplateArgument::Type &&
         pointer->getType()->isPointerType() &&
         PlainType(record->getTemplateArgs()[0].getAsType()) ==
             PlainType(pointer->getType()->getPointeeType());
}

// Copies are variables of a block, with where each part of them comes from.
class CopiesOfGiven {
 public:
  explicit CopiesOfGiven(const FunctionCode& code) : code_(code), changed_(Changed(code.body())) {}

  // Takes a variable in, if it is made of what is given.
  bool Add(const clang::DeclStmt* declaration);
  // The edits by which everything is read where it comes from; nothing where that cannot be.
  std::optional<Edits> ReadFromGiven();

 private:
  std::optional<CopiedPart> PartOf(const clang::Expr* expression);
  std::optional<std::string> Mark(const clang::Expr* expression, const Loops& loops) const;
  bool AddSize(const std::string& steps, const std::optional<std::string>& size);
  bool AddRange(const CopiedPart& part, clang::QualType type, const clang::Expr* begin,
                const clang::Expr* end, const Loops& loops);
  bool AddValue(const CopiedPart& part, const clang::Expr* target, const clang::Expr* value,
                const Loops& loops);
  bool Make(const clang::Stmt* stmt, Loops loops);
  bool IsPart(const CopiedPart& part) const;
  std::string Given(const std::string& marked, const CopiedPart& part) const;
  bool Read(const clang::Stmt* stmt, bool read, Edits* edits);
  bool ReadRange(const clang::CXXForRangeStmt* loop, Edits* edits);

  const FunctionCode& code_;
  const Variables changed_;
  std::map<const clang::ValueDecl*, CopiedPart> names_;  // copies, and references to parts of them
  std::set<const clang::Stmt*> making_;
  // By steps; places are marks.
  std::map<std::string, std::string> values_;
  std::map<std::string, std::string> sizes_;
};

std::optional<CopiedPart> CopiesOfGiven::PartOf(const clang::Expr* expression) {
  const clang::Expr* bare = expression->IgnoreParenImpCasts();
  if (const auto* name = dyn_cast<clang::DeclRefExpr>(bare)) {
    const auto it = names_.find(name->getDecl());
    return it == names_.end() ? std::nullopt : std::optional(it->second);
  }
  if (const auto* member = dyn_cast<clang::MemberExpr>(bare)) {
    std::optional<CopiedPart> part = member->isArrow() ? std::nullopt : PartOf(member->getBase());
    if (part) part->steps += "." + member->getMemberDecl()->getNameAsString();
    return part;
  }
  const auto* call = dyn_cast<clang::CXXOperatorCallExpr>(bare);
  const auto* element = dyn_cast<clang::ArraySubscriptExpr>(bare);
  if (element == nullptr && (call == nullptr || call->getOperator() != clang::OO_Subscript))
    return std::nullopt;
  const clang::Expr* place = element != nullptr ? element->getIdx() : call->getArg(1);
  std::optional<CopiedPart> part =
      PartOf(element != nullptr ? element->getBase() : call->getArg(0));
  Edits inside;
  if (!part || part->places.size() == kCopiedPlacesMax || !Changed(place).empty() ||
      !Read(place, false, &inside))
    return std::nullopt;
  part->steps += "[]";
  part->places.push_back(code_.Text(place, inside));
  return part;
}

// The text of an expression with marks in the place of counters; nothing if it may change.
std::optional<std::string> CopiesOfGiven::Mark(const clang::Expr* expression,
                                               const Loops& loops) const {
  Edits edits;
  Variables others = Used(expression);
  for (size_t i = 0; i < loops.size(); ++i) {
    code_.Replace(expression, loops[i]->var, PlaceMark(i), &edits);
    others.erase(loops[i]->var);
  }
  for (const clang::VarDecl* each : others)
    if (changed_.count(each) > 0 || names_.count(each) > 0 ||
        (each->getType()->isPointerType() && !each->getType()->getPointeeType().isConstQualified()))
      return std::nullopt;
  return code_.Text(expression, edits);
}

bool CopiesOfGiven::AddSize(const std::string& steps, const std::optional<std::string>& size) {
  return size && sizes_.emplace(steps, *size).first->second == *size;
}

// A container's copy of [array + a * n, array + (a + 1) * n), or [array, array + n).
bool CopiesOfGiven::AddRange(const CopiedPart& part, clang::QualType type, const clang::Expr* begin,
                             const clang::Expr* end, const Loops& loops) {
  const auto* last = dyn_cast<clang::BinaryOperator>(end->IgnoreParenImpCasts());
  const clang::VarDecl* array = last == nullptr ? nullptr : NamedVariable(last->getLHS());
  if (array == nullptr || last->getOpcode() != clang::BO_Add || !HoldsSame(type, array) ||
      !Mark(last->getLHS(), {}))
    return false;
  const std::string name = array->getNameAsString();
  const clang::Expr* size = last->getRHS();
  std::string before;
  if (!loops.empty()) {
    const auto* product = dyn_cast<clang::BinaryOperator>(size->IgnoreParenImpCasts());
    if (loops.size() > 1 || product == nullptr || product->getOpcode() != clang::BO_Mul)
      return false;
    size = product->getRHS();
    const std::string counter = loops[0]->var->getNameAsString();
    const std::string count = code_.Operand(size);
    if (code_.Text(begin) != name + " + " + counter + " * " + count ||
        code_.Text(product->getLHS()) != "(" + counter + " + 1)")
      return false;
    before = "(" + PlaceMark(0) + ") * " + count + " + ";
  } else if (NamedVariable(begin) != array) {
    return false;
  }
  return AddSize(part.steps, Mark(size, {})) &&
         values_.emplace(part.steps + "[]", name + "[" + before + PlaceMark(loops.size()) + "]")
             .second;
}

bool CopiesOfGiven::AddValue(const CopiedPart& part, const clang::Expr* target,
                             const clang::Expr* value, const Loops& loops) {
  std::optional<std::string> marked = Mark(value, loops);
  const clang::QualType to = PlainType(target->getType());
  const clang::QualType from = PlainType(AsWritten(value)->getType());
  if (!marked || !IsOfGiven(code_, value) || (to != from && !to->isArithmeticType())) return false;
  if (!IsClosed(value)) marked = "(" + *marked + ")";
  if (to != from) marked = "(" + code_.Type(to) + ")" + *marked;
  // Loops are as long as what they fill.
  size_t at = 0;
  for (const Loop* loop : loops) {
    at = part.steps.find("[]", at);
    if (!AddSize(part.steps.substr(0, at), Mark(loop->last, {}))) return false;
    at += 2;
  }
  return values_.emplace(part.steps, *marked).second;
}

// Takes in what a statement makes; false if it does anything else.
bool CopiesOfGiven::Make(const clang::Stmt* stmt, Loops loops) {
  const auto part_in_loops = [&](const clang::Expr* expression) {
    std::optional<CopiedPart> part = PartOf(expression);
    const bool counted = part && std::equal(part->places.begin(), part->places.end(), loops.begin(),
                                            loops.end(), [](const auto& place, const Loop* loop) {
                                              return place == loop->var->getName();
                                            });
    return counted ? part : std::nullopt;
  };
  if (const Loop* loop = code_.LoopOf(stmt)) {
    if (loop->inclusive || code_.Constant(loop->first) != 0) return false;
    loops.push_back(loop);
    return std::all_of(loop->body.begin(), loop->body.end(),
                       [&](const clang::Stmt* each) { return Make(each, loops); });
  }
  if (const auto* call = dyn_cast<clang::CXXMemberCallExpr>(stmt)) {
    const clang::Expr* object = call->getImplicitObjectArgument();
    const std::string name = call->getMethodDecl()->getNameAsString();
    const std::optional<CopiedPart> part = part_in_loops(object);
    if (!part) return false;
    if (name == "resize" && call->getNumArgs() == 1)
      return AddSize(part->steps, Mark(call->getArg(0), {}));
    return name == "assign" && call->getNumArgs() == 2 &&
           AddRange(*part, object->getType(), call->getArg(0), call->getArg(1), loops);
  }
  const auto* binary = dyn_cast<clang::BinaryOperator>(stmt);
  const auto* copied = dyn_cast<clang::CXXOperatorCallExpr>(stmt);
  if ((binary == nullptr || binary->getOpcode() != clang::BO_Assign) &&
      (copied == nullptr || copied->getOperator() != clang::OO_Equal))
    return false;
  const clang::Expr* target = binary != nullptr ? binary->getLHS() : copied->getArg(0);
  const std::optional<CopiedPart> part = part_in_loops(target);
  return part &&
         AddValue(*part, target, binary != nullptr ? binary->getRHS() : copied->getArg(1), loops);
}

bool CopiesOfGiven::Add(const clang::DeclStmt* declaration) {
  const auto* variable = declaration->isSingleDecl()
                             ? dyn_cast<clang::VarDecl>(declaration->getSingleDecl())
                             : nullptr;
  if (variable == nullptr || variable->isStaticLocal() || variable->getType()->isReferenceType() ||
      variable->getType()->getAsCXXRecordDecl() == nullptr)
    return false;
  const CopiedPart whole{variable->getNameAsString(), {}};
  const std::vector<const clang::Expr*> made = variable->getInit() == nullptr
                                                   ? std::vector<const clang::Expr*>{}
                                                   : MadeWith(variable->getInit());
  if (made.size() > 2 ||
      (made.size() == 2 && !AddRange(whole, variable->getType(), made[0], made[1], {})) ||
      (made.size() == 1 && !(IsVector(variable->getType()) && made[0]->getType()->isIntegerType() &&
                             AddSize(whole.steps, Mark(made[0], {})))))
    return false;
  names_[variable] = whole;
  making_.insert(declaration);
  for (const clang::Stmt* each : StatementsOf(code_.Parent(declaration))) {
    if (code_.Begin(each) <= code_.Begin(declaration) || Mentions(each, variable) == 0) continue;
    if (!Make(each, {})) break;
    making_.insert(each);
  }
  return !values_.empty();
}

// Whether there is more below it than one value.
bool CopiesOfGiven::IsPart(const CopiedPart& part) const {
  return sizes_.count(part.steps) > 0 ||
         std::any_of(values_.begin(), values_.end(), [&](const auto& each) {
           return each.first.rfind(part.steps + ".", 0) == 0 ||
                  each.first.rfind(part.steps + "[", 0) == 0;
         });
}

std::string CopiesOfGiven::Given(const std::string& marked, const CopiedPart& part) const {
  std::string text = marked;
  for (size_t i = 0; i < part.places.size(); ++i) {
    if (IsName(part.places[i]))
      absl::StrReplaceAll({{"(" + PlaceMark(i) + ")", part.places[i]}}, &text);
    absl::StrReplaceAll({{PlaceMark(i), part.places[i]}}, &text);
  }
  return text;
}

// Adds edits that read what is below `stmt` where it comes from. `read`: what is there is not
// written to.
bool CopiesOfGiven::Read(const clang::Stmt* stmt, bool read, Edits* edits) {
  if (stmt == nullptr || making_.count(stmt) > 0) return true;
  if (const auto* lambda = dyn_cast<clang::LambdaExpr>(stmt))
    return std::none_of(lambda->capture_begin(), lambda->capture_end(), [&](const auto& each) {
      return each.capturesVariable() && names_.count(each.getCapturedVar()) > 0;
    });
  if (const auto* loop = dyn_cast<clang::CXXForRangeStmt>(stmt)) return ReadRange(loop, edits);
  if (const auto* declaration = dyn_cast<clang::DeclStmt>(stmt)) {
    const auto* variable = declaration->isSingleDecl()
                               ? dyn_cast<clang::VarDecl>(declaration->getSingleDecl())
                               : nullptr;
    const std::optional<CopiedPart> part = variable == nullptr || variable->getInit() == nullptr
                                               ? std::nullopt
                                               : PartOf(variable->getInit());
    if (part && IsPart(*part) && variable->getType()->isReferenceType()) {
      if (Share(Used(variable->getInit()), Changed(code_.Parent(stmt)))) return false;
      names_[variable] = *part;
      edits->push_back(code_.Instead(stmt, ""));
      return true;
    }
  }
  if (const auto* expression = dyn_cast<clang::Expr>(stmt)) {
    const auto* call = dyn_cast<clang::CXXMemberCallExpr>(stmt);
    const std::optional<CopiedPart> object =
        call == nullptr ? std::nullopt : PartOf(call->getImplicitObjectArgument());
    const std::string name = object ? call->getMethodDecl()->getNameAsString() : "";
    if (object && (name == "size" || name == "length" || name == "empty")) {
      const auto size = sizes_.find(object->steps);
      if (size == sizes_.end()) return false;
      const std::string given = Given(size->second, *object);
      const std::string text = IsName(given) ? given : "(" + given + ")";
      edits->push_back({code_.Begin(call), code_.At(call->getEndLoc()) + 1,
                        name == "empty" ? "(" + text + " == 0)" : text});
      return true;
    }
    const auto* cast = dyn_cast<clang::ImplicitCastExpr>(stmt);
    read = expression->getType().isConstQualified() ||
           (cast != nullptr && cast->getCastKind() == clang::CK_LValueToRValue) ||
           (read &&
            isa<clang::ImplicitCastExpr, clang::MemberExpr, clang::ParenExpr, clang::DeclRefExpr,
                clang::ArraySubscriptExpr, clang::CXXOperatorCallExpr>(stmt));
    const std::optional<CopiedPart> part = PartOf(expression);
    const auto value = part ? values_.find(part->steps) : values_.end();
    if (value != values_.end()) {
      edits->push_back({code_.Begin(stmt), code_.End(expression->IgnoreImplicit()),
                        Given(value->second, *part)});
      return read;
    }
    const auto* named = dyn_cast<clang::DeclRefExpr>(stmt);
    if (named != nullptr && names_.count(named->getDecl()) > 0) return false;
  }
  return std::all_of(stmt->child_begin(), stmt->child_end(),
                     [&](const clang::Stmt* child) { return Read(child, read, edits); });
}

// A loop through a part counts its places.
bool CopiesOfGiven::ReadRange(const clang::CXXForRangeStmt* loop, Edits* edits) {
  const clang::VarDecl* variable = loop->getLoopVariable();
  std::optional<CopiedPart> part = PartOf(loop->getRangeInit());
  if (!part)
    return Read(loop->getInit(), false, edits) && Read(loop->getRangeInit(), false, edits) &&
           Read(loop->getBody(), false, edits);
  const auto size = sizes_.find(part->steps);
  if (size == sizes_.end() || loop->getInit() != nullptr || isa<clang::DecompositionDecl>(variable))
    return false;
  const std::string at = code_.Fresh({variable->getNameAsString() + "_at"});
  std::string head = "for (size_t " + at + " = 0; " + at + " < " + Given(size->second, *part) +
                     "; ++" + at + ") {\n";
  part->steps += "[]";
  part->places.push_back(at);
  const auto value = values_.find(part->steps);
  const clang::QualType type = variable->getType();
  if (value != values_.end()) {
    if (type->isReferenceType() && !type->getPointeeType().isConstQualified()) return false;
    head += code_.Type(variable) + " " + variable->getNameAsString() + " = " +
            Given(value->second, *part) + ";\n";
  } else {
    if (!type->isReferenceType()) return false;
    names_[variable] = *part;
  }
  const clang::Stmt* body = loop->getBody();
  const bool braces = isa<clang::CompoundStmt>(body);
  edits->push_back({code_.Begin(loop), code_.Begin(body) + (braces ? 1 : 0), head});
  if (!braces) edits->push_back({code_.End(body), code_.End(body), "\n}"});
  return Read(body, false, edits);
}

std::optional<Edits> CopiesOfGiven::ReadFromGiven() {
  Edits edits;
  if (!Read(code_.body(), false, &edits)) return std::nullopt;
  for (const clang::Stmt* each : making_) edits.push_back(code_.Instead(each, ""));
  return edits;
}

}  // namespace

void ReadWithoutCopy(const FunctionCode& code, Rewrites* rewrites) {
  CopiesOfGiven all(code);
  bool any = false;
  for (const clang::Stmt* stmt : StatementsOf(code.body())) {
    const auto* declaration = dyn_cast<clang::DeclStmt>(stmt);
    if (declaration == nullptr) continue;
    CopiesOfGiven alone(code);
    if (alone.Add(declaration) && alone.ReadFromGiven()) any |= all.Add(declaration);
  }
  if (!any) return;
  if (const std::optional<Edits> edits = all.ReadFromGiven())
    rewrites->push_back({"without the copy", code.Source(*edits)});
}

}  // namespace whetstone
