// Callers are hostile here, or die. Garbage, mutilated problems, and calls that end before their
// answer must each get an error or a verdict, leave the worker as it was, and let the next honest
// candidate be measured. There are 40 problems and 100 calls; WHETSTONE_SOAK=10000
// (tests/run_all.sh --full) sends 1,000 of each.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "common/problem/problem_hash.h"
#include "common/server.h"
#include "common/tree_testing.h"
#include "cpu_bench_worker/measure/worker_bench.h"
#include "cpu_bench_worker/problem/small_kernel.h"
#include "cpu_bench_worker/service/worker_service.h"
#include "tests/abuse/abuse_testing.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;
using testing::AnyOf;

int Asked(int usually) {
  const char* asked = std::getenv("WHETSTONE_SOAK");
  return asked == nullptr ? usually : std::max(40, std::atoi(asked) / 10);
}

// HostState but for descriptors, of which gRPC keeps some for calls to come.
std::string Host() {
  std::vector<std::string> lines = absl::StrSplit(HostState(), '\n');
  std::erase_if(lines, [](const std::string& line) { return line.starts_with("descriptors"); });
  return absl::StrJoin(lines, "\n");
}

class HostileCallerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // The worker's folder is made in a folder of our own, so that whatever is left shows.
    setenv("TMPDIR", dir_.path().c_str(), /*overwrite=*/1);
    MeasurerOptions options;
    options.bin_dir = BinDir();
    options.slots = 1;
    auto measurer = Measurer::Create(options);
    ASSERT_TRUE(measurer.ok()) << measurer.status();
    measurer_ = std::move(*measurer);
    service_.emplace(measurer_.get(), "test", &calibrations_, /*grace=*/milliseconds(200));
    const std::string address = absl::StrCat("unix:", dir_.path(), "/socket");
    auto server = RpcServer::Start({address, "", ""}, &*service_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = std::move(*server);
    channel_ = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
    stub_ = v1::Worker::NewStub(channel_);
    v1::PutProblemRequest request = Put(problem_);
    v1::PutProblemResponse response;
    grpc::ClientContext context;
    const grpc::Status put = stub_->PutProblem(&context, request, &response);
    ASSERT_TRUE(put.ok()) << put.error_message();
    calibration_ = response.calibration();
    ExpectNextIsMeasured();
  }

  void TearDown() override { unsetenv("TMPDIR"); }

  static v1::PutProblemRequest Put(const v1::Problem& problem) {
    v1::PutProblemRequest request;
    *request.mutable_problem() = problem;
    request.set_problem_hash(ProblemHash(problem));
    return request;
  }

  v1::MeasureRequest Candidate(const std::string& source) {
    v1::MeasureRequest request;
    request.set_problem_hash(ProblemHash(problem_));
    request.set_candidate_id(absl::StrCat("candidate/", ++candidates_));
    request.set_source(source);
    request.set_time(true);
    return request;
  }

  void ExpectNextIsMeasured() {
    v1::MeasureResponse response;
    grpc::ClientContext context;
    const grpc::Status status =
        stub_->Measure(&context, Candidate(Variant(problem_.expert(), ++variants_)), &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.verdict().outcome(), v1::CORRECT) << response.verdict().detail();
    EXPECT_GT(response.verdict().speedup(), 1.2);
  }

  // Sends bytes where a message is expected.
  grpc::StatusCode Send(const std::string& method, const std::string& bytes) {
    grpc::GenericStub stub(channel_);
    grpc::ClientContext context;
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> ended;
    stub.UnaryCall(&context, absl::StrCat("/whetstone.v1.Worker/", method), {}, &request, &response,
                   [&](grpc::Status status) { ended.set_value(std::move(status)); });
    return ended.get_future().get().error_code();
  }

  // What a worker must not pile up.
  struct Left {
    int64_t files, descriptors, threads;
    std::string host;
  };
  Left Now() const {
    return {CountBelow(dir_.path()), CountIn("/proc/self/fd"), CountIn("/proc/self/task"), Host()};
  }
  void ExpectNothingLeft(const Left& before) const {
    Left now;
    EXPECT_TRUE(Eventually([&] {
      now = Now();
      return now.files <= before.files && now.descriptors <= before.descriptors + 16 &&
             now.threads <= before.threads + 16 && now.host == before.host;
    })) << "files "
        << now.files << ", before " << before.files << "; descriptors " << now.descriptors
        << ", before " << before.descriptors << "; threads " << now.threads << ", before "
        << before.threads << "; " << now.host << "\nbefore " << before.host;
  }

  const v1::Problem problem_ = SmallKernelProblem();
  const TempDir dir_ = *TempDir::Make("callers");
  const CalibrationCache calibrations_{dir_.path() + "/calibrations", {}};
  std::unique_ptr<Measurer> measurer_;
  std::optional<WorkerService> service_;
  std::unique_ptr<RpcServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Worker::Stub> stub_;
  v1::Calibration calibration_;
  int candidates_ = 0;
  int variants_ = 0;
};

