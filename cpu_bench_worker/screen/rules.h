// The screen's look at the syntax tree: signature, what runs before main, attributes, assembly,
// calls that reach outside. Only declarations of the program itself are visited.
#ifndef WHETSTONE_CPU_BENCH_WORKER_SCREEN_RULES_H_
#define WHETSTONE_CPU_BENCH_WORKER_SCREEN_RULES_H_

#include <string>
#include <vector>

#include "cpu_bench_worker/screen/findings.h"

namespace clang {
class ASTContext;
class Decl;
class FunctionDecl;
}  // namespace clang

namespace whetstone {

// The type a function is compared by: canonical, without noexcept.
std::string FunctionType(const clang::ASTContext& context, const clang::FunctionDecl& function);

// `declarations` are the program's top-level declarations, in order.
void CheckRules(clang::ASTContext* context, const std::vector<clang::Decl*>& declarations,
                const ScreenRules& rules, ScreenFindings* findings);

// An attribute that clang does not know but g++ may: why not, or empty.
std::string UnknownAttributeProblem(const std::string& name);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_SCREEN_RULES_H_
