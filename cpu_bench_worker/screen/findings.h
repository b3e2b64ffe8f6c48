// What the screen found in one program; filled by the checks, read by screener_main.cc.
#ifndef WHETSTONE_CPU_BENCH_WORKER_SCREEN_FINDINGS_H_
#define WHETSTONE_CPU_BENCH_WORKER_SCREEN_FINDINGS_H_

#include <set>
#include <string>
#include <vector>

namespace whetstone {

// The rules one program is held to (ScreenConfig, inside the screener).
struct ScreenRules {
  std::vector<std::string> headers;
  std::set<std::string> allow;  // target pragma static asm threads
  std::string function;
  std::string type;       // canonical type of the function
  std::string signature;  // as the problem writes it, for messages
  int threads = 1;

  bool allows(const char* what) const { return allow.count(what) > 0; }
};

struct ScreenFindings {
  std::vector<std::string> forbidden;  // "line 3: …", in the order found
  std::vector<std::string> errors;     // compiler errors, "line 3: error: …"
  bool function_defined = false;       // with exactly the asked type
  std::string near_miss;               // a function of that name with another type
  std::set<std::string> declared;      // identifiers the program declares
  std::set<std::string> techniques;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_SCREEN_FINDINGS_H_
