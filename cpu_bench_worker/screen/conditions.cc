#include "cpu_bench_worker/screen/conditions.h"

#include <set>

namespace whetstone {
namespace {

// Both compilers get these from the same -march.
bool OfTheTarget(const std::string& name) {
  static const std::set<std::string> kNames = {"__SSE__",          "__SSE2__",
                                               "__SSE3__",         "__SSSE3__",
                                               "__SSE4_1__",       "__SSE4_2__",
                                               "__AVX__",          "__AVX2__",
                                               "__AVX512F__",      "__AVX512BW__",
                                               "__AVX512CD__",     "__AVX512DQ__",
                                               "__AVX512VL__",     "__FMA__",
                                               "__F16C__",         "__BMI__",
                                               "__BMI2__",         "__LZCNT__",
                                               "__POPCNT__",       "__PCLMUL__",
                                               "__AES__",          "__AVX512VBMI__",
                                               "__AVX512VBMI2__",  "__AVX512IFMA__",
                                               "__AVX512VNNI__",   "__AVX512VPOPCNTDQ__",
                                               "__AVX512BITALG__", "__GFNI__",
                                               "__VAES__",         "__VPCLMULQDQ__"};
  return kNames.count(name) > 0;
}

bool Plain(const std::string& name) {
  static const std::set<std::string> kNames = {
      "defined", "true",   "false", "and",         "or",         "not",       "xor",
      "bitor",   "bitand", "compl", "__cplusplus", "__x86_64__", "__linux__", "NDEBUG"};
  return kNames.count(name) > 0;
}

// The compiler's own headers and those that ask for its abilities define such names, and a program
// may not.
bool OfHeaders(const std::string& name) {
  for (const char* prefix : {"_", "FLT", "DBL", "LDBL", "DEC", "FP_", "INFINITY", "NAN", "HUGE"})
    if (name.rfind(prefix, 0) == 0) return true;
  return name.find("__") != std::string::npos;
}

}  // namespace

std::string Conditions::Problem(const std::vector<std::string>& identifiers) const {
  std::set<std::string> seen;
  std::vector<std::string> open(identifiers.begin(), identifiers.end());
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    if (Plain(name) || !seen.insert(name).second) continue;
    if (OfTheTarget(name)) {
      if (!target_changed_) continue;
      return "a condition on " + name + " behind #pragma GCC target is not allowed";
    }
    const auto own = own_.find(name);
    if (own == own_.end() || OfHeaders(name))
      return "a condition on " + name +
             " is not allowed; allowed are the program's own macros, and macros like __AVX2__ that "
             "say what the processor has";
    open.insert(open.end(), own->second.begin(), own->second.end());
  }
  return "";
}

}  // namespace whetstone
