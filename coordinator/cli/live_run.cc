#include "coordinator/cli/live_run.h"

#include <optional>
#include <utility>

#include "common/status_macros.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/report/run_summary.h"

namespace whetstone {

absl::StatusOr<std::unique_ptr<LiveRun>> LiveRun::Find(const std::string& root,
                                                       const std::string& otherwise) {
  ASSIGN_OR_RETURN(const RunPaths paths, RunDir::Find(root));
  const std::optional<RunOwner> owner = RunDir::Owner(paths);
  if (owner && !owner->here()) {
    return absl::FailedPreconditionError(absl::StrCat(
        root, " belongs to ", owner->text(), ", which can be asked there alone", owner->doubt()));
  }
  if (!owner) {
    CampaignPlan plan;
    ASSIGN_OR_RETURN(const RunSummary summary, SummarizeRun(paths, &plan));
    if (summary.done()) {
      return absl::FailedPreconditionError(
          absl::StrCat(root, " is done, so ", otherwise, " any more"));
    }
    return absl::FailedPreconditionError(
        absl::StrCat(root, " is not running, so ", otherwise, "; go on with: whet resume ", root));
  }
  ASSIGN_OR_RETURN(ControlAddress address, ControlAddress::Open(paths));
  return std::unique_ptr<LiveRun>(new LiveRun(root, std::move(address)));
}

LiveRun::LiveRun(std::string root, ControlAddress address)
    : root_(std::move(root)),
      address_(std::move(address)),
      stub_(v1::Coordinator::NewStub(MakeChannel(address_.target()))) {}

}  // namespace whetstone
