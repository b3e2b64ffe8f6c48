// These are the names of outcomes on the page of `whet report` and in advice.
#ifndef WHETSTONE_COORDINATOR_REPORT_OUTCOME_NAMES_H_
#define WHETSTONE_COORDINATOR_REPORT_OUTCOME_NAMES_H_

#include <cstddef>

#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

struct OutcomeName {
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
  const char* name = "";  // "compile error"
  const char* key = "";   // of its share in a row of metrics
  size_t look = 0;        // in charts (chart_look.h)
};

// Every outcome is listed, the best first, each with a look of its own.
inline constexpr OutcomeName kOutcomeNames[] = {
    {v1::CORRECT, "correct", "outcome/correct", 0},
    {v1::WRONG_ANSWER, "wrong answer", "outcome/wrong_answer", 1},
    {v1::CRASH, "crash", "outcome/crash", 2},
    {v1::TIMEOUT, "timeout", "outcome/timeout", 3},
    {v1::MEMORY_LIMIT, "memory limit", "outcome/memory_limit", 4},
    {v1::COMPILE_ERROR, "compile error", "outcome/compile_error", 5},
    {v1::FORBIDDEN, "forbidden", "outcome/forbidden", 6},
    {v1::NO_CODE, "no code", "outcome/no_code", 7},
    {v1::SUSPECT, "suspect", "outcome/suspect", 8},
    {v1::INFRASTRUCTURE_ERROR, "our failure", "outcome/infrastructure_error", 9},
};

inline const OutcomeName& OutcomeNameOf(v1::Outcome outcome) {
  for (const OutcomeName& name : kOutcomeNames) {
    if (name.outcome == outcome) return name;
  }
  static constexpr OutcomeName kUnknown = {v1::OUTCOME_UNSPECIFIED, "unknown", "", 7};
  return kUnknown;
}

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_OUTCOME_NAMES_H_
