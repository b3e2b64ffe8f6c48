// These tests ask what `whet workers` and `whet pause` ask, over a real control socket, of a real
// loop with clients that answer at once.
#include "coordinator/loop/run_control.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "common/grpc_status.h"
#include "coordinator/campaign/campaign_fakes.h"
#include "coordinator/journal/pause_file.h"
#include "coordinator/journal/worker_list.h"
#include "coordinator/rpc/echo_services.h"
#include "coordinator/rpc/grpc_channel.h"

namespace whetstone {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

// Connects to anything but host "dead".
class FakeCluster final : public Cluster {
 public:
  FakeCluster() { AddWorker(ParseWorkerAddress("cpu01"), nullptr).IgnoreError(); }
  const Endpoint& trainer() const override { return trainer_; }
  std::vector<Endpoint> workers() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return workers_;
  }
  absl::StatusOr<Endpoint> AddWorker(const v1::WorkerHost& address,
                                     const std::function<bool()>&) override {
    if (address.ssh() == "dead") return absl::UnavailableError("worker dead: no route to host");
    const std::lock_guard<std::mutex> lock(mutex_);
    workers_.push_back(
        {absl::StrCat("worker ", address.ssh()), absl::StrCat("unix:/", address.ssh()), address});
    return workers_.back();
  }
  void RemoveWorker(const std::string& name) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    workers_.erase(std::find_if(workers_.begin(), workers_.end(),
                                [&](const Endpoint& worker) { return worker.name == name; }));
  }
  bool is_local() const override { return false; }
  absl::Status status() const override { return absl::OkStatus(); }

 private:
  const Endpoint trainer_{"trainer", "unix:/t", {}};
  mutable std::mutex mutex_;
  std::vector<Endpoint> workers_;
};

// The service of a StrangeWorker is no worker.
class StrangeWorker final : public EchoWorker {
 public:
  absl::StatusOr<v1::WorkerInfo> GetInfo(const CallOptions&) override {
    return absl::UnimplementedError("unknown service");
  }
};

class RunControlTest : public testing::Test {
 protected:
  void SetUp() override {
    // The directory is deeper than a socket's path may be long.
    root_ = absl::StrCat(folder_.path(), "/", std::string(120, 'd'));
    ASSERT_TRUE(MakeDirectories(root_).ok());
    paths_ = std::make_unique<RunPaths>(root_);
    journal_ = *Journal::Create(paths_->journal(), world_.plan().campaign_id);
    control_ = std::make_unique<RunControl>(*paths_, [](const std::string& target) {
      return target == "unix:/strange" ? std::make_unique<StrangeWorker>()
                                       : std::make_unique<EchoWorker>();
    });
    ASSERT_TRUE(control_->Listen().ok());
    address_.emplace(*ControlAddress::Open(*paths_));
    stub_ = v1::Coordinator::NewStub(MakeChannel(address_->target()));
    trainer_.hang_ = true;  // the campaign waits, and its workers with it
  }
  void TearDown() override {
    if (!loop_) return;
    loop_->Post(event::Stop{});
    running_.join();
    control_->Close();
  }
  void Start() {
    LoopHooks hooks;
    hooks.trainer = &trainer_;
    hooks.workers = {&worker_};
    hooks.journal = journal_.get();
    hooks.clock = &clock_;
    hooks.on_worker_left = [this](int worker) { control_->Left(worker); };
    loop_ = std::make_unique<CampaignLoop>(&world_.plan(), hooks);
    control_->Attach(loop_.get(), &cluster_, &relay_);
    relay_.Attach(cluster_, [this](CampaignEvent event) { loop_->Post(std::move(event)); });
    running_ = std::thread([this] { ended_ = loop_->Run(&state_); });
  }

