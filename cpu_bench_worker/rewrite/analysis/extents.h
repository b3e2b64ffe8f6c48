// How long a function's arrays are, as far as its loops say it.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_EXTENTS_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_EXTENTS_H_

#include <map>
#include <set>
#include <string>

#include "cpu_bench_worker/rewrite/analysis/function_code.h"

namespace whetstone {

struct Extents {
  // The parameters that point to arrays, by how many elements are reached: "n*m", "n+63". One that
  // is read or written in any place that is not known is left out.
  std::map<std::string, std::string> arrays;
  // The whole numbers that say how much there is: lengths, loops' bounds, places and what is handed
  // to other functions are made of them.
  std::set<std::string> sizes;
};

// Places are known that are sums and products of counters, parameters and constants. It is a
// suggestion, to be confirmed: sizes count as not below 0.
Extents ExtentsOf(const FunctionCode& code);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_ANALYSIS_EXTENTS_H_
