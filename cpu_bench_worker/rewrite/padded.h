// Copies of what a loop reads, with a border: tables that say what lies beyond it too.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_PADDED_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_PADDED_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cpu_bench_worker/rewrite/before_loop.h"
#include "cpu_bench_worker/rewrite/function_code.h"

namespace whetstone {

// A sum of multiples: "2 * y + dy - 1".
struct Multiples {
  struct Term {
    const clang::VarDecl* counter = nullptr;  // null where it is something that stays the same
    std::string text;
    int64_t factor = 0;
  };
  std::vector<Term> terms;  // in the order of the source
  int64_t constant = 0;

  void Add(const Multiples& other, int64_t factor);
  Multiples Without(const Multiples& other) const;
  // How many of its terms are counters.
  ptrdiff_t Counters() const;
  std::string Text() const;
};

// What a loop reads at places that are sums of its counters, with what is read beyond the border,
// as a table with room for all these places.
class Padded {
 public:
  // `at` is a part of the loop; its counters are those of the loops around it.
  Padded(const FunctionCode& code, const clang::ForStmt* loop, const clang::Stmt* at);

  // Whether `read` can be a table's entry; the sums in it are its places.
  bool Take(const clang::Expr* read);
  // Adds a condition without which the entry is 0; whether its places are those of the table.
  bool TakeCondition(const clang::Expr* condition);
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

  // The loops that fill the table.
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

  static std::optional<Counter> CounterOf(const FunctionCode& code, const clang::ForStmt* loop);
  const Counter* Counts(const clang::VarDecl* variable) const;
  const clang::Expr* ValueOf(const clang::VarDecl* variable) const;
  std::optional<Multiples> SumOf(const clang::Expr* expression, int depth) const;
  Multiples Extreme(Multiples sum, bool largest);
  std::string InPlace(const Multiples& sum, int factors);
  std::string InPlaces(const clang::Expr* expression, int factors, int depth = kDepthMax);
  // `filled`: as the loops that fill the table name its places.
  std::string Entry(const std::string& name, bool filled) const;

  const FunctionCode& code_;
  Variables changed_;
  std::vector<Counter> counters_;  // inner ones first
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

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_PADDED_H_
