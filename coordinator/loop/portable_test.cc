#include "coordinator/loop/portable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/server.h"
#include "coordinator/durable/campaign_plan_testing.h"
#include "coordinator/journal/run_dir.h"
#include "whetstone/v1/worker.grpc.pb.h"

namespace whetstone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// What all workers were asked, side by side.
struct AskedLog {
  std::mutex mutex;
  std::vector<v1::PutProblemRequest> puts;  // these protected by mutex
  std::vector<v1::MeasureRequest> measures;
};

// A worker of a CPU model. It measures what `verdict_of` says, which may be an error.
class ModelWorker : public WorkerClient {
 public:
  using VerdictOf = std::function<absl::StatusOr<v1::Verdict>(const v1::MeasureRequest&)>;

  ModelWorker(std::string cpu_model, std::string hostname, AskedLog* log, VerdictOf verdict_of)
      : cpu_model_(std::move(cpu_model)),
        hostname_(std::move(hostname)),
        log_(log),
        verdict_of_(std::move(verdict_of)) {}

  absl::StatusOr<v1::WorkerInfo> GetInfo(const CallOptions& options) override {
    if (options.control->cancelled()) return absl::CancelledError("cancelled");
    if (cpu_model_.empty()) return absl::UnavailableError("nobody there");
    v1::WorkerInfo info;
    info.set_cpu_model(cpu_model_);
    info.set_hostname(hostname_);
    return info;
  }
  absl::StatusOr<v1::PutProblemResponse> PutProblem(const v1::PutProblemRequest& request,
                                                    const CallOptions&) override {
    const std::lock_guard<std::mutex> lock(log_->mutex);
    log_->puts.push_back(request);
    return v1::PutProblemResponse();
  }
  absl::StatusOr<v1::MeasureResponse> Measure(const v1::MeasureRequest& request,
                                              const CallOptions& options) override {
    EXPECT_GE(options.deadline, std::chrono::seconds(60));
    {
      const std::lock_guard<std::mutex> lock(log_->mutex);
      log_->measures.push_back(request);
    }
    absl::StatusOr<v1::Verdict> verdict = verdict_of_(request);
    if (!verdict.ok()) return verdict.status();
    v1::MeasureResponse response;
    *response.mutable_verdict() = *std::move(verdict);
    return response;
  }
  absl::Status Cancel(const v1::CancelRequest&, const CallOptions&) override {
    return absl::OkStatus();
  }

 private:
  const std::string cpu_model_;  // empty: it does not answer
  const std::string hostname_;
  AskedLog* const log_;
  const VerdictOf verdict_of_;
};

v1::Verdict Measured(v1::Outcome outcome, double speedup_low) {
  v1::Verdict verdict;
  verdict.set_outcome(outcome);
  verdict.set_timed(outcome == v1::CORRECT);
  verdict.set_speedup_low(speedup_low);
  verdict.set_speedup(speedup_low + 0.1);
  return verdict;
}

class PortableTest : public testing::Test {
 protected:
  PortableTest() {
    incumbents_["a"].step = 4;
    incumbents_["a"].source = "fast a";
    incumbents_["b"].source = "fast b";
  }
  void Add(const std::string& cpu_model, const std::string& name, ModelWorker::VerdictOf of) {
    workers_.push_back(
        {name, std::make_unique<AskedWorker>(
                   std::make_unique<ModelWorker>(cpu_model, name, &log_, std::move(of)), "me")});
  }
  Portability Ask() {
    return AskForPortability(plan_, incumbents_, workers_, [](const std::string&) {});
  }

  const CampaignPlan plan_ = MakeTestPlan({.sets = {"measure.isolation_min=landlock"}});
  Incumbents incumbents_;
  AskedLog log_;
  std::vector<NamedWorker> workers_;
};

TEST_F(PortableTest, OneWorkerOfEachModelIsAskedPreciselyAndUnderNewNames) {
  const auto fast = [](const v1::MeasureRequest&) { return Measured(v1::CORRECT, 2); };
  Add("", "cpu01", fast);
  Add("EPYC", "cpu02", fast);
  Add("EPYC", "cpu03", fast);
  Add("Xeon", "cpu04", fast);
  const Portability found = Ask();
  EXPECT_THAT(found.cpu_models, ElementsAre("EPYC", "Xeon"));
  ASSERT_THAT(found.unreached, SizeIs(1));
  EXPECT_EQ(found.unreached[0].worker, "cpu01");
  EXPECT_THAT(found.unreached[0].why, HasSubstr("nobody there"));
  ASSERT_THAT(found.programs, SizeIs(2));
  EXPECT_EQ(found.programs[0].problem, "a");
  EXPECT_EQ(found.programs[0].step, 4);
  EXPECT_EQ(found.programs[0].results[0].worker, "cpu02");
  EXPECT_EQ(found.programs[0].results[1].worker, "cpu04");
  EXPECT_TRUE(found.portable());

  ASSERT_THAT(log_.puts, SizeIs(4));
  for (const v1::PutProblemRequest& put : log_.puts) {
    EXPECT_FALSE(put.has_calibration()) << "a campaign that comes later would be paid by it";
    EXPECT_EQ(put.keeping(), v1::PutProblemRequest::MEASURED);
    EXPECT_EQ(put.isolation_min(), v1::LANDLOCK);
  }
  ASSERT_THAT(log_.measures, SizeIs(4));
  for (const v1::MeasureRequest& request : log_.measures) {
    EXPECT_TRUE(request.fresh() && request.time());
    EXPECT_EQ(request.least_speedup(), 0);
    EXPECT_THAT(request.candidate_id(), testing::AnyOf("me/1", "me/2"));
    EXPECT_THAT(request.source(), testing::AnyOf("fast a", "fast b"));
  }
}

