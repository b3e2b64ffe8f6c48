// What programs that keep their numbers in std::vector and std::string pay for it in every turn.
#include <set>
#include <string>

#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/containers.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

// The outermost loop that a statement is in; null if it is in none.
const clang::Stmt* OutermostLoop(const FunctionCode& code, const clang::Stmt* stmt) {
  const clang::Stmt* outermost = nullptr;
  for (const clang::Stmt* around = code.Parent(stmt); around != nullptr;
       around = code.Parent(around))
    if (IsLoop(around)) outermost = around;
  return outermost;
}

bool IsMoveOrSwap(const clang::Stmt* stmt) {
  const auto* call = dyn_cast<clang::CallExpr>(stmt);
  const clang::FunctionDecl* callee = call == nullptr ? nullptr : call->getDirectCallee();
  return callee != nullptr && callee->getIdentifier() != nullptr &&
         (callee->getName() == "move" || callee->getName() == "swap");
}

// Whether the container's memory may become another one's, or a lambda knows it.
bool GivesItsMemory(const FunctionCode& code, const clang::VarDecl* variable) {
  for (const clang::Stmt* each : Below(code.body())) {
    if (const auto* lambda = dyn_cast<clang::LambdaExpr>(each))
      for (const clang::LambdaCapture& capture : lambda->captures())
        if (capture.capturesVariable() && capture.getCapturedVar() == variable) return true;
    if (IsMoveOrSwap(each) && Mentions(each, variable) > 0) return true;
  }
  return false;
}

// Whether the loop names another variable of this name from outside of it.
bool HidesAnother(const clang::Stmt* loop, const clang::VarDecl* variable) {
  const Variables own = Declared(loop);
  for (const clang::VarDecl* used : Used(loop))
    if (own.count(used) == 0 && used->getNameAsString() == variable->getNameAsString()) return true;
  return false;
}

// What makes a container again what its declaration makes it; "" where nothing does without new
// memory.
std::string MadeAgain(const FunctionCode& code, const Container& container) {
  const std::string name = container.variable->getNameAsString();
  const std::vector<const clang::Expr*>& of = container.made_of;
  for (const clang::Expr* each : of)
    for (const clang::Stmt* part : Below(each))
      if (IsMoveOrSwap(part)) return "";
  if (of.empty()) return name + ".clear();";
  if (of.size() == 2) return name + ".assign(" + code.Text(of[0]) + ", " + code.Text(of[1]) + ");";
  if (of.size() > 2) return "";
  if (!of[0]->getType()->isIntegerType()) return name + " = " + code.Text(of[0]) + ";";
  return IsVector(container.variable->getType()) ? name + ".assign(" + code.Text(of[0]) + ", {});"
                                                 : "";
}

// v.push_back(number), or emplace_back; null for anything else.
const clang::CXXMemberCallExpr* AsPushBack(const clang::Stmt* stmt,
                                           const clang::VarDecl* variable) {
  for (const char* name : {"push_back", "emplace_back"})
    if (const clang::CXXMemberCallExpr* call = AsCallOf(stmt, variable, name))
      return call->getNumArgs() == 1 && call->getArg(0)->getType()->isArithmeticType() ? call
                                                                                       : nullptr;
  return nullptr;
}

// Whether the container is empty where the loop begins: it is declared or cleared beside it, and
// only gets room in between.
bool IsEmptyBefore(const FunctionCode& code, const Loop& loop, const clang::VarDecl* variable) {
  bool empty = false;
  for (const clang::Stmt* each : StatementsOf(code.Parent(loop.stmt))) {
    if (each == loop.stmt) return empty;
    const std::optional<Container> made = AsContainer(each);
    if (made && made->variable == variable)
      empty = made->made_of.empty();
    else if (AsCallOf(each, variable, "clear") != nullptr)
      empty = true;
    else if (Mentions(each, variable) > 0 && AsCallOf(each, variable, "reserve") == nullptr)
      empty = false;
  }
  return false;
}

// The vectors that each turn of a loop puts one number behind, once and always.
struct Filled {
  const clang::VarDecl* vector = nullptr;
  const clang::Stmt* stmt = nullptr;
  const clang::Expr* value = nullptr;
};

std::vector<Filled> FilledBy(const FunctionCode& code, const Loop& loop) {
  const clang::Stmt* body = loop.stmt->getBody();
  if (HasOwn<clang::BreakStmt>(body) || HasOwn<clang::ContinueStmt>(body) ||
      Has<clang::ReturnStmt, clang::GotoStmt, clang::LambdaExpr>(body) ||
      !loop.last->IgnoreParenImpCasts()->getType()->isIntegerType())
    return {};
  std::vector<Filled> filled;
  for (const clang::Stmt* stmt : loop.body)
    for (const clang::VarDecl* variable : Used(stmt)) {
      const clang::CXXMemberCallExpr* call = AsPushBack(stmt, variable);
      if (call != nullptr && Mentions(loop.stmt, variable) == 1 && IsVector(variable->getType()) &&
          IsEmptyBefore(code, loop, variable))
        filled.push_back({variable, stmt, call->getArg(0)});
    }
  return filled;
}

