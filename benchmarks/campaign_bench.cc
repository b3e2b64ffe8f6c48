// Measures what the coordinator itself costs. It runs whole campaigns with a trainer that answers
// at once and many workers that only wait, through the real loop and a real journal on disk, and
// then resumes the same run from its journal.
//
//   campaign_bench [--workers 1000] [--steps 8] [--rollouts 4096] [--verdicts-per-s 10000]
//
// Every worker takes so long for a verdict that all of them together offer --verdicts-per-s. One
// JSON line says how many verdicts a second came from the first to the last (generating and
// updating included), a verdict's processor time, the peak of resident memory, the share of the
// time in which everybody waited for the coordinator (from a step's last verdict to its update,
// from there to the next generation), and the seconds from an unopened journal to the first action.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/journal/journal.h"
#include "coordinator/loop/campaign_loop.h"
#include "coordinator/rpc/echo_services.h"

namespace whetstone {
namespace {

constexpr int kTokens = 200;
constexpr int kGroupSize = 64;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Usage {
  double cpu_s = 0;
  double peak_mib = 0;
};

Usage UsageNow() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return {seconds(usage.ru_utime) + seconds(usage.ru_stime),
          static_cast<double>(usage.ru_maxrss) / 1024};
}

// Idle knows when the services last did something, and how long nobody but the coordinator could.
struct Idle {
  std::atomic<double> last_verdict{0};
  std::atomic<double> last_update{0};
  std::atomic<double> seconds{0};
};

// QuickTrainer makes its completions as long as real ones.
class QuickTrainer final : public EchoTrainer {
 public:
  explicit QuickTrainer(Idle* idle) : idle_(idle) {}
  absl::Status Generate(const v1::GenerateRequest& request,
                        const std::function<void(const v1::GenerateEvent&)>& on_event,
                        const CallOptions& options) override {
    if (idle_->last_update > 0) idle_->seconds = idle_->seconds + Now() - idle_->last_update;
    const std::string filler(3 * kTokens, ' ');
    return EchoTrainer::Generate(
        request,
        [&](const v1::GenerateEvent& event) {
          if (!event.has_completion()) return on_event(event);
          v1::GenerateEvent longer = event;
          v1::Completion& completion = *longer.mutable_completion();
          for (int i = 1; i < kTokens; ++i) {
            completion.add_ids(i);
            completion.add_sampling_logprobs(-0.5f);
          }
          completion.set_text(absl::StrCat(completion.text(), filler));
          on_event(longer);
        },
        options);
  }
  absl::StatusOr<v1::UpdateResponse> Update(const v1::UpdateRequest& request,
                                            const CallOptions& options) override {
    idle_->seconds = idle_->seconds + Now() - idle_->last_verdict;
    absl::StatusOr<v1::UpdateResponse> response = EchoTrainer::Update(request, options);
    idle_->last_update = Now();
    return response;
  }

 private:
  Idle* const idle_;
};

class SlowWorker final : public EchoWorker {
 public:
  SlowWorker(int index, std::chrono::nanoseconds takes, Idle* idle)
      : index_(index), takes_(takes), idle_(idle) {}
  absl::StatusOr<v1::WorkerInfo> GetInfo(const CallOptions& options) override {
    absl::StatusOr<v1::WorkerInfo> info = EchoWorker::GetInfo(options);
    info->set_host_id(absl::StrCat("host-", index_));
    info->set_hostname(absl::StrCat("w", index_));
    info->set_slots(1);
    return info;
  }
  absl::StatusOr<v1::MeasureResponse> Measure(const v1::MeasureRequest& request,
                                              const CallOptions& options) override {
    std::this_thread::sleep_for(takes_);
    absl::StatusOr<v1::MeasureResponse> response = EchoWorker::Measure(request, options);
    response->mutable_verdict()->set_worker(absl::StrCat("w", index_));
    idle_->last_verdict = Now();
    return response;
  }

