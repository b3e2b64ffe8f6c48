#include <algorithm>
#include <list>

#include "clang/AST/ExprCXX.h"
#include "cpu_bench_worker/rewrite/analysis/conditions.h"
#include "cpu_bench_worker/rewrite/analysis/helper_functions.h"
#include "cpu_bench_worker/rewrite/analysis/padded.h"
#include "cpu_bench_worker/rewrite/analysis/turn_tables.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr size_t kPaddedMax = 4;

// The tables of a loop, and what is written in the place of what they hold.
class PaddedReads {
 public:
  PaddedReads(const FunctionCode& code, const clang::ForStmt* loop)
      : code_(code), loop_(loop), changes_(code, loop) {
    // Tables have their sizes when all reads are known.
    Gather();
    std::erase_if(tables_, [](const auto& each) { return !each.first.again(); });
    edits_.clear();
    gone_.clear();
    masked_.clear();
    complete_ = true;
    Gather();
  }
  // Whether there is anything to add.
  bool AddTo(Rewrites* rewrites) {
    if (tables_.empty() || tables_.size() > kPaddedMax) return false;
    TakeOutUnused();
    const std::string turns = code_.Text(loop_, edits_);
    std::string filled;
    std::string deleted;
    for (const auto& [table, name] : tables_) {
      // What read it may have been taken out.
      if (turns.find(name + "[") == std::string::npos) continue;
      filled += table.Filled(name);
      deleted += "\ndelete[] " + name + ";";
    }
    const std::string& any = tables_.front().first.turns();
    rewrites->push_back({"padded", code_.Source({code_.Instead(
                                       loop_, (any.empty() ? "" : "if (" + any + ") ") + "{\n" +
                                                  filled + turns + deleted + "\n}")})});
    return true;
  }

 private:
  using Reads = std::vector<std::pair<Padded, const clang::Expr*>>;

