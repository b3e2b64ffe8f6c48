// Which preprocessor conditions a program may have: those that g++, which compiles it, and clang,
// which reads it for the screen, decide alike. Any other could show each another program: g++ has
// __DEC32_MANT_DIG__, clang has not, and no list of such names is complete.
//
//   Conditions conditions;
//   conditions.Define("UNROLL", {});                          // #define UNROLL 4
//   conditions.Problem({"defined", "UNROLL"})                 // "": both decide alike
//   conditions.Problem({"__DEC32_MANT_DIG__"})                // what is wrong with it
//
// Not thread-safe; one for each program.
#ifndef WHETSTONE_CPU_BENCH_WORKER_SCREEN_CONDITIONS_H_
#define WHETSTONE_CPU_BENCH_WORKER_SCREEN_CONDITIONS_H_

#include <map>
#include <string>
#include <vector>

namespace whetstone {

class Conditions {
 public:
  // The program defines a macro of which these are the identifiers, its parameters left out and
  // "##" among them where it pastes names. (A name that it takes back by #undef stays known:
  // whether it is defined both know.)
  void Define(const std::string& name, std::vector<std::string> identifiers) {
    own_[name] = std::move(identifiers);
  }
  // The program defines it somewhere: `#ifndef BLOCK` before `#define BLOCK 64`. Both decide alike
  // unless it is a name that headers give to one of them only.
  void WillDefine(const std::string& name) { own_[name]; }
  // `#pragma GCC target` makes g++ define macros that clang does not.
  void ChangeTarget() { target_changed_ = true; }

  // What is wrong with a condition that has these identifiers; empty if nothing is.
  std::string Problem(const std::vector<std::string>& identifiers) const;

 private:
  std::map<std::string, std::vector<std::string>> own_;
  bool target_changed_ = false;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_SCREEN_CONDITIONS_H_
