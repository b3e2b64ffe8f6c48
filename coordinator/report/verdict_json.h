// `whet measure` prints, and best/ keeps, a verdict as this JSON.
#ifndef WHETSTONE_COORDINATOR_REPORT_VERDICT_JSON_H_
#define WHETSTONE_COORDINATOR_REPORT_VERDICT_JSON_H_

#include <nlohmann/json_fwd.hpp>

#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

// The object has outcome, speedup, speedup_low, speedup_high (null unless timed), sizes, detail,
// isolation and the rest of verdict.proto; numbers that are not finite become null.
nlohmann::ordered_json VerdictJson(const v1::Verdict& verdict);

// Returns the number, or null if it is not finite.
nlohmann::ordered_json NumberOrNull(double value);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_VERDICT_JSON_H_