  void Gather() {
    for (const clang::Stmt* each : Below(loop_->getBody())) {
      if (IsGone(each) || IsIn(masked_, each)) continue;
      if (const auto* guard = AsGuard(each))
        AddGuarded(guard);
      else if (const auto* expression = dyn_cast<clang::Expr>(each))
        AddBorder(expression);
    }
  }
  bool IsIn(const Edits& edits, const clang::Stmt* stmt) const {
    return std::any_of(edits.begin(), edits.end(), [&](const Edit& each) {
      return each.begin <= code_.Begin(stmt) && code_.End(stmt) <= each.end;
    });
  }
  bool IsGone(const clang::Stmt* stmt) const { return IsIn(gone_, stmt); }
  void Replace(const Edit& edit) {
    Override(&edits_, edit);
    gone_.push_back(edit);
  }
  // The table's entry in this turn; empty if there is no table for it.
  std::string EntryOf(Padded padded) {
    for (auto& [table, name] : tables_)
      if (complete_ ? padded.Join(table) : table.Join(padded)) return padded.At(name);
    if (complete_) return "";
    const std::string number = tables_.empty() ? "" : std::to_string(tables_.size() + 1);
    tables_.emplace_back(padded, code_.Fresh({"padded" + number, "with_border" + number}));
    return padded.At(tables_.back().second);
  }
  void Use(const Padded& padded, const clang::Expr* read) {
    if (IsGone(read)) return;
    const std::string entry = EntryOf(padded);
    if (!entry.empty()) Replace({code_.Begin(read), code_.End(read), entry});
  }
  // What is read at the border instead of what lies beyond is said where it is read.
  void AddBorder(const clang::Expr* read) {
    const clang::Stmt* around = code_.Parent(read);
    const auto* call = dyn_cast<clang::CallExpr>(read);
    const bool element = isa<clang::ArraySubscriptExpr>(read) &&
                         clang::isa_and_nonnull<clang::ImplicitCastExpr>(around);
    const bool choice =
        isa<clang::ConditionalOperator>(read) && Has<clang::ArraySubscriptExpr>(read);
    const bool reader = call != nullptr && WrittenHere(code_, call) != nullptr &&
                        std::any_of(call->arg_begin(), call->arg_end(), [](const auto* each) {
                          return each->getType()->isPointerType();
                        });
    if ((!element && !choice && !reader) || !read->getType()->isArithmeticType()) return;
    Padded padded(code_, changes_, read);
    if (padded.Take(read) && padded.bends() && padded.TakeGuards()) Use(padded, read);
  }
  // What is added up under a condition is 0 where that does not hold.
  void AddGuarded(const clang::IfStmt* guard) {
    Reads reads;
    std::vector<const clang::Stmt*> exposed;  // by the guard that goes
    for (const clang::Stmt* stmt : Below(guard->getThen())) {
      if (IsPart(reads, stmt)) continue;
      if (const auto* element = dyn_cast<clang::ArraySubscriptExpr>(stmt)) {
        Padded padded(code_, changes_, element);
        if (element->getType()->isArithmeticType() && padded.Take(element) && padded.moves() &&
            padded.TakeGuards()) {
          reads.emplace_back(padded, element);
          continue;
        }
      }
      if (MayFault(code_, stmt)) exposed.push_back(stmt);
    }
    if (reads.empty()) return;
    // Elements like a kernel's may be read in turns where the guard does not hold, as they are read
    // in others where it does.
    for (const clang::Stmt* stmt : exposed) {
      const auto* element = dyn_cast<clang::ArraySubscriptExpr>(stmt);
      if (element == nullptr) return;
      const std::optional<Variables> counters =
          Padded(code_, changes_, element).CountersOf(element);
      if (!counters || !reads[0].first.HoldsForAll(*counters)) return;
    }
    std::vector<Assignment> others;  // that add up what is not 0 by itself
    Variables zeros;
    for (const clang::Stmt* stmt : StatementsOf(guard->getThen())) {
      const auto* declaration = dyn_cast<clang::DeclStmt>(stmt);
      const auto* variable = declaration != nullptr && declaration->isSingleDecl()
                                 ? dyn_cast<clang::VarDecl>(declaration->getSingleDecl())
                                 : nullptr;
      const std::optional<Assignment> sum = AsAssignment(stmt);
      const bool adds = sum && NamedVariable(sum->target) != nullptr &&
                        (sum->kind == clang::BO_AddAssign || sum->kind == clang::BO_SubAssign);
      if (!adds && variable == nullptr) return;
      const clang::Expr* value = adds ? sum->value : variable->getInit();
      if (!(adds ? sum->target->getType() : variable->getType())->isArithmeticType() ||
          (value == nullptr && !adds) || (value != nullptr && !OnlyComputes(code_, value)))
        return;
      const bool zero = value != nullptr && IsZero(value, reads, zeros);
      if (zero && !adds) zeros.insert(variable);
      if (!zero && adds) others.push_back(*sum);
    }
    for (const auto& [padded, read] : reads) Use(padded, read);
    for (const Assignment& sum : others) {
      const std::string holds = EntryOf(reads[0].first.Mask(code_.Type(sum.target)));
      if (sum.value == nullptr) {
        const clang::Stmt* step = code_.Parent(sum.target);
        Replace({code_.Begin(step), code_.End(step),
                 code_.Text(sum.target) + " " + OperatorOf(sum.kind) + "= " + holds + ";"});
        continue;
      }
      const bool product = IsAtom(sum.value) || JoinedBy(clang::BO_Mul, sum.value).size() > 1;
      const std::string value = code_.Text(sum.value, edits_);
      masked_.push_back({code_.Begin(sum.value), code_.End(sum.value),
                         (product ? value : "(" + value + ")") + " * " + holds});
      Override(&edits_, masked_.back());
    }
    // The braces go with the condition, where the statements need none.
    const clang::Stmt* then = guard->getThen();
    const bool bare = isa<clang::CompoundStmt>(then) && Declared(then).empty() &&
                      clang::isa_and_nonnull<clang::CompoundStmt>(code_.Parent(guard));
    Replace({code_.Begin(guard), code_.Begin(then) + (bare ? 1 : 0), ""});
    if (bare) Replace({code_.End(then) - 1, code_.End(then), ""});
  }
  // Whether it lies in one of them.
  bool IsPart(const Reads& reads, const clang::Stmt* stmt) const {
    return std::any_of(reads.begin(), reads.end(), [&](const auto& each) {
      return code_.Begin(each.second) <= code_.Begin(stmt) &&
             code_.End(stmt) <= code_.End(each.second);
    });
  }
  // Whether a product is 0 where the conditions of what is read do not hold.
  static bool IsZero(const clang::Expr* value, const Reads& reads, const Variables& zeros) {
    const std::vector<const clang::Expr*> factors = JoinedBy(clang::BO_Mul, value);
    return std::any_of(factors.begin(), factors.end(), [&](const clang::Expr* factor) {
      return zeros.count(NamedVariable(factor)) > 0 ||
             std::any_of(reads.begin(), reads.end(), [&](const auto& each) {
               return each.second == factor->IgnoreParenImpCasts();
             });
    });
  }
  // Variables that were declared for the places only.
  void TakeOutUnused() {
    std::vector<const clang::Stmt*> parts = Below(loop_->getBody());
    std::reverse(parts.begin(), parts.end());
    for (const clang::Stmt* part : parts) {
      const auto* declaration = dyn_cast<clang::DeclStmt>(part);
      if (declaration == nullptr || !declaration->isSingleDecl() || IsGone(part) ||
          !isa<clang::CompoundStmt>(code_.Parent(part)))
        continue;
      const auto* variable = dyn_cast<clang::VarDecl>(declaration->getSingleDecl());
      if (variable == nullptr || variable->getInit() == nullptr ||
          !variable->getType()->isArithmeticType())
        continue;
      bool used = false;
      bool gone = false;
      for (const clang::Stmt* each : Below(loop_->getBody())) {
        const auto* call = dyn_cast<clang::CallExpr>(each);
        if (call != nullptr && code_.Begin(part) <= code_.Begin(call) &&
            code_.End(call) <= code_.End(part))
          used |= !IsQuiet(code_, call);
        if (!isa<clang::DeclRefExpr>(each) || NamedVariable(each) != variable) continue;
        used |= !IsGone(each);
        gone |= IsGone(each);
      }
      if (gone && !used) Replace(code_.Instead(part, ""));
    }
  }

  const FunctionCode& code_;
  const clang::ForStmt* loop_;
  const LoopChanges changes_;
  std::list<std::pair<Padded, std::string>> tables_;
  Edits edits_;
  Edits gone_;
  Edits masked_;           // values that are multiplied: what is not gone in them is still there
  bool complete_ = false;  // all tables are known
};

}  // namespace

void PadReads(const FunctionCode& code, Rewrites* rewrites) {
  size_t end = 0;
  for (const clang::Stmt* stmt : Below(code.body())) {
    const auto* loop = dyn_cast<clang::ForStmt>(stmt);
    if (loop == nullptr || code.Begin(loop) < end || LeavesFunction(loop)) continue;
    PaddedReads reads(code, loop);
    if (reads.AddTo(rewrites)) end = code.End(loop);
  }
}

}  // namespace whetstone