// The variable that a range-based loop runs through, if its elements have places and stay where
// they are; null if not.
const clang::VarDecl* RunThrough(const FunctionCode& code, const clang::CXXForRangeStmt* loop) {
  const clang::VarDecl* range = NamedVariable(loop->getRangeInit());
  if (range == nullptr || loop->getInit() != nullptr ||
      isa<clang::DecompositionDecl>(loop->getLoopVariable()))
    return nullptr;
  const bool bits = code.Type(range->getType().getNonReferenceType()) == "std::vector<bool>";
  if (bits ||
      (!IsVector(range->getType()) && !IsString(range->getType()) && !IsSpan(range->getType())))
    return nullptr;
  for (const clang::Stmt* each : Below(loop->getBody())) {
    const auto* call = dyn_cast<clang::CXXMemberCallExpr>(each);
    if (call != nullptr && call->getMethodDecl() != nullptr && !call->getMethodDecl()->isConst() &&
        NamedVariable(call->getImplicitObjectArgument()) == range)
      return nullptr;
  }
  return range;
}

}  // namespace

void KeepStorage(const FunctionCode& code, Rewrites* rewrites) {
  struct Kept {
    const clang::Stmt* loop = nullptr;
    Edits edits = {};
    std::string declared = {};
    std::set<std::string> names = {};
  };
  std::vector<Kept> loops;
  for (const clang::Stmt* stmt : Below(code.body())) {
    const std::optional<Container> container = AsContainer(stmt);
    const clang::Stmt* loop = container ? OutermostLoop(code, stmt) : nullptr;
    if (loop == nullptr || !isa<clang::CompoundStmt>(code.Parent(stmt)) ||
        GivesItsMemory(code, container->variable) || HidesAnother(loop, container->variable))
      continue;
    const std::string made = MadeAgain(code, *container);
    if (made.empty()) continue;
    if (loops.empty() || loops.back().loop != loop) loops.push_back({.loop = loop});
    Kept& kept = loops.back();
    const std::string name = container->variable->getNameAsString();
    if (!kept.names.insert(name).second) continue;
    kept.edits.push_back(code.Instead(stmt, made));
    kept.declared += code.Type(container->variable) + " " + name + ";\n";
  }
  for (const Kept& kept : loops)
    rewrites->push_back(
        {"storage kept",
         code.Source({code.Instead(
             kept.loop, "{\n" + kept.declared + code.Text(kept.loop, kept.edits) + "\n}")})});
}

void FillByPlace(const FunctionCode& code, Rewrites* rewrites) {
  for (const Loop& loop : code.loops()) {
    const std::vector<Filled> filled = FilledBy(code, loop);
    if (filled.empty()) continue;
    const bool from_zero = code.Constant(loop.first) == 0;
    const std::string less = from_zero ? "" : " - " + code.Operand(loop.first);
    const std::string bound = code.Bound(loop);
    const std::string place = "[" + loop.var->getNameAsString() + less + "]";
    Edits edits;
    std::string sized;
    for (const Filled& each : filled) {
      const std::string name = each.vector->getNameAsString();
      sized += name + ".resize(" + bound + " > " + code.Operand(loop.first) + " ? " + bound + less +
               " : 0);\n";
      edits.push_back({code.Begin(each.stmt), code.End(each.stmt),
                       name + place + " = " + code.Text(each.value) + ";"});
    }
    rewrites->push_back(
        {"filled by place",
         code.Source({code.Instead(
             loop.stmt, sized + code.Head(loop) + " {\n" + code.Text(loop.body, edits) + "}")})});
  }
}

void RunByPlace(const FunctionCode& code, Rewrites* rewrites) {
  const std::string source = code.Source({});
  const std::string counter = code.Fresh({"k", "at", "place"});
  Edits edits;
  int loops = 0;
  for (const clang::Stmt* stmt : Below(code.body())) {
    const auto* loop = dyn_cast<clang::CXXForRangeStmt>(stmt);
    const clang::VarDecl* range = loop == nullptr ? nullptr : RunThrough(code, loop);
    if (range == nullptr) continue;
    const std::string place = counter + (++loops > 1 ? std::to_string(loops) : "");
    const std::string name = range->getNameAsString();
    // The type and name as they are written: "const float& v".
    const size_t begin = code.At(loop->getLoopVariable()->getSourceRange().getBegin());
    const std::string declared = source.substr(begin, code.At(loop->getColonLoc()) - begin);
    const clang::Stmt* body = loop->getBody();
    const bool braces = isa<clang::CompoundStmt>(body);
    edits.push_back({code.Begin(loop), code.Begin(body) + (braces ? 1 : 0),
                     "for (size_t " + place + " = 0; " + place + " < " + name + ".size(); " +
                         place + "++) {\n" + declared + " = " + name + "[" + place + "];\n"});
    if (!braces) edits.push_back({code.End(body), code.End(body), "\n}"});
  }
  if (!edits.empty()) rewrites->push_back({"run through by places", code.Source(edits)});
}

}  // namespace whetstone
