#include "cpu_bench_worker/service/worker_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "common/problem/problem_hash.h"
#include "common/server.h"
#include "cpu_bench_worker/problem/test_problems.h"

namespace whetstone {
namespace {

// FakeMeasurer records what arrives and answers what it is told.
class FakeMeasurer final : public Measurer {
 public:
  absl::StatusOr<v1::Calibration> PutProblem(const v1::Problem&,
                                             const v1::Calibration* known) override {
    ++puts;
    had_calibration = known != nullptr;
    if (known != nullptr) return *known;
    return calibration;
  }
  absl::StatusOr<v1::Verdict> Measure(const v1::MeasureRequest& request) override {
    if (measures_until_cancelled) {
      ++started;
      EXPECT_TRUE(Eventually([&] {
        const std::lock_guard lock(mutex);
        return testing::Value(cancelled, testing::Contains(request.candidate_id()));
      }));
      ++ended;
    }
    return verdict;
  }
  void Cancel(const std::vector<std::string>& ids) override {
    const std::lock_guard lock(mutex);
    cancelled = ids;
  }
  v1::WorkerInfo Info() override {
    v1::WorkerInfo info;
    info.set_slots(3);
    info.set_host_id(boot);
    info.set_isolation_level(v1::LANDLOCK);
    info.add_isolation_missing("control groups: boot with them");
    return info;
  }

