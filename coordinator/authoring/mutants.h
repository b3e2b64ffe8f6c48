// Mutants are the reference with one change each, to see whether a problem's inputs and its
// comparison tell right from wrong where it matters (mutation analysis: DeMillo, Lipton and
// Sayward, "Hints on Test Data Selection", Computer 11(4), 1978). The changes are made in the text,
// without parsing it: one that does not compile says nothing.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_MUTANTS_H_
#define WHETSTONE_COORDINATOR_AUTHORING_MUTANTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace whetstone {

struct Mutant {
  enum class Kind {
    kReach,  // as the reference, but crashes where a condition has one value: right means never
    kWrong,  // does something else: right means that nobody would notice
  };
  Kind kind = Kind::kWrong;
  int line = 0;        // of the reference, from 1
  std::string change;  // "'i < n' is never true", "'i < n' ends one earlier", "31 is 32" …
  std::string source;
};

// Returns at most `reach_max` and `wrong_max` mutants, evenly chosen from, in the order of the
// text:
//
// kReach: each condition of an `if` true and false, of a loop true; each `case` and `default`
// kWrong: the bound of a `for` loop one off to the inside, an `if` left out, a number changed
std::vector<Mutant> MakeMutants(absl::string_view reference, size_t reach_max, size_t wrong_max);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_MUTANTS_H_