  template <typename Reply, typename Request>
  absl::StatusOr<Reply> Call(grpc::Status (v1::Coordinator::Stub::*call)(grpc::ClientContext*,
                                                                         const Request&, Reply*),
                             const Request& request) {
    return CallStub(stub_.get(), call, request, {seconds(30), nullptr});
  }
  // Returns "cpu01 UP, cpu02 GONE (removed)".
  std::string List() {
    const auto list = Call(&v1::Coordinator::Stub::ListWorkers, v1::ListWorkersRequest());
    if (!list.ok()) return list.status().ToString();
    std::string text;
    for (const v1::WorkerStatus& w : list->workers()) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", w.name(), " ",
                      v1::WorkerStatus::State_Name(w.state()));
      if (!w.why().empty()) absl::StrAppend(&text, " (", w.why(), ")");
    }
    return text;
  }
  // Workers are asked what they are, and prepared, between two looks.
  bool Lists(const std::string& list) {
    if (Eventually([&] { return List() == list; }, std::chrono::seconds(10))) return true;
    EXPECT_EQ(List(), list);
    return false;
  }
  absl::Status Add(const std::string& address) {
    v1::AddWorkerRequest request;
    *request.mutable_worker() = ParseWorkerAddress(address);
    return Call(&v1::Coordinator::Stub::AddWorker, request).status();
  }
  absl::Status Leave(bool drain, const std::string& name, bool force = false) {
    v1::LeaveRequest request;
    request.set_name(name);
    request.set_force(force);
    return Call(drain ? &v1::Coordinator::Stub::DrainWorker : &v1::Coordinator::Stub::RemoveWorker,
                request)
        .status();
  }
  // Without `paused` it only asks.
  v1::PauseStatus Pause(std::optional<bool> paused) {
    v1::PauseRequest request;
    if (paused) request.set_paused(*paused);
    const auto status = Call(&v1::Coordinator::Stub::Pause, request);
    EXPECT_TRUE(status.ok()) << status.status();
    return status.value_or(v1::PauseStatus());
  }
  // Returns the workers that `whet resume` would open.
  std::string WorkerListText() {
    const v1::WorkerList worker_list = ReadWorkerList(*paths_, WorkerListOf({})).value();
    std::string text;
    for (const v1::WorkerHost& address : worker_list.workers()) {
      absl::StrAppend(&text, text.empty() ? "" : " ", WorkerAddressText(address));
    }
    return text;
  }

  TempDir folder_ = *TempDir::Make("control");
  std::string root_;
  std::unique_ptr<RunPaths> paths_;
  World world_{WorldOptions{.seed = 1, .steps = 2, .warmup = 0}};  // it gives the plan
  std::unique_ptr<Journal> journal_;
  EchoTrainer trainer_;
  EchoWorker worker_;
  SteadyClock clock_;
  FakeCluster cluster_;
  ServiceRelay relay_{nullptr};
  CampaignState state_{&world_.plan(), {"worker cpu01"}};
  std::unique_ptr<RunControl> control_;
  std::optional<ControlAddress> address_;
  std::unique_ptr<v1::Coordinator::Stub> stub_;
  std::unique_ptr<CampaignLoop> loop_;
  std::thread running_;
  absl::Status ended_;
};

