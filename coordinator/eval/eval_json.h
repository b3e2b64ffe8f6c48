// An evaluation as JSON: what `whet eval --json` prints.
#ifndef WHETSTONE_COORDINATOR_EVAL_EVAL_JSON_H_
#define WHETSTONE_COORDINATOR_EVAL_EVAL_JSON_H_

#include <nlohmann/json_fwd.hpp>

#include "coordinator/eval/eval_summary.h"

namespace whetstone {

// The object has split, samples, seed, k, problems_compared; models, each with its estimates
// ("pass@1": {value, low, high}), counts and problems, each with the same and every sample; and
// pairs (model, baseline, estimates of the difference; of best@k: the ratio).
nlohmann::ordered_json EvalJson(const EvalSummary& summary);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_EVAL_EVAL_JSON_H_
