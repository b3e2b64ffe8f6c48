// An evaluation's folder: one run directory for each model, as of any campaign, beside them
//
//   EVAL/models.json   {NAME: {"path", "identity"}}: which model each was made of
//   EVAL/eval.html     the page of the last comparison
#ifndef WHETSTONE_COORDINATOR_EVAL_EVAL_FOLDER_H_
#define WHETSTONE_COORDINATOR_EVAL_EVAL_FOLDER_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/durable/campaign_plan.h"
#include "coordinator/eval/eval_models.h"
#include "coordinator/eval/eval_summary.h"

namespace whetstone {

// kNew: nothing of it is there that would be lost.
enum class EvalState { kNew, kBegun, kDone };

class EvalFolder {
 public:
  // `root` is absolute. Touches nothing.
  explicit EvalFolder(std::string root) : root_(std::move(root)) {}
  const std::string& root() const { return root_; }
  std::string page() const { return root_ + "/eval.html"; }
  std::string RunOf(const NamedModel& model) const { return root_ + "/" + model.name; }

  // Says how far the evaluation of `model` by `plan` is. FAILED_PRECONDITION: what is there was
  // made with other settings, of another model, or of one that has been changed since; says in
  // what.
  absl::StatusOr<EvalState> StateOf(const NamedModel& model, const CampaignPlan& plan) const;
  // Remembers which model it is. Comes before its first sample.
  absl::Status Remember(const NamedModel& model) const;
  // Reads what its evaluation has found so far.
  absl::StatusOr<EvalModel> Read(const NamedModel& model) const;

 private:
  absl::Status CheckIdentity(const NamedModel& model) const;

  std::string root_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_EVAL_EVAL_FOLDER_H_
