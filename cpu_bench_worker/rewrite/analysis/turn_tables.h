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

// The entries for these loops' turns, outer loops first; nothing if they are too many, or not known
// before the loop that they are in.
std::optional<Entries> EntriesOf(const FunctionCode& code, const BeforeLoop& before,
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