TEST_F(PortableTest, WhoFailsAtOneProgramIsAskedForTheNext) {
  Add("EPYC", "cpu01", [](const v1::MeasureRequest&) { return Measured(v1::CORRECT, 2); });
  Add("Xeon", "cpu02", [](const v1::MeasureRequest& request) -> absl::StatusOr<v1::Verdict> {
    if (request.source() == "fast a") return absl::DeadlineExceededError("too late");
    return Measured(v1::CRASH, 0);
  });
  // Where the worker itself fails, it is asked once more under another name.
  std::set<std::string> names;
  Add("Atom", "cpu03", [&names](const v1::MeasureRequest& request) {
    names.insert(request.candidate_id());
    return Measured(
        request.source() == "fast a" && names.size() == 1 ? v1::INFRASTRUCTURE_ERROR : v1::CORRECT,
        0.9);
  });
  const Portability found = Ask();
  ASSERT_THAT(found.programs, SizeIs(2));
  const std::vector<PortableResult>& a = found.programs[0].results;
  const std::vector<PortableResult>& b = found.programs[1].results;
  EXPECT_TRUE(a[0].wins() && b[0].wins());
  EXPECT_EQ(a[1].error, "too late");
  EXPECT_EQ(b[1].verdict.outcome(), v1::CRASH);
  EXPECT_EQ(a[2].verdict.outcome(), v1::CORRECT);
  EXPECT_THAT(names, SizeIs(3));
  EXPECT_FALSE(a[1].wins() || a[2].wins() || b[1].wins() || b[2].wins());
  EXPECT_FALSE(found.portable());
}

TEST_F(PortableTest, WhoIsCancelledIsNotAskedAnyMore) {
  Add("EPYC", "cpu01", [](const v1::MeasureRequest&) { return Measured(v1::CORRECT, 2); });
  workers_[0].worker->Cancel();
  const Portability found = Ask();
  EXPECT_THAT(found.cpu_models, IsEmpty());
  EXPECT_FALSE(found.portable());
  EXPECT_THAT(log_.measures, IsEmpty());
}

TEST_F(PortableTest, NothingIsTimedBesideARunOfThisMachine) {
  const TempDir folder = *TempDir::Make("portable");
  const absl::StatusOr<RunDir> run = RunDir::Create(folder.path() + "/run");
  ASSERT_TRUE(run.ok()) << run.status();
  Console console(/*json=*/true);
  const auto ask = [&](const std::string& file) {
    return MeasurePortability(plan_, run->paths(), incumbents_, file, nullptr, &console).status();
  };
  EXPECT_EQ(ask("").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(ask("").message()), HasSubstr("timing beside it would spoil both"));
  std::ofstream(folder.path() + "/none.yaml") << "workers: []\n";
  EXPECT_EQ(ask(folder.path() + "/none.yaml").code(), absl::StatusCode::kInvalidArgument);
  std::ofstream(run->paths().workers()) << "workers: []\n";
  EXPECT_THAT(std::string(ask("").message()), HasSubstr("every worker"));
}

// A service that has every program for twice as fast.
class FastService : public v1::Worker::Service {
 public:
  explicit FastService(std::string cpu_model) : cpu_model_(std::move(cpu_model)) {}
  grpc::Status GetInfo(grpc::ServerContext*, const v1::WorkerInfoRequest*,
                       v1::WorkerInfo* response) override {
    response->set_cpu_model(cpu_model_);
    return grpc::Status::OK;
  }
  grpc::Status PutProblem(grpc::ServerContext*, const v1::PutProblemRequest*,
                          v1::PutProblemResponse*) override {
    return grpc::Status::OK;
  }
  grpc::Status Measure(grpc::ServerContext*, const v1::MeasureRequest*,
                       v1::MeasureResponse* response) override {
    *response->mutable_verdict() = Measured(v1::CORRECT, 1.9);
    return grpc::Status::OK;
  }

 private:
  const std::string cpu_model_;
};

TEST_F(PortableTest, WhoeverOfAFileIsThereIsAskedAndTheOthersAreTold) {
  const TempDir folder = *TempDir::Make("portable");
  FastService epyc("EPYC"), xeon("Xeon");
  const auto first = RpcServer::Start({"unix:" + folder.path() + "/1", "", ""}, &epyc);
  const auto second = RpcServer::Start({"unix:" + folder.path() + "/2", "", ""}, &xeon);
  ASSERT_TRUE(first.ok() && second.ok());
  const std::string file = folder.path() + "/workers.yaml";
  std::ofstream(file) << "workers:\n";
  for (const char* socket : {"/1", "/missing", "/2"}) {
    std::ofstream(file, std::ios::app) << "- socket: " << folder.path() << socket << "\n";
  }
  // The signals' thread outlives everything that it may wake.
  static StopSignals* const signals = new StopSignals;
  Console console(/*json=*/true);
  const absl::StatusOr<Portability> found =
      MeasurePortability(plan_, RunPaths(folder.path()), incumbents_, file, signals, &console);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->cpu_models, ElementsAre("EPYC", "Xeon"));
  EXPECT_TRUE(found->portable());
  EXPECT_THAT(found->programs, SizeIs(2));
  ASSERT_THAT(found->unreached, SizeIs(1));
  EXPECT_EQ(found->unreached[0].worker, absl::StrCat("worker ", folder.path(), "/missing"));
}

}  // namespace
}  // namespace whetstone
