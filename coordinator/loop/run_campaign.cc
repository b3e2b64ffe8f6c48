#include "coordinator/loop/run_campaign.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/host.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "coordinator/campaign/campaign_state.h"
#include "coordinator/journal/worker_list.h"
#include "coordinator/loop/campaign_loop.h"
#include "coordinator/loop/model_check.h"
#include "coordinator/loop/run_control.h"
#include "coordinator/loop/service_relay.h"
#include "coordinator/proof/best.h"
#include "coordinator/proof/suspects.h"
#include "coordinator/report/learning_health.h"
#include "coordinator/report/metrics.h"
#include "coordinator/services/cluster.h"

namespace whetstone {
namespace {

const PlannedProblem& FindProblem(const CampaignPlan& plan, const std::string& id) {
  for (const PlannedProblem& problem : plan.problems) {
    if (problem.problem.id() == id) return problem;
  }
  CHECK(false && "an incumbent of a problem the campaign does not have");
}

}  // namespace

absl::Status RunCampaign(const CampaignPlan& plan, const RunPaths& paths, Journal* journal,
                         StopSignals* signals, Console* console,
                         const std::function<bool(const v1::UpdateName& done)>& enough,
                         bool steal) {
  console->Status("reading the journal");
  ASSIGN_OR_RETURN(DurableState before, journal->Restore(plan));
  RETURN_IF_ERROR(MakeDirectories(paths.logs()));
  RETURN_IF_ERROR(console->LogTo(paths.logs() + "/whet.log"));
  ASSIGN_OR_RETURN(const std::unique_ptr<Metrics> metrics, Metrics::Open(paths, *journal));
  // A crash may have come between an incumbent's entry and its files.
  for (const auto& [id, incumbent] : before.incumbents()) {
    RETURN_IF_ERROR(PublishBest(paths, plan.campaign, FindProblem(plan, id).problem, incumbent));
  }
  const bool saved =
      !plan.CheckpointDue(before.position()) || before.CheckpointSaved(before.position());
  if (before.done() && saved) return absl::OkStatus();
  RETURN_IF_ERROR(journal->Append({StartEntry{Hostname(), HostId(), kVersionText}}, UnixMicros()));
  if (before.position() > 0) {
    console->Line(absl::StrCat("going on after ", PhaseStep(plan.NameOf(before.position()))));
  }

  // The server starts before the services: their processes would inherit the umask that it sets.
  RunControl control(paths, MakeGrpcWorkerClient);
  if (const absl::Status listening = control.Listen(); !listening.ok()) {
    console->Notice(
        absl::StrCat("whet workers and whet pause can't reach this run: ", listening.message()));
  }
  ServiceRelay relay([console](const std::string& detail) { console->Status(detail); });
  ClusterOptions options;
  options.campaign = plan.campaign;
  options.log_dir = paths.logs();
  options.on_event = [&relay](const ServiceEvent& event) { relay.Hear(event); };
  options.cancelled = StoppedWhileOpening(&relay, signals, console);
  // A run that has begun is not held up by one host.
  ASSIGN_OR_RETURN(const bool has_progress, journal->HasProgress());
  options.workers_may_be_missing = has_progress;
  ASSIGN_OR_RETURN(options.worker_list, ReadWorkerList(paths, WorkerListOf(plan.campaign)));
  if (options.worker_list->workers().empty()) {
    console->Notice(absl::StrCat("every worker has left; add one with: whet workers ", paths.root(),
                                 " add HOST"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Cluster> cluster, OpenCluster(std::move(options)));

  const std::unique_ptr<TrainerClient> trainer = MakeGrpcTrainerClient(cluster->trainer().target);
  // A run that has begun goes on from its checkpoints.
  if (!has_progress && !cluster->is_local()) {
    console->Status("asking the trainer whether the model will serve");
    RETURN_IF_ERROR(CheckRemoteModel(plan, trainer.get(), signals));
  }
  std::vector<std::unique_ptr<WorkerClient>> workers;
  LoopHooks hooks;
  hooks.trainer = trainer.get();
  std::vector<std::string> names;
  for (const Endpoint& endpoint : cluster->workers()) {
    names.push_back(endpoint.name);
    workers.push_back(MakeGrpcWorkerClient(endpoint.target));
    hooks.workers.push_back(workers.back().get());
  }
  const SteadyClock clock;
  hooks.journal = journal;
  hooks.clock = &clock;
  CampaignState state(&plan, names);
  state.Restore(std::move(before));
  if (steal) state.StealTrainer();

  CollapseWatch collapse(&plan);
  RETURN_IF_ERROR(journal->ForEachRow([&](const MetricsRow& row) {
    if (row.name.phase() == v1::UpdateName::GRPO) collapse.Add(row.name.step(), row.values);
  }));
  std::function<void()> stop;
  hooks.on_step = [&](const action::StepDone& done, int64_t time_us) {
    if (enough && enough(done.name)) stop();
    console->Line(done.line);
    if (done.name.phase() == v1::UpdateName::GRPO) {
      for (const HealthFinding& finding : collapse.Add(done.name.step(), done.row)) {
        console->Notice(absl::StrCat(finding.what, ": ", finding.advice));
      }
    }
    return metrics->Add({done.name, time_us, done.row});
  };
  hooks.on_incumbent = [&](const IncumbentEntry& incumbent) {
    console->Line(absl::StrFormat("new best for %s: %.2fx (%.2f to %.2f)", incumbent.problem_id,
                                  incumbent.verdict.speedup(), incumbent.verdict.speedup_low(),
                                  incumbent.verdict.speedup_high()));
    return PublishBest(paths, plan.campaign, FindProblem(plan, incumbent.problem_id).problem,
                       incumbent);
  };
  hooks.on_suspect = [&](const VerdictEntry& entry, const std::string& source) -> absl::Status {
    std::string path;
    ASSIGN_OR_RETURN(path, KeepSuspect(paths, entry.verdict, source));
    console->Notice(absl::StrCat("suspect: ", entry.verdict.candidate_id(), ": ",
                                 entry.verdict.detail(), "; kept as ", path));
    return absl::OkStatus();
  };
  hooks.on_checkpoint = [&](const CheckpointEntry& checkpoint) {
    console->Line(absl::StrCat("saved ", checkpoint.path));
  };
  hooks.on_notice = [console](const std::string& text) { console->Notice(text); };
  hooks.on_worker_left = [&control](int worker) { control.Left(worker); };
  hooks.on_status = [console](const std::string& line) { console->Status(line); };

  absl::Status result;
  {
    CampaignLoop loop(&plan, hooks);
    stop = [&loop] { loop.Post(event::Stop{}); };
    control.Attach(&loop, cluster.get(), &relay);
    relay.Attach(*cluster, [&loop](CampaignEvent event) { loop.Post(std::move(event)); });
    signals->OnStop(stop);
    result = loop.Run(&state);
    signals->OnStop(nullptr);
    relay.Detach();
    control.Close();
  }
  return result;
}

}  // namespace whetstone
