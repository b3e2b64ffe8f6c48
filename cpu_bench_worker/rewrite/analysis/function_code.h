// FunctionCode is one function as clang read it, with the text it was read from: what rules of
// rewriting look at and take pieces of. Not thread-safe; valid while clang's context is.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_FUNCTION_CODE_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_FUNCTION_CODE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include "clang/AST/Stmt.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Basic/SourceLocation.h"

namespace whetstone {

// An Edit puts `text` in the place of the bytes [begin, end) of the source.
struct Edit {
  size_t begin = 0;
  size_t end = 0;
  std::string text;
};
using Edits = std::vector<Edit>;
// Adds an edit in the place of all that lie within it.
void Override(Edits* edits, const Edit& edit);
using Variables = std::set<const clang::VarDecl*>;

// A loop that counts up by one: for (T var = first; var < last; var++) or with <=. Its body does
// not change `var`.
struct Loop {
  const clang::ForStmt* stmt = nullptr;
  const clang::VarDecl* var = nullptr;
  const clang::Expr* first = nullptr;
  const clang::Expr* last = nullptr;
  bool inclusive = false;                // the condition is <=
  std::vector<const clang::Stmt*> body;  // its statements, without the braces around them
};

class FunctionCode {
 public:
  FunctionCode(clang::ASTContext* context, const clang::FunctionDecl* function,
               std::map<std::string, std::string> lengths = {});

  // How many elements the arrays of parameters have, as far as somebody said it: "(long)(n) * (m)".
  const std::map<std::string, std::string>& lengths() const { return lengths_; }
  const clang::Stmt* body() const { return function_->getBody(); }
  llvm::ArrayRef<clang::ParmVarDecl*> parameters() const { return function_->parameters(); }
  clang::ASTContext& context() const { return *context_; }
  // The function's loops, outer ones before those in them.
  const std::vector<Loop>& loops() const { return loops_; }
  // The loop of this statement; null if it is none, or counts otherwise.
  const Loop* LoopOf(const clang::Stmt* stmt) const;
  // The loop that is all that this one does; null if it does anything else.
  const Loop* OnlyLoopIn(const Loop& loop) const;
  // Returns the smallest statement or expression around this one; null for the body.
  const clang::Stmt* Parent(const clang::Stmt* stmt) const;

  // The loop nearest around it; null if there is none, or it counts otherwise.
  const Loop* LoopAround(const clang::Stmt* stmt) const;
  // Whether a part is all of `whole` or lies in it.
  bool IsWithin(const clang::Stmt* part, const clang::Stmt* whole) const;

  // Where the function's text begins: another one can stand before it.
  size_t FunctionBegin() const { return At(function_->getBeginLoc()); }
  size_t At(clang::SourceLocation location) const;
  // The bytes of a statement, with the semicolon that ends it; of an expression, without.
  size_t Begin(const clang::Stmt* stmt) const;
  size_t End(const clang::Stmt* stmt) const;
  std::string Text(const clang::Stmt* stmt) const { return Text(stmt, {}); }
  // The same after edits, which lie apart from each other; those outside of it are left out.
  std::string Text(const clang::Stmt* stmt, const Edits& edits) const;
  std::string Text(const std::vector<const clang::Stmt*>& statements, const Edits& edits) const;
  // An edit that puts `text` in the place of a statement (in braces, where it stands alone below a
  // loop or condition) or expression.
  Edit Instead(const clang::Stmt* stmt, const std::string& text) const;
  // The same with `text` that may begin with a declaration of its own: in braces, if jumps may go
  // past it.
  Edit WithOwn(const clang::Stmt* stmt, const std::string& text) const;
  // The whole source after edits.
  std::string Source(Edits edits) const;
  // The expression in parentheses, unless it is a name, a number or such.
  std::string Operand(const clang::Expr* expression) const;
  // The loop's end, exclusive: "n", "i + 1"; it can be compared and added to as it is.
  std::string Bound(const Loop& loop) const;
  // The type without its qualifiers, as it is written in C++.
  std::string Type(const clang::ValueDecl* variable) const;
  std::string Type(const clang::Expr* expression) const;
  std::string Type(clang::QualType type) const;
  // "for (int i = 0; i < n; i++)", with its own names.
  std::string Head(const Loop& loop) const;
  // The loop cut in two behind a declaration of its counter: one that does `body` for `count` turns
  // at a time, and one that does what is left as before. See WithCounter.
  std::string InGroups(const Loop& loop, int count, const std::string& body) const;

  // The loop cut in parts of at most so many turns, each of which does `body` for those from the
  // variable `from` to before `until`.
  std::string InParts(const Loop& loop, int64_t turns, const std::string& from,
                      const std::string& until, const std::string& body) const;

  // Adds edits that put `text` wherever `variable` is named below `stmt`; a sum ("j + q") gets
  // parentheses where it needs them.
  void Replace(const clang::Stmt* stmt, const clang::VarDecl* variable, const std::string& text,
               Edits* edits) const;
  // `text` for the loop, which declares the loop's counter beside itself: in braces, if another
  // variable of the function has its name.
  std::string WithCounter(const Loop& loop, const std::string& text) const;
  // The first of these names that the source does not use, else the last one with a number.
  std::string Fresh(const std::vector<std::string>& names) const;
  // Its value, if the compiler knows it.
  std::optional<int64_t> Constant(const clang::Expr* expression) const;

 private:
  void Visit(const clang::Stmt* stmt);

  clang::ASTContext* context_;
  const clang::FunctionDecl* function_;
  std::map<std::string, std::string> lengths_;
  std::string source_;
  std::vector<Loop> loops_;
  std::map<const clang::Stmt*, const clang::Stmt*> parents_;
};

// The statement itself and all below it, in order; what lambdas do is their own.
std::vector<const clang::Stmt*> Below(const clang::Stmt* stmt);
// Whether it is a loop of any kind.
inline bool IsLoop(const clang::Stmt* stmt) {
  return llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt>(stmt);
}
// Whether there is one at or below it.
bool HasLoop(const clang::Stmt* stmt);
// The statements of a block, or the one there is.
std::vector<const clang::Stmt*> StatementsOf(const clang::Stmt* stmt);
// The variable that an expression names, below casts and parentheses; null if it is anything else.
const clang::VarDecl* NamedVariable(const clang::Stmt* expression);
// The variables that are named below `stmt`; that are changed there (assigned, counted, or their
// address taken); that are declared there.
Variables Used(const clang::Stmt* stmt);
Variables Changed(const clang::Stmt* stmt);
Variables Declared(const clang::Stmt* stmt);
// Those that are changed or declared there: what names none of them is the same in every turn.
Variables ChangedOrDeclared(const clang::Stmt* stmt);
// Those that are changed there and declared elsewhere.
Variables ChangedOutside(const clang::Stmt* stmt);
// How often `variable` is named below `stmt`.
int Mentions(const clang::Stmt* stmt, const clang::VarDecl* variable);
bool Share(const Variables& left, const Variables& right);
// Whether a statement of this class (return, break …) is below `stmt`.
template <typename... Kinds>
bool Has(const clang::Stmt* stmt) {
  for (const clang::Stmt* each : Below(stmt))
    if (llvm::isa<Kinds...>(each)) return true;
  return false;
}

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_FUNCTION_CODE_H_
