#include "coordinator/loop/run_campaign.h"

#include <algorithm>
#include <chrono>
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
#include "coordinator/loop/health_monitor.h"
#include "coordinator/loop/model_check.h"
#include "coordinator/loop/notifier.h"
#include "coordinator/loop/run_control.h"
#include "coordinator/loop/service_relay.h"
#include "coordinator/proof/best.h"
#include "coordinator/proof/suspects.h"
#include "coordinator/report/metrics.h"
#include "coordinator/report/run_summary.h"
#include "coordinator/services/cluster.h"

namespace whetstone {
namespace {

const PlannedProblem& FindProblem(const CampaignPlan& plan, const std::string& id) {
  for (const PlannedProblem& problem : plan.problems) {
    if (problem.problem.id() == id) return problem;
  }
  CHECK(false && "an incumbent of a problem the campaign does not have");
}

// Tells of an alarm.
void TellAlarm(const HealthFinding& finding, int64_t step, Console* console, Notifier* notifier) {
  const std::string text = absl::StrCat(finding.what, ": ", finding.advice);
  console->Notice(text);
  notifier->Tell({.event = finding.kind == "stalled" ? "stall" : "alarm",
                  .text = text,
                  .step = step,
                  .more = {{"kind", finding.kind},
                           {"subject", finding.subject},
                           {"what", finding.what},
                           {"advice", finding.advice}}});
}

// Returns "done, steps 40/40, reward 0.100 (first 3 steps) → 0.900 (last 3), best matmul 5.31x".
std::string FinishText(const RunSummary& summary) {
  std::string text = absl::StrCat("done, steps ", summary.steps_done, "/", summary.steps_total);
  if (!summary.rows.empty()) absl::StrAppend(&text, ", reward ", RewardText(summary));
  for (const auto& [id, incumbent] : summary.incumbents) {
    absl::StrAppendFormat(&text, ", best %s %.2fx", id, incumbent.verdict.speedup());
  }
  return text;
}

// Tells how it ended.
void TellEnd(const absl::Status& status, const CampaignPlan& plan, const RunPaths& paths,
             const Journal& journal, Notifier* notifier) {
  if (!notifier->tells()) return;
  const absl::StatusOr<RunSummary> summary = SummarizeRun(plan, paths, journal);
  Notification end;
  end.event = status.ok() ? "finish" : "failure";
  if (summary.ok()) end.step = summary->steps_done;
  if (!status.ok()) {
    end.text = std::string(status.message());
  } else {
    end.text = summary.ok() ? FinishText(*summary) : "done";
  }
  notifier->Tell(std::move(end));
}

// `began` is set once it does anything.
absl::Status RunToItsEnd(const CampaignPlan& plan, const RunPaths& paths, Journal* journal,
                         StopSignals* signals, Console* console,
                         const std::function<bool(const v1::UpdateName& done)>& enough, bool steal,
                         Notifier* notifier, bool* began) {
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
  *began = true;
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

  int64_t steps_done = std::max<int64_t>(0, state.durable().position() - plan.warmup_updates());
  HealthMonitor monitor(&plan, paths, journal, [&](const HealthFinding& finding) {
    TellAlarm(finding, steps_done, console, notifier);
  });
  RETURN_IF_ERROR(monitor.Begin());
  if (!state.durable().checkpoints().empty()) monitor.Saved(state.durable().checkpoints().back());
  std::function<void()> stop;
  hooks.on_step = [&](const action::StepDone& done, int64_t time_us) {
    if (enough && enough(done.name)) stop();
    console->Line(done.line);
    if (done.name.phase() == v1::UpdateName::GRPO) {
      steps_done = done.name.step();
      monitor.Step(steps_done, done.row);
    }
    return metrics->Add({done.name, time_us, done.row});
  };
  hooks.on_incumbent = [&](const IncumbentEntry& incumbent) {
    const v1::Verdict& verdict = incumbent.verdict;
    const std::string text =
        absl::StrFormat("new best for %s: %.2fx (%.2f to %.2f)", incumbent.problem_id,
                        verdict.speedup(), verdict.speedup_low(), verdict.speedup_high());
    console->Line(text);
    RETURN_IF_ERROR(PublishBest(paths, plan.campaign,
                                FindProblem(plan, incumbent.problem_id).problem, incumbent));
    notifier->Tell({.event = "best",
                    .text = text,
                    .step = steps_done,
                    .more = {{"problem", incumbent.problem_id},
                             {"speedup", verdict.speedup()},
                             {"speedup_low", verdict.speedup_low()},
                             {"speedup_high", verdict.speedup_high()},
                             {"folder", paths.best(incumbent.problem_id)}}});
    return absl::OkStatus();
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
    monitor.Saved(checkpoint);
  };
  hooks.on_notice = [console](const std::string& text) { console->Notice(text); };
  hooks.on_worker_left = [&control](int worker) { control.Left(worker); };
  hooks.on_status = [&](const std::string& line) {
    console->Status(line);
    monitor.Look(std::chrono::duration<double>(clock.Now()).count());
  };

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

}  // namespace

absl::Status RunCampaign(const CampaignPlan& plan, const RunPaths& paths, Journal* journal,
                         StopSignals* signals, Console* console,
                         const std::function<bool(const v1::UpdateName& done)>& enough,
                         bool steal) {
  Notifier notifier(plan.campaign.notify().command(), paths.root(), plan.campaign.name(),
                    paths.logs() + "/notify.log",
                    [console](const std::string& why) { console->Notice(why); });
  bool began = false;
  const absl::Status status =
      RunToItsEnd(plan, paths, journal, signals, console, enough, steal, &notifier, &began);
  // A stop was somebody's wish, and is no news.
  if (absl::IsCancelled(status)) {
    notifier.End(Notifier::kStopDeadline);
  } else if (began || !status.ok()) {
    TellEnd(status, plan, paths, *journal, &notifier);
  }
  return status;
}

}  // namespace whetstone
