// Each evaluation has one row of metrics.jsonl, phase "eval", and a line of the console for it.
#ifndef WHETSTONE_COORDINATOR_DURABLE_EVAL_ROW_H_
#define WHETSTONE_COORDINATOR_DURABLE_EVAL_ROW_H_

#include <map>
#include <string>

#include "coordinator/durable/step_record.h"
#include "coordinator/durable/step_row.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

// Returns the row of an evaluation, whose verdicts must all be there:
//
//   eval/correct         share of the samples that are right
//   eval/fast_1.5        share that is right and at least 1.5 times as fast as the reference
//   eval/best            geometric mean over the problems of the fastest right program's speedup; a
//                        problem whose programs are all slower than the reference, or wrong, counts
//                        1
//   eval/reward          mean reward of what is not dropped
//   eval/outcome/…       share of each outcome
//   eval/dropped         share whose verdict says nothing of the program
//   eval/mean_length     tokens of a completion
//   eval/clipped_ratio   share cut off before their end
//   eval/samples, eval/time/…
std::map<std::string, double> BuildEvalRow(const StepRecord& evaluation, const StepTimes& times);

// Returns "evaluation at step 10  correct  12%  …".
std::string EvalLine(const v1::UpdateName& name, const std::map<std::string, double>& row);

// Returns "correct 12%, at least 1.5x 3%, best 1.20x".
std::string EvalText(const std::map<std::string, double>& row);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DURABLE_EVAL_ROW_H_
