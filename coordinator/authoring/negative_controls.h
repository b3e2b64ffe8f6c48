// Negative controls are programs that do not do the work, made from a problem's signature. A
// harness that calls one of them right would pay a policy for cheating.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_NEGATIVE_CONTROLS_H_
#define WHETSTONE_COORDINATOR_AUTHORING_NEGATIVE_CONTROLS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

struct NegativeControl {
  std::string name;    // "empty body", "zeros", "stale output", "ignores a" …
  std::string source;  // a candidate
  // The control needs timing to be caught: it is right the first time and only later wrong.
  bool needs_timing = false;
  // The control ignores this input, if it is otherwise the reference.
  std::string input = {};
};

// Makes the controls of a problem, in this order:
//
// empty body     writes nothing: caught by the poison, or for arguments changed in place by the
//                answer. Left out if the function only returns a value.
// zeros          writes zero everywhere and returns zero.
// constant       writes one everywhere and returns one.
// stale output   computes the right answer once per size and repeats it ever after.
// ignores NAME   the reference, reading zeros in place of the input NAME: one for each input.
absl::StatusOr<std::vector<NegativeControl>> MakeNegativeControls(const v1::Problem& problem);

// Returns a program that is right unless the reference reads what it is said to write only, or
// leaves some of that as it was: it writes zero everywhere there, then does what the reference
// does.
absl::StatusOr<std::string> ClearingOutputsFirst(const v1::Problem& problem);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_NEGATIVE_CONTROLS_H_
