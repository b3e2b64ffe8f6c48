// These are the names and colours of outcomes on the page of `whet report` and in advice.
#ifndef WHETSTONE_COORDINATOR_REPORT_OUTCOME_NAMES_H_
#define WHETSTONE_COORDINATOR_REPORT_OUTCOME_NAMES_H_

#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

struct OutcomeName {
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
  const char* name = "";   // "compile error"
  const char* key = "";    // of its share in a row of metrics
  const char* color = "";  // "#d62728"
};

// Every outcome is listed, the best first.
inline constexpr OutcomeName kOutcomeNames[] = {
    {v1::CORRECT, "correct", "outcome/correct", "#2ca02c"},
    {v1::WRONG_ANSWER, "wrong answer", "outcome/wrong_answer", "#f0b429"},
    {v1::CRASH, "crash", "outcome/crash", "#e8743b"},
    {v1::TIMEOUT, "timeout", "outcome/timeout", "#8a6d3b"},
    {v1::MEMORY_LIMIT, "memory limit", "outcome/memory_limit", "#e377c2"},
    {v1::COMPILE_ERROR, "compile error", "outcome/compile_error", "#d62728"},
    {v1::FORBIDDEN, "forbidden", "outcome/forbidden", "#9467bd"},
    {v1::NO_CODE, "no code", "outcome/no_code", "#7f7f7f"},
    {v1::SUSPECT, "suspect", "outcome/suspect", "#17becf"},
    {v1::INFRASTRUCTURE_ERROR, "our failure", "outcome/infrastructure_error", "#1f3a5f"},
};

inline const OutcomeName& OutcomeNameOf(v1::Outcome outcome) {
  for (const OutcomeName& name : kOutcomeNames) {
    if (name.outcome == outcome) return name;
  }
  static constexpr OutcomeName kUnknown = {v1::OUTCOME_UNSPECIFIED, "unknown", "", "#7f7f7f"};
  return kUnknown;
}

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_OUTCOME_NAMES_H_
