// A hostile candidate: C++ source whose first comment lines say what it tries and what may come of
// it.
//
//   // what: responds before the work is done
//   // checklist: 52, 65              (rows of docs/security.md; 0: an idea that stands on no list)
//   // with: mailbox honest            (optional: helpers/mailbox.inc and honest.inc go before it)
//   // problem: softmax_rows_f32      (optional: of prompts/, or one of abuse_testing.cc's own;
//   else
//                                     its matrix product)
//   // expect: WRONG_ANSWER FORBIDDEN (CORRECT: and no faster than its twin)
//   // screened: FORBIDDEN            (optional; else FORBIDDEN, COMPILE_ERROR or `expect`)
//   // variant: tcp: socket(2, 1, 0)  (optional, repeated: a program each, with VARIANT so defined)
//   // twin: 0                        (optional: with this VARIANT it is its honest twin; else the
//                                     reference is)
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
  std::string name;  // file name without .cc, then "_" and the variant
  std::string what;
  std::string problem;  // empty: the matrix product
  std::string source;
  std::set<v1::Outcome> expect;    // with the screen off: the sandbox and the ruler alone
  std::set<v1::Outcome> screened;  // with the screen on
  std::string twin;                // source; empty: the reference
  bool first_variant = true;
  std::set<int> checklist;

  friend std::ostream& operator<<(std::ostream& out, const HostileProgram& program) {
    return out << program.name;
  }
};

// All variants of one file; `helpers` is the folder of what `with` names. INVALID_ARGUMENT names
// the header line that is missing or unknown.
absl::StatusOr<std::vector<HostileProgram>> ParseHostileProgram(const std::string& name,
                                                                const std::string& source,
                                                                const std::string& helpers);
// Every programs/*.cc of a folder, sorted by name; their helpers lie in its helpers/.
absl::StatusOr<std::vector<HostileProgram>> LoadHostilePrograms(const std::string& folder);

}  // namespace whetstone

#endif  // WHETSTONE_TESTS_ABUSE_HOSTILE_PROGRAM_H_
