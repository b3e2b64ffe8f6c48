#include "coordinator/doctor/service_check.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/problem/problem_hash.h"
#include "coordinator/config/campaign_rules.h"
#include "coordinator/doctor/campaign_check.h"
#include "coordinator/doctor/version_and_clock_check.h"
#include "coordinator/prompt/prompt_file.h"
#include "coordinator/rpc/trainer_client.h"
#include "coordinator/rpc/worker_client.h"
#include "coordinator/services/cluster.h"
#include "coordinator/services/ssh_cluster.h"

namespace whetstone {
namespace {

using Level = Finding::Level;
using std::chrono::seconds;

constexpr seconds kInfoDeadline{10};
constexpr seconds kModelDeadline{60};
constexpr seconds kCalibrationDeadline{180};
// The paired ratio of equal code stays within 0.7 % on a quiet machine.
constexpr double kQuietBand = 0.01;
constexpr double kNoisyBand = 0.05;

std::string Text(const absl::Status& status) { return std::string(status.message()); }

// Returns noise on the scale of logarithms as the percentage that people expect.
std::string Percent(double band) { return absl::StrFormat("%.2f %%", 100 * std::expm1(band)); }

void CheckIsolation(const std::string& name, const v1::WorkerInfo& info,
                    const v1::Campaign& campaign, const FindingSink& found) {
  const std::string check = name + ": sandbox";
  const std::string fix = absl::StrJoin(info.isolation_missing(), "\n");
  if (info.isolation_level() < IsolationMin(campaign)) {
    found({Level::kFail, check,
           absl::StrCat("in force: ", info.isolation(), "; measure.isolation_min demands ",
                        campaign.measure().isolation_min()),
           fix});
  } else if (!fix.empty()) {  // it is protected, but the host could do more
    found({Level::kWarn, check, absl::StrCat("in force: ", info.isolation()), fix});
  } else {
    found({Level::kOk, check, info.isolation(), ""});
  }
}

void CheckCores(const std::string& name, const v1::WorkerInfo& info, bool with_trainer,
                const FindingSink& found) {
  const std::string have = absl::StrCat(
      info.cores(), " cores (", info.cpu_model(), "), ", info.slots(), " slots on ",
      info.numa_nodes(), info.numa_nodes() == 1 ? " memory node" : " memory nodes", "; ",
      info.build_apart()
          ? absl::StrCat("compilers have cores ", absl::StrJoin(info.build_cores(), ","))
          : "compilers and timing take turns on the same cores",
      "; up to ", info.threads_max(), " threads a problem, ", info.threads_apart_max(),
      " with a core left for the timer");
  if (info.slots() < 1) {
    found({Level::kFail, name + ": cores", have + ": nothing can be timed",
           "give the worker at least two cores (taskset, cgroup cpuset)"});
  } else if (with_trainer && info.cores() < 4) {
    found({Level::kWarn, name + ": cores",
           have + "; the trainer shares them, so timing waits while it generates or learns",
           "put the worker on a host of its own (cluster.workers)"});
  } else {
    found({Level::kOk, name + ": cores", have, ""});
  }
  if (info.slots() > info.slots_apart_max()) {
    found({Level::kWarn, name + ": hyper-threads",
           "kernels share physical cores with timers, so speedups are coarse",
           info.slots_apart_max() == 0
               ? "give the worker another physical core on the same memory node"
               : absl::StrCat("start it with --slots ", info.slots_apart_max())});
  }
}

// The slot that measured the problem has its own noise by now; others follow with their candidates.
void CheckSlotNoise(const std::string& name, WorkerClient* worker, const FindingSink& found) {
  const auto info = worker->GetInfo({kInfoDeadline});
  if (!info.ok()) return;  // it is reported already
  double widest = 0;
  int measured = 0;
  for (const double band : info->slot_noise_bands()) {
    widest = std::max(widest, band);
    measured += band > 0 ? 1 : 0;
  }
  found({widest <= kNoisyBand ? Level::kOk : Level::kWarn, name + ": slots",
         absl::StrCat(measured, " of ", info->slot_noise_bands_size(),
                      " slots measured by themselves; the noisiest ", Percent(widest)),
         widest <= kNoisyBand ? "" : "stop other work on that host (uptime, top)"});
}

void CheckNoise(const std::string& name, const v1::Campaign& campaign, WorkerClient* worker,
                const FindingSink& found) {
  const std::string check = name + ": noise";
  const auto& problems =
      campaign.problems().empty() ? campaign.eval().problems() : campaign.problems();
  if (problems.empty()) return;
  const std::string& path = problems[0];
  absl::StatusOr<v1::Problem> problem = ParsePromptFile(path);
  if (!problem.ok()) return;  // it is reported already
  v1::PutProblemRequest request;
  request.set_problem_hash(ProblemHash(*problem));
  *request.mutable_problem() = *std::move(problem);
  const auto response = worker->PutProblem(request, {kCalibrationDeadline});
  if (!response.ok()) {
    found({Level::kFail, check,
           absl::StrCat("cannot measure ", path, ": ", Text(response.status())),
           "whet problem check " + path});
    return;
  }
  CheckSlotNoise(name, worker, found);
  const double band = response->calibration().noise_band();
  const double expert = response->calibration().expert().speedup();
  const std::string detail = absl::StrCat(
      "identical code differs by at most ", Percent(band), " (95 % of the time, ", path, "); ",
      expert > 0 ? absl::StrFormat("its expert is %.2fx", expert) : "it has no expert");
  if (band <= kQuietBand) {
    found({Level::kOk, check, detail, ""});
  } else {
    found({band <= kNoisyBand ? Level::kWarn : Level::kFail, check, detail,
           "stop other work on that host (uptime, top), keep the worker's cores free of it"});
  }
}

void CheckWorker(const std::string& name, const std::string& target, const v1::Campaign& campaign,
                 bool with_trainer, const FindingSink& found) {
  const std::unique_ptr<WorkerClient> worker = MakeGrpcWorkerClient(target);
  const double asked = UnixSeconds();
  const auto info = worker->GetInfo({kInfoDeadline});
  if (!info.ok()) {
    found({Level::kFail, name, Text(info.status()), "look at the worker's log on that host"});
    return;
  }
  CheckClock(name, info->unix_time(), asked, UnixSeconds(), found);
  CheckVersion(name, info->version(), WHETSTONE_VERSION, found);
  found({Level::kOk, name,
         absl::StrCat("whet-worker ", info->version(), " on ", info->hostname(), ", ",
                      info->compiler()),
         ""});
  CheckIsolation(name, *info, campaign, found);
  CheckCores(name, *info, with_trainer, found);
  CheckNoise(name, campaign, worker.get(), found);
}

// Returns whether it answers.
bool CheckTrainer(const std::string& name, const std::string& target, const FindingSink& found) {
  const double asked = UnixSeconds();
  const auto info = MakeGrpcTrainerClient(target)->GetInfo({}, {kInfoDeadline});
  if (!info.ok()) {
    found({Level::kFail, name, Text(info.status()), "look at the trainer's log on that host"});
    return false;
  }
  CheckClock(name, info->unix_time(), asked, UnixSeconds(), found);
  CheckVersion(name, info->version(), WHETSTONE_VERSION, found);
  CheckGpu(name, info->unused_gpu(), found);
  if (!info->held_by().empty()) {
    found({Level::kWarn, name + ": in use",
           absl::StrFormat("it serves campaign %s, heard of %.0f s ago", info->held_by(),
                           info->heard_s()),
           "wait for that campaign's end or stop it; whet run --steal takes the trainer from it"});
  }
  found({Level::kOk, name,
         absl::StrCat("whet-trainer ", info->version(), " on ", info->hostname(), ", ",
                      info->device(), ", ", info->dtype(), ", ", info->threads(), " threads",
                      info->held_by().empty() ? ", free" : ""),
         ""});
  return true;
}

// Returns the command to type after an error of a tunnel, beyond what the message says.
std::string TunnelFix(const absl::Status& status, const RemoteService& service,
                      const v1::ClusterConfig& cluster) {
  const std::string ssh = absl::StrCat("ssh -F ", cluster.ssh_config(), " ", service.host);
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return "apt-get install openssh-client, or leave cluster.tunnel at libssh";
    case absl::StatusCode::kUnauthenticated:
      return absl::StrCat("ssh-copy-id -F ", cluster.ssh_config(), " ", service.host);
    case absl::StatusCode::kPermissionDenied:
      return ssh + " true    # shows the fingerprint; compare before accepting";
    default:
      return absl::StrCat(ssh, " ls -l ", service.socket);
  }
}

// Checks each host by itself, so that one dead host does not hide the others.
void CheckRemote(const v1::Campaign& campaign, const v1::InspectModelRequest& request,
                 const ServiceCheckOptions& options, const FindingSink& found) {
  const absl::StatusOr<TempDir> dir = TempDir::Make("whet");
  if (!dir.ok()) {
    found({Level::kFail, "tunnels", Text(dir.status()), "set TMPDIR to a writable directory"});
    return;
  }
  bool is_trainer = true;
  int index = 0;
  for (const RemoteService& service : RemoteServices(campaign.cluster())) {
    if (options.cancelled && options.cancelled()) return;
    const std::string socket = absl::StrCat(dir->path(), "/", index++, ".sock");
    TunnelOptions tunnel_options = TunnelTo(service, campaign.cluster(), socket);
    tunnel_options.cancelled = options.cancelled;
    const auto tunnel = OpenTunnel(campaign.cluster(), tunnel_options);
    if (!tunnel.ok()) {
      found({Level::kFail, service.name + ": ssh", Text(tunnel.status()),
             TunnelFix(tunnel.status(), service, campaign.cluster())});
    } else {
      found({Level::kOk, service.name + ": ssh",
             absl::StrCat("host key, key and ", service.socket, " are fine",
                          campaign.cluster().tunnel() == "ssh" ? ", by the ssh program" : ""),
             ""});
      const std::string target = "unix:" + socket;
      if (is_trainer) {
        if (CheckTrainer(service.name, target, found)) {
          const auto trainer = MakeGrpcTrainerClient(target);
          ReportModels(campaign, request, trainer->InspectModel(request, {kModelDeadline}), found);
        }
      } else {
        CheckWorker(service.name, target, campaign, /*with_trainer=*/false, found);
      }
    }
    is_trainer = false;
  }
}

void CheckLocal(const v1::Campaign& campaign, const ServiceCheckOptions& options,
                const FindingSink& found) {
  const absl::StatusOr<TempDir> logs = TempDir::Make("whet");
  if (!logs.ok()) {
    found({Level::kFail, "services", Text(logs.status()), "set TMPDIR to a writable directory"});
    return;
  }
  ClusterOptions cluster_options;
  cluster_options.campaign = campaign;
  cluster_options.log_dir = logs->path();
  cluster_options.cancelled = options.cancelled;
  cluster_options.bin_dir = options.bin_dir;
  const auto cluster = OpenCluster(cluster_options);
  if (!cluster.ok()) {
    found({Level::kFail, "services", Text(cluster.status()), "build all targets: cmake --build"});
    return;
  }
  CheckTrainer((*cluster)->trainer().name, (*cluster)->trainer().target, found);
  for (const Endpoint& worker : (*cluster)->workers()) {
    CheckWorker(worker.name, worker.target, campaign, /*with_trainer=*/true, found);
  }
}

}  // namespace

void CheckServices(const v1::Campaign& campaign, const v1::InspectModelRequest& request,
                   const ServiceCheckOptions& options, const FindingSink& found) {
  if (campaign.has_cluster()) {
    CheckRemote(campaign, request, options, found);
  } else {
    CheckLocal(campaign, options, found);
  }
}

}  // namespace whetstone