  std::string boot = "first boot";
  int puts = 0;
  bool had_calibration = false;
  absl::StatusOr<v1::Calibration> calibration = v1::Calibration();
  absl::StatusOr<v1::Verdict> verdict = v1::Verdict();
  std::mutex mutex;
  std::vector<std::string> cancelled;
  bool measures_until_cancelled = false;
  std::atomic<int> started = 0;
  std::atomic<int> ended = 0;
};

class WorkerServiceTest : public ::testing::Test {
 protected:
  const TempDir dir_ = *TempDir::Make("service");
  const CalibrationCache calibrations_{dir_.path() + "/calibrations", {}};
  FakeMeasurer measurer_;
  WorkerService service_{&measurer_, "1.2.3", &calibrations_};
  grpc::ServerContext context_;
};

TEST_F(WorkerServiceTest, InfoHasTheVersion) {
  v1::WorkerInfo info;
  ASSERT_TRUE(service_.GetInfo(&context_, nullptr, &info).ok());
  EXPECT_EQ(info.version(), "1.2.3");
  EXPECT_EQ(info.slots(), 3);
}

TEST_F(WorkerServiceTest, TheHashIsChecked) {
  v1::PutProblemRequest request;
  v1::PutProblemResponse response;
  *request.mutable_problem() = MatmulProblem();
  request.set_problem_hash("wrong");
  const grpc::Status refused = service_.PutProblem(&context_, &request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << "nobody's problem";
  EXPECT_TRUE(absl::StrContains(refused.error_message(), "'wrong'")) << refused.error_message();
  EXPECT_EQ(measurer_.puts, 0);
  request.set_problem_hash(ProblemHash(request.problem()));
  ASSERT_TRUE(service_.PutProblem(&context_, &request, &response).ok());
  EXPECT_EQ(measurer_.puts, 1);
  EXPECT_FALSE(measurer_.had_calibration);
  request.mutable_calibration()->set_noise_band(0.01);
  ASSERT_TRUE(service_.PutProblem(&context_, &request, &response).ok());
  EXPECT_TRUE(measurer_.had_calibration);
}

// Returns a calibration that has just been measured.
v1::Calibration MeasuredNow(double noise_band) {
  v1::Calibration calibration;
  calibration.set_noise_band(noise_band);
  calibration.set_unix_time(UnixSeconds());
  return calibration;
}

TEST_F(WorkerServiceTest, CalibrationsAreKeptForWhoeverAsksForThem) {
  v1::PutProblemRequest request;
  v1::PutProblemResponse response;
  *request.mutable_problem() = MatmulProblem();
  request.set_problem_hash(ProblemHash(request.problem()));
  const auto put = [&](v1::PutProblemRequest::Keeping keeping) {
    request.set_keeping(keeping);
    EXPECT_TRUE(service_.PutProblem(&context_, &request, &response).ok());
    return response.calibration().noise_band();
  };
  measurer_.calibration = MeasuredNow(0.01);
  EXPECT_EQ(put(v1::PutProblemRequest::MEASURED), 0.01);
  EXPECT_FALSE(std::filesystem::exists(dir_.path() + "/calibrations")) << "a campaign's";
  EXPECT_EQ(put(v1::PutProblemRequest::KEPT), 0.01);
  measurer_.calibration = MeasuredNow(0.02);
  EXPECT_EQ(put(v1::PutProblemRequest::KEPT), 0.01) << "of the first call";
  EXPECT_TRUE(measurer_.had_calibration);
  EXPECT_EQ(put(v1::PutProblemRequest::MEASURED), 0.02) << "nobody else is given it";
  EXPECT_EQ(put(v1::PutProblemRequest::RENEWED), 0.02);
  EXPECT_FALSE(measurer_.had_calibration);
  measurer_.calibration = MeasuredNow(0.03);
  EXPECT_EQ(put(v1::PutProblemRequest::KEPT), 0.02) << "the one that was renewed";
  measurer_.boot = "second boot";
  EXPECT_EQ(put(v1::PutProblemRequest::KEPT), 0.03);
}

TEST_F(WorkerServiceTest, RefusesWhatDemandsMoreIsolation) {
  v1::PutProblemRequest request;
  v1::PutProblemResponse response;
  *request.mutable_problem() = MatmulProblem();
  request.set_problem_hash(ProblemHash(request.problem()));
  request.set_isolation_min(v1::CGROUPS);
  const grpc::Status refused = service_.PutProblem(&context_, &request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(absl::StrContains(refused.error_message(),
                                "level LANDLOCK, and CGROUPS is demanded; it lacks control groups: "
                                "boot with them"))
      << refused.error_message();
  EXPECT_EQ(measurer_.puts, 0);
  request.set_isolation_min(v1::LANDLOCK);
  EXPECT_TRUE(service_.PutProblem(&context_, &request, &response).ok());
}

TEST_F(WorkerServiceTest, StatusesKeepTheirCodes) {
  v1::MeasureRequest request;
  v1::MeasureResponse response;
  measurer_.verdict = absl::FailedPreconditionError("call PutProblem first");
  EXPECT_EQ(service_.Measure(&context_, &request, &response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  v1::Verdict verdict;
  verdict.set_outcome(v1::CRASH);
  measurer_.verdict = verdict;
  ASSERT_TRUE(service_.Measure(&context_, &request, &response).ok()) << "a crash is a verdict";
  EXPECT_EQ(response.verdict().outcome(), v1::CRASH);
}

TEST_F(WorkerServiceTest, CancelPassesTheIds) {
  v1::CancelRequest request;
  v1::CancelResponse response;
  request.add_candidate_ids("a");
  request.add_candidate_ids("b");
  ASSERT_TRUE(service_.Cancel(&context_, &request, &response).ok());
  EXPECT_EQ(measurer_.cancelled, (std::vector<std::string>{"a", "b"}));
}

TEST_F(WorkerServiceTest, AClientThatHangsUpFreesItsSlot) {
  measurer_.measures_until_cancelled = true;
  WorkerService service(&measurer_, "1.2.3", &calibrations_, std::chrono::milliseconds(100));
  const std::string address = absl::StrCat("unix:", dir_.path(), "/socket");
  const auto server = RpcServer::Start({address, "", ""}, &service);
  ASSERT_TRUE(server.ok()) << server.status();
  const auto stub =
      v1::Worker::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::MeasureRequest request;
  request.set_candidate_id("abandoned");
  v1::MeasureResponse response;
  std::thread caller([&] {
    EXPECT_EQ(stub->Measure(&context, request, &response).error_code(),
              grpc::StatusCode::CANCELLED);
  });
  EXPECT_TRUE(Eventually([&] { return measurer_.started == 1; }));
  context.TryCancel();
  caller.join();
  EXPECT_TRUE(Eventually([&] { return measurer_.ended == 1; }));
}

}  // namespace
}  // namespace whetstone
