// Copies of what a loop reads, with a border: tables that say what lies beyond it too.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_PADDED_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_PADDED_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/function_code.h"
#include "cpu_bench_worker/rewrite/analysis/multiples.h"

namespace whetstone {

// A loop and the variables that change.
struct LoopChanges {
  LoopChanges(const FunctionCode& code, const clang::ForStmt* of);

  const clang::ForStmt* loop;
  Variables in_loop;  // or declared there
  Variables anywhere;
};

// What a loop reads at places that are sums of its counters, with what is read beyond the border,
// as a table with room for all these places.
class Padded {
 public:
  // `at` is a part of the loop; its counters are those of the loops around it, its guards the
  // conditions of what is `if` around it. No table holds what is left out in turns for any other
  // reason. `changes` stays.
  Padded(const FunctionCode& code, const LoopChanges& changes, const clang::Stmt* at);

  // Whether `read` can be a table's entry; the sums in it are its places.
  bool Take(const clang::Expr* read);
  // Makes the entry 0 where the guards do not hold; whether they are about places of the table.
  bool TakeGuards();
  // The counters that the part, or `expression` in it, depends on in the end; nothing if it depends
  // on anything else that changes, or may be left out.
  std::optional<Variables> CountersOf(const clang::Expr* expression, int depth = kDepthMax) const;
  // Whether there is a turn where the guards hold for all that these counters count: each guard is
  // about a place that other counters move, too. These have to get there whatever the size, or
  // these counters have few values, as those of a kernel do.
  bool HoldsForAll(const Variables& counters);
  // The table that tells where the conditions hold: 1, else 0.
  Padded Mask(const std::string& type) const;
  // Makes room for what `other` reads, if one table can hold both.
  bool Join(const Padded& other);
  // Whether what is read is more than an element whose place is a sum.
  bool bends() const { return bends_; }
  // Whether a place is a sum of several counters, so that it is read again and again.
  bool moves() const { return moves_; }
  // Whether a table is worth its while.
  bool again() const { return moves_ || joined_ >= kReadsMin - 1; }

  // The condition that the loop has turns; empty if it always has.
  const std::string& turns() const { return turns_; }
  // The loops that fill the table, if the loop has turns.
  std::string Filled(const std::string& name) const;
  // The table's entry for a turn.
  std::string At(const std::string& name) const { return Entry(name, false); }

 private:
  static constexpr int kReadsMin = 3;  // of one table, at places beside each other

  struct Counter {
    const clang::VarDecl* var = nullptr;
    const clang::Expr* first = nullptr;
    const clang::Expr* last = nullptr;
    bool inclusive = false;
  };
  struct Place {
    Multiples sum;
    int factors = 0;  // how many products it is a part of
    std::string name;
    Multiples low;
    Multiples end;
    std::string count;
  };

  // place < limit, or <=, > or >= it.
  struct Limit {
    size_t place = 0;
    clang::BinaryOperatorKind kind = clang::BO_LT;
    Multiples limit;
  };

  static std::optional<Counter> CounterOf(const FunctionCode& code, const clang::ForStmt* loop);
  bool TakeAround(const clang::Stmt* around, const clang::Stmt* part);
  bool TakeCondition(const clang::Expr* condition);
  void TakeTurns();
  const Counter* Counts(const clang::VarDecl* variable) const;
  const clang::Expr* ValueOf(const clang::VarDecl* variable) const;
  std::optional<Multiples> SumOf(const clang::Expr* expression, int depth) const;
  std::optional<Multiples> AnySumOf(const clang::Expr* expression, int depth) const;
  Multiples Extreme(Multiples sum, bool largest, const Variables& other_way = {});
  std::string InPlace(const Multiples& sum, int factors);
  std::string InPlaces(const clang::Expr* expression, int factors, int depth = kDepthMax);
  // `filled`: as the loops that fill the table name its places.
  std::string Entry(const std::string& name, bool filled) const;

  const FunctionCode& code_;
  const LoopChanges& changes_;
  std::vector<Counter> counters_;           // inner ones first
  std::vector<const clang::Expr*> guards_;  // outer ones first
  std::vector<Limit> limits_;               // that the guards are
  std::string turns_;
  std::string inner_turns_;  // the condition that the loops in it have turns
  std::vector<Place> places_;
  std::string type_;
  std::string value_;
  std::string conditions_;
  bool named_ = false;  // the places are known and have their names
  bool known_ = true;   // nothing was found that no table can hold
  bool bends_ = false;
  bool moves_ = false;
  int joined_ = 0;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_PADDED_H_