 private:
  const int index_;
  const std::chrono::nanoseconds takes_;
  Idle* const idle_;
};

struct Flags {
  int workers = 1000;
  int steps = 8;
  int rollouts = 4096;
  double verdicts_per_s = 10000;
};

CampaignPlan MakePlan(const Flags& flags) {
  CampaignPlan plan;
  plan.campaign = *ParseCampaign(
      "name: bench\nmodel: /model\nproblems: [a.md, b.md]\n", "bench", "/",
      {absl::StrCat("train.steps=", flags.steps), absl::StrCat("train.group_size=", kGroupSize),
       absl::StrCat("train.prompts_per_step=", flags.rollouts / kGroupSize)});
  plan.campaign_id = "bench-1";
  plan.checkpoint_dir = "/checkpoints";
  for (const char* id : {"a", "b"}) {
    PlannedProblem problem;
    problem.problem.set_id(id);
    problem.hash = absl::StrCat("hash-", id);
    plan.problems.push_back(problem);
  }
  return plan;
}

int Main(const Flags& flags) {
  const CampaignPlan plan = MakePlan(flags);
  const TempDir folder = TempDir::Make("campaign-bench").value();
  const std::string path = folder.path() + "/journal.db";
  const int64_t verdicts = int64_t{flags.steps} * (flags.rollouts / kGroupSize) * kGroupSize;
  nlohmann::ordered_json result = {{"workers", flags.workers}, {"verdicts", verdicts}};
  {
    const std::unique_ptr<Journal> journal = Journal::Create(path, plan.campaign_id).value();
    const SteadyClock clock;
    Idle idle;
    QuickTrainer trainer(&idle);
    std::vector<std::unique_ptr<SlowWorker>> workers;
    LoopHooks hooks;
    hooks.trainer = &trainer;
    hooks.journal = journal.get();
    hooks.clock = &clock;
    hooks.on_step = [](const action::StepDone&, int64_t) { return absl::OkStatus(); };
    hooks.on_incumbent = [](const IncumbentEntry&) { return absl::OkStatus(); };
    for (int w = 0; w < flags.workers; ++w) {
      workers.push_back(std::make_unique<SlowWorker>(
          w,
          std::chrono::nanoseconds(
              static_cast<int64_t>(1e9 * flags.workers / flags.verdicts_per_s)),
          &idle));
      hooks.workers.push_back(workers.back().get());
    }
    CampaignState state(&plan,
                        std::vector<std::string>(static_cast<size_t>(flags.workers), "worker"));
    CampaignLoop loop(&plan, hooks);
    loop.Post(event::ServiceReady{kTrainer});
    for (int w = 0; w < flags.workers; ++w) loop.Post(event::ServiceReady{w});
    const Usage before = UsageNow();
    const double start = Now();
    const absl::Status status = loop.Run(&state);
    CHECK(status.ok());
    const Usage after = UsageNow();
    const double took = Now() - start;
    result["verdicts_per_s"] = static_cast<double>(verdicts) / took;
    result["idle_share"] = idle.seconds / took;
    result["cpu_us_per_verdict"] =
        1e6 * (after.cpu_s - before.cpu_s) / static_cast<double>(verdicts);
    result["peak_mib"] = after.peak_mib;
  }
  const double start = Now();
  const std::unique_ptr<Journal> journal = Journal::Open(path).value();
  absl::StatusOr<DurableState> durable = journal->Restore(plan);
  CHECK(durable.ok() && durable->done());
  CampaignState state(&plan, {"worker"});
  state.Restore(*std::move(durable));
  CHECK(!state.Handle({event::ServiceReady{kTrainer}}, 0).empty());
  result["resume_s"] = Now() - start;
  std::printf("%s\n", result.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace whetstone

int main(int argc, char** argv) {
  CLI::App app("What the coordinator costs: a campaign with many workers that only wait.");
  whetstone::Flags flags;
  app.add_option("--workers", flags.workers, "Workers")->check(CLI::Range(1, 10000));
  app.add_option("--steps", flags.steps, "GRPO steps")->check(CLI::PositiveNumber);
  app.add_option("--rollouts", flags.rollouts, "Rollouts of a step")
      ->check(CLI::Range(64, 1 << 20));
  app.add_option("--verdicts-per-s", flags.verdicts_per_s, "What the workers together offer")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  return whetstone::Main(flags);
}
