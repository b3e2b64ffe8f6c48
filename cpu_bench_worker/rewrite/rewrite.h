// RewriteProgram applies every rule wherever it fits to one function and to those it is written
// with: a program with one change each. Behind a rule that only gives code the form that others
// look for come those that fit then and did not before: "counted from 0, then 64 turns side by
// side". Those that save work come first; hints to the compiler, and the same with other numbers,
// come last.
//
// What comes back is text, sometimes not even C++, that somebody else has to check and measure. Not
// thread-safe.
#ifndef WHETSTONE_CPU_BENCH_WORKER_REWRITE_REWRITE_H_
#define WHETSTONE_CPU_BENCH_WORKER_REWRITE_REWRITE_H_

#include <map>
#include <string>
#include <vector>

#include "cpu_bench_worker/rewrite/analysis/extents.h"
#include "cpu_bench_worker/rewrite/rules/rules.h"

namespace whetstone {

// Returns the rewrites of `function` and of the other functions in `source`, each once, with the
// body formatted. `*refused` says why `function` cannot be rewritten at all (it does not parse …);
// empty: it can, if any rule fits. `flags` and `pch` are as in screen/parse.h; `lengths` says how
// many elements arrays of `function`'s parameters have, made of its other parameters.
Rewrites RewriteProgram(const std::vector<std::string>& flags, const std::string& pch,
                        const std::string& function, const std::string& source,
                        std::string* refused,
                        const std::map<std::string, std::string>& lengths = {});

// How long the arrays of `function` are, as far as its loops say it; the rest as above.
Extents ExtentsOfProgram(const std::vector<std::string>& flags, const std::string& pch,
                         const std::string& function, const std::string& source,
                         std::string* refused);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_REWRITE_REWRITE_H_