TEST_F(HostileCallerTest, GarbageIsRefused) {
  const Left before = Now();
  std::mt19937 random(1);
  // GetInfo takes anything: its request has no fields.
  for (const char* method : {"PutProblem", "Measure", "Cancel", "NoSuchMethod"}) {
    for (const size_t bytes : {size_t{100}, size_t{100'000}, size_t{80} << 20}) {
      std::string garbage(bytes, '\0');
      for (char& byte : garbage) byte = static_cast<char>(random());
      EXPECT_NE(Send(method, garbage), grpc::StatusCode::OK) << method << ", " << bytes;
    }
  }
  ExpectNextIsMeasured();
  ExpectNothingLeft(before);
}

TEST_F(HostileCallerTest, AMutilatedProblemIsRefusedWholeOrTaken) {
  const std::string whole = problem_.SerializeAsString();
  std::mt19937 random(2);
  const Left before = Now();
  int64_t files_of_one = 0;
  int refused = 0, taken = 0;
  for (int i = 0; i < Asked(40); ++i) {
    std::string bytes = whole;
    const int mutations = 1 + static_cast<int>(random() % 4);
    for (int m = 0; m < mutations; ++m)
      bytes[random() % bytes.size()] = static_cast<char>(random() % 128);
    v1::Problem problem;
    if (!problem.ParseFromString(bytes)) continue;
    v1::PutProblemRequest request = Put(problem);
    *request.mutable_calibration() = calibration_;  // It is compiled, and not timed.
    v1::PutProblemResponse response;
    grpc::ClientContext context;
    const int64_t files = CountBelow(dir_.path());
    const grpc::Status status = stub_->PutProblem(&context, request, &response);
    EXPECT_THAT(status.error_code(),
                AnyOf(grpc::StatusCode::OK, grpc::StatusCode::INVALID_ARGUMENT,
                      grpc::StatusCode::FAILED_PRECONDITION, grpc::StatusCode::RESOURCE_EXHAUSTED))
        << i << ": " << status.error_message();
    if (status.ok()) {
      ++taken;
      files_of_one = std::max(files_of_one, CountBelow(dir_.path()) - files);
    } else {
      ++refused;
      EXPECT_NE(status.error_message(), "");
    }
  }
  EXPECT_GT(refused, 0);
  std::printf("  %d refused, %d taken, of %ld files at most each\n", refused, taken, files_of_one);
  ExpectNextIsMeasured();
  Left allowed = before;
  allowed.files += taken * files_of_one;
  ExpectNothingLeft(allowed);
}

TEST_F(HostileCallerTest, WhoeverHangsUpLeavesNothing) {
  const auto hang_up = [&](int calls) {
    constexpr int kCallers = 4;
    std::vector<std::thread> callers;
    std::atomic<int> hung_up = 0;
    for (int c = 0; c < kCallers; ++c) {
      std::vector<v1::MeasureRequest> requests;
      for (int i = c; i < calls; i += kCallers)
        requests.push_back(Candidate(Variant(problem_.reference(), ++variants_)));
      callers.emplace_back([&, c, requests] {
        std::mt19937 random(static_cast<uint32_t>(c));
        for (const v1::MeasureRequest& request : requests) {
          grpc::ClientContext context;
          context.set_deadline(std::chrono::system_clock::now() + milliseconds(random() % 150));
          v1::MeasureResponse response;
          if (stub_->Measure(&context, request, &response).error_code() ==
              grpc::StatusCode::DEADLINE_EXCEEDED)
            ++hung_up;
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    return hung_up.load();
  };
  const auto seconds = [](const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  hang_up(10);  // What is made once is made.
  const double one = seconds([&] { ExpectNextIsMeasured(); });
  const Left before = Now();
  const int calls = Asked(100);
  const int hung_up = hang_up(calls);
  EXPECT_GT(hung_up, calls / 2);
  const double after = seconds([&] { ExpectNextIsMeasured(); });
  std::printf("  %d of %d calls hung up; the next took %.1f s, before %.1f s\n", hung_up, calls,
              after, one);
  // Each of them, measured to its end, takes longer than the honest one, which is stopped early.
  EXPECT_LT(after, hung_up * one / 2);
  ExpectNothingLeft(before);
}

}  // namespace
}  // namespace whetstone
