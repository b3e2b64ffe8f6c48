// Builds a proof's stand-alone benchmark (best.h) in a directory of its own, runs it and says what
// it found.
//
//   ASSIGN_OR_RETURN(Verification v,
//                    VerifyProof(paths.best("matmul"), incumbent.source, {}, status));
//   v.confirmed;   // right everywhere, and as fast as recorded, within the tolerance
#ifndef WHETSTONE_COORDINATOR_PROOF_VERIFY_BEST_H_
#define WHETSTONE_COORDINATOR_PROOF_VERIFY_BEST_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace whetstone {

struct Verification {
  bool confirmed = false;
  bool right = false;  // at every size, whatever its speed
  std::string reason;  // one line: why, or why not
  // These were found here; 0 when nothing was timed.
  double speedup = 0;
  double speedup_low = 0;
  double speedup_high = 0;
  double tolerance = 0;
  std::string output;  // what the benchmark printed
};

// `program` is the source that was measured: a candidate.cc that no longer holds it is never
// confirmed, whatever it does. `tolerance` is how far below the recorded interval a speedup may
// lie (0.1 is a tenth); without one the benchmark's own holds. `status` hears what is going on.
// NOT_FOUND: no proof in `folder`, or no CMake. DEADLINE_EXCEEDED: building or running took too
// long. CANCELLED: `cancelled` (may be empty) said so. A program that doesn't build or crashes is
// not confirmed, not an error.
absl::StatusOr<Verification> VerifyProof(const std::string& folder, const std::string& program,
                                         std::optional<double> tolerance,
                                         const std::function<void(const std::string&)>& status,
                                         const std::function<bool()>& cancelled = {});

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROOF_VERIFY_BEST_H_
