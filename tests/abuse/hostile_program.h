// A hostile candidate: C++ source whose first comment lines say what it tries and what may come of
// it.
//
//   // what: rings the completion bell before the work is done
//   // expect: WRONG_ANSWER FORBIDDEN
//   // screened: FORBIDDEN            (optional; else FORBIDDEN, COMPILE_ERROR or `expect`)
//   // max-speedup: 1.15              (only where CORRECT is expected)
#ifndef WHETSTONE_TESTS_ABUSE_HOSTILE_PROGRAM_H_
#define WHETSTONE_TESTS_ABUSE_HOSTILE_PROGRAM_H_

#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

struct HostileProgram {
  std::string name;  // file name without .cc
  std::string what;
  std::string source;
  std::set<v1::Outcome> expect;    // with the screen off: the sandbox and the ruler alone
  std::set<v1::Outcome> screened;  // with the screen on
  double speedup_max = 0;

  friend std::ostream& operator<<(std::ostream& out, const HostileProgram& program) {
    return out << program.name;
  }
};

// INVALID_ARGUMENT names the header line that is missing or unknown.
absl::StatusOr<HostileProgram> ParseHostileProgram(const std::string& name,
                                                   const std::string& source);
// Every *.cc of a folder, sorted by name.
absl::StatusOr<std::vector<HostileProgram>> LoadHostilePrograms(const std::string& folder);

}  // namespace whetstone

#endif  // WHETSTONE_TESTS_ABUSE_HOSTILE_PROGRAM_H_