TEST_F(RunControlTest, OnlyItsOwnerMayAsk) {
  struct stat info;
  ASSERT_EQ(stat((root_ + "/control.sock").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_THAT(List(), HasSubstr("UNAVAILABLE: the run's services are still being opened"));
  control_->Close();
  EXPECT_NE(stat((root_ + "/control.sock").c_str(), &info), 0);
}

TEST_F(RunControlTest, WorkersJoinAndLeave) {
  Start();
  ASSERT_TRUE(Lists("cpu01 UP"));
  EXPECT_EQ(WorkerListText(), "this machine") << "nothing changed yet: the campaign's";
  const absl::Status last = Leave(true, "cpu01");
  EXPECT_EQ(last.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(last.message()), HasSubstr("--force"));

  ASSERT_TRUE(Add("cpu02:/w.sock").ok());
  ASSERT_TRUE(Lists("cpu01 UP, cpu02 UP"));
  EXPECT_EQ(WorkerListText(), "cpu01 cpu02:/w.sock");
  const absl::Status unknown = Leave(true, "cpu3");
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(unknown.message(),
            "this run has no worker 'cpu3'; did you mean 'cpu01'? There are: cpu01, cpu02");

  ASSERT_TRUE(Leave(true, "cpu01").ok());
  ASSERT_TRUE(Lists("cpu01 GONE (drained), cpu02 UP"));
  EXPECT_EQ(WorkerListText(), "cpu02:/w.sock");
  EXPECT_EQ(cluster_.workers().size(), 1u) << "its connection is closed";
  EXPECT_EQ(Leave(false, "cpu01").message(), "cpu01 has left already: drained");
  ASSERT_TRUE(Add("cpu01").ok());
  ASSERT_TRUE(Lists("cpu02 UP, cpu01 UP")) << "it came again";
  ASSERT_TRUE(Leave(false, "cpu02:/w.sock").ok()) << "by its address";
  ASSERT_TRUE(Lists("cpu02 GONE (removed), cpu01 UP"));
  EXPECT_EQ(WorkerListText(), "cpu01");
  ASSERT_TRUE(Leave(false, "cpu01", /*force=*/true).ok());
  ASSERT_TRUE(Lists("cpu02 GONE (removed), cpu01 GONE (removed)"));
  EXPECT_EQ(WorkerListText(), "");
}

TEST_F(RunControlTest, WhatCanNotBeReachedIsNotTakenIn) {
  Start();
  ASSERT_TRUE(Lists("cpu01 UP"));
  EXPECT_EQ(Add("dead").message(), "worker dead: no route to host");
  EXPECT_THAT(std::string(Add("strange").message()), HasSubstr("what answers there is no worker"));
  EXPECT_EQ(cluster_.workers().size(), 1u) << "the connection is closed again";
  EXPECT_EQ(List(), "cpu01 UP");
  EXPECT_FALSE(ReadFile(paths_->workers()).ok());
}

TEST_F(RunControlTest, AChangeThatCanNotBeKeptIsNotMade) {
  Start();
  ASSERT_TRUE(Lists("cpu01 UP"));
  ASSERT_TRUE(MakeDirectories(paths_->workers()).ok());  // no file can be put there
  EXPECT_FALSE(Add("cpu02").ok());
  EXPECT_FALSE(Leave(false, "cpu01", /*force=*/true).ok());
  EXPECT_EQ(List(), "cpu01 UP");
  EXPECT_EQ(cluster_.workers().size(), 1u);
}

TEST_F(RunControlTest, ItPausesAndGoesOn) {
  Start();
  ASSERT_TRUE(Eventually([&] { return trainer_.hanging_.load(); }));
  const std::vector<std::string> running = {"Trainer.Generate step 1"};
  const auto names = [](const v1::PauseStatus& status) {
    return std::vector<std::string>(status.running().begin(), status.running().end());
  };
  ASSERT_TRUE(Eventually([&] { return names(Pause({})) == running; }));
  EXPECT_EQ(Pause({}).since_us(), 0) << "it was only asked";
  EXPECT_FALSE(Pause(false).changed());
  const v1::PauseStatus paused = Pause(true);
  EXPECT_TRUE(paused.changed());
  EXPECT_EQ(names(paused), running) << "what runs goes on";
  EXPECT_EQ(ReadPauseFile(paths_->paused()), absl::FromUnixSeconds(paused.since_us() / 1'000'000));
  const v1::PauseStatus again = Pause(true);
  EXPECT_FALSE(again.changed());
  EXPECT_EQ(again.since_us(), paused.since_us());
  const v1::PauseStatus goes_on = Pause(false);
  EXPECT_TRUE(goes_on.changed());
  EXPECT_EQ(goes_on.since_us(), 0);
  EXPECT_EQ(ReadPauseFile(paths_->paused()), std::nullopt);

  // It ends at once, and so does the pause.
  EXPECT_TRUE(Pause(true).changed());
  loop_->Post(event::Stop{});
  running_.join();
  EXPECT_TRUE(absl::IsCancelled(ended_));
  control_->Close();
  loop_.reset();
  EXPECT_EQ(ReadPauseFile(paths_->paused()), std::nullopt);
}

TEST_F(RunControlTest, APauseThatCanNotBeToldIsNone) {
  Start();
  ASSERT_TRUE(Lists("cpu01 UP"));
  ASSERT_TRUE(MakeDirectories(paths_->paused()).ok());  // no file can be put there
  v1::PauseRequest request;
  request.set_paused(true);
  EXPECT_FALSE(Call(&v1::Coordinator::Stub::Pause, request).ok());
  EXPECT_EQ(Pause({}).since_us(), 0);
}

TEST_F(RunControlTest, ARunThatEndsSaysSo) {
  Start();
  ASSERT_TRUE(Lists("cpu01 UP"));
  loop_->Post(event::Stop{});
  running_.join();
  EXPECT_THAT(List(), HasSubstr("UNAVAILABLE: the run is ending"));
  EXPECT_TRUE(absl::IsCancelled(ended_));
  control_->Close();
  loop_.reset();
}

}  // namespace
}  // namespace whetstone
