// Tables with an entry for each turn of a loop, made before another loop around that one.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_TURN_TABLES_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_TURN_TABLES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cpu_bench_worker/rewrite/analysis/before_loop.h"
#include "cpu_bench_worker/rewrite/analysis/function_code.h"

namespace whetstone {

// A table with an entry for each turn of a loop, or of one in another.
struct Entries {
  bool known = false;  // how many, when it is compiled
  std::string size;
  std::string index;  // of a turn
};

// What a table has entries for: the values of a loop's counter, or sums of two counters.
struct Axis {
  std::string place;  // of a turn: "j", "i + j"
  std::string first;
  std::string end;        // exclusive; both stand as operands
  std::string condition;  // without which there are no turns; may be empty
  std::string head;       // of a loop over all of them
  std::optional<int64_t> known_first = std::nullopt;
  std::optional<int64_t> known_end = std::nullopt;
};

// A loop's counter, as it is known before the loop that it is in; nothing if it is not. Where it
// begins or ends at a sum with the counter of a loop between them (j from i + 1), it has all values
// that this gives; `loops` are those that the table has entries for, outer ones first.
std::optional<Axis> AxisOf(const FunctionCode& code, const BeforeLoop& before, const Loop& loop,
                           const std::vector<const Loop*>& loops);
// The sums of two loops' counters, in a variable of this name where the table is filled; nothing if
// they are not known before the loop.
std::optional<Axis> AxisOfSums(const FunctionCode& code, const BeforeLoop& before, const Loop& left,
                               const Loop& right, const std::string& name);
// The entries of a table with such axes.
Entries EntriesOf(const std::vector<Axis>& axes);
// The entries for these loops' turns, outer loops first; nothing if they are not known before the
// loop that they are in, the same in all of its turns.
std::optional<Entries> EntriesOf(const FunctionCode& code, const BeforeLoop& before,
                                 const std::vector<const Loop*>& loops);
// The axes of these loops' counters; nothing if one of them is not known.
std::optional<std::vector<Axis>> AxesOf(const FunctionCode& code, const BeforeLoop& before,
                                        const std::vector<const Loop*>& loops);
// The place of a turn in a table whose first one is `first`: "i - 2".
std::string From(const std::string& name, int64_t first);
// A name that the program does not use.
std::string NameOf(const FunctionCode& code, const std::string& name, const std::string& suffix);
// The same of a name whose step's name is not used either.
std::string NameWithStep(const FunctionCode& code, const std::string& name,
                         const std::string& suffix);
// A table's declaration. One of unknown size is new and deleted: that needs no header, unlike a
// vector.
std::string TableOf(const std::string& type, const std::string& name, const Entries& entries);
std::string Deleted(const std::string& name, const Entries& entries);
// Whether the loop may be left without what stands behind it.
bool LeavesFunction(const clang::Stmt* loop);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_TURN_TABLES_H_
