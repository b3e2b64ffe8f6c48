// Keeps programs that were faster than physics allows where the operator finds them:
//
//   RUN/suspects/12-0-3.cc           step, group, sample: what was doubted, then the program as it
//   came RUN/suspects/eval-20-0-3.cc      of the evaluation at step 20
//
// A suspect program did not do the work, or its problem's `cost` is too high: somebody has to read
// it.
#ifndef WHETSTONE_COORDINATOR_PROOF_SUSPECTS_H_
#define WHETSTONE_COORDINATOR_PROOF_SUSPECTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/journal/run_dir.h"
#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

// Returns the file's path. The candidate's id ends with "/STEP/GROUP/SAMPLE" (CampaignPlan). A
// program that is kept again replaces itself.
absl::StatusOr<std::string> KeepSuspect(const RunPaths& paths, const v1::Verdict& verdict,
                                        absl::string_view source);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROOF_SUSPECTS_H_
