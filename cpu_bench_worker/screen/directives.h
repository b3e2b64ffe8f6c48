// The screen's look at preprocessor directives: which headers are included, which pragmas used.
#ifndef WHETSTONE_CPU_BENCH_WORKER_SCREEN_DIRECTIVES_H_
#define WHETSTONE_CPU_BENCH_WORKER_SCREEN_DIRECTIVES_H_

#include <memory>
#include <string>

#include "cpu_bench_worker/screen/findings.h"

namespace clang {
class PPCallbacks;
class SourceManager;
}  // namespace clang

namespace whetstone {

// Watches the main file. All three are borrowed for the life of the preprocessor.
std::unique_ptr<clang::PPCallbacks> WatchDirectives(const clang::SourceManager* sources,
                                                    const ScreenRules* rules,
                                                    ScreenFindings* findings);

// Why `#pragma TEXT` is not allowed; empty when it is.
std::string PragmaProblem(const std::string& text, const ScreenRules& rules);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_SCREEN_DIRECTIVES_H_
