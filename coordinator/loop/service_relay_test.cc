#include "coordinator/loop/service_relay.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

class StillCluster final : public Cluster {
 public:
  const Endpoint& trainer() const override { return trainer_; }
  std::vector<Endpoint> workers() const override { return workers_; }
  absl::StatusOr<Endpoint> AddWorker(const v1::WorkerHost&, const std::function<bool()>&) override {
    return absl::UnimplementedError("");
  }
  void RemoveWorker(const std::string&) override {}
  bool is_local() const override { return true; }
  absl::Status status() const override { return absl::OkStatus(); }

 private:
  const Endpoint trainer_{"trainer", "unix:/t", {}};
  const std::vector<Endpoint> workers_{{"worker a", "unix:/a", {}}, {"worker b", "unix:/b", {}}};
};

using State = ServiceEvent::State;

class ServiceRelayTest : public testing::Test {
 protected:
  void Attach() {
    relay_.Attach(cluster_, [this](CampaignEvent event) {
      if (const auto* e = std::get_if<event::ServiceReady>(&event)) {
        heard_.push_back(absl::StrCat("ready ", e->service));
      } else if (const auto* e = std::get_if<event::ServiceLost>(&event)) {
        heard_.push_back(absl::StrCat("lost ", e->service, " ", e->detail));
      } else if (const auto* e = std::get_if<event::ServiceFailed>(&event)) {
        heard_.push_back(absl::StrCat("failed ", e->service, " ", e->detail));
      }
    });
  }
  std::vector<std::string> Heard() { return std::exchange(heard_, {}); }

  StillCluster cluster_;
  ServiceRelay relay_{nullptr};
  std::vector<std::string> heard_;
};

TEST_F(ServiceRelayTest, TellsThePresentStateOnce) {
  relay_.Hear({"trainer", State::kConnecting, "starting", false});
  relay_.Hear({"trainer", State::kReady, "", true});
  relay_.Hear({"worker a", State::kReady, "", true});
  relay_.Hear({"worker a", State::kLost, "broke", false});
  Attach();
  EXPECT_EQ(Heard(), (std::vector<std::string>{"ready -1", "lost 0 broke", "ready 1"}))
      << "a service nothing was heard of is healthy: the cluster is open";
}

TEST_F(ServiceRelayTest, NamesWhomTheClusterStillWaitsFor) {
  relay_.Hear({"worker a", State::kConnecting, "connecting", false});
  relay_.Hear({"trainer", State::kConnecting, "starting", false});
  EXPECT_EQ(relay_.Missing(), "trainer, worker a");
  relay_.Hear({"trainer", State::kReady, "", true});
  relay_.Hear({"worker a", State::kLost, "no route to host", false});
  relay_.Hear({"worker b", State::kFailed, "its host key has changed", false});
  EXPECT_EQ(relay_.Missing(), "worker a (no route to host)");
}

TEST_F(ServiceRelayTest, PassesOnChangesOnly) {
  Attach();
  Heard();
  relay_.Hear({"worker b", State::kReady, "", false});
  EXPECT_EQ(Heard(), std::vector<std::string>{}) << "it was ready all the time";
  relay_.Hear({"worker b", State::kReady, "", true});
  EXPECT_EQ(Heard(), std::vector<std::string>{"ready 1"}) << "another process";
  relay_.Hear({"worker b", State::kLost, "gone", false});
  relay_.Hear({"worker b", State::kConnecting, "again", false});
  relay_.Hear({"worker b", State::kReady, "", false});
  EXPECT_EQ(Heard(), (std::vector<std::string>{"lost 1 gone", "ready 1"}));
  relay_.Hear({"trainer", State::kFailed, "three times", false});
  EXPECT_EQ(Heard(), std::vector<std::string>{"failed -1 three times"});
  relay_.Hear({"stranger", State::kFailed, "", false});
  relay_.Detach();
  relay_.Hear({"trainer", State::kLost, "", false});
  EXPECT_EQ(Heard(), std::vector<std::string>{});
}

TEST_F(ServiceRelayTest, AWorkerThatJoinsIsTheNextOne) {
  Attach();
  Heard();
  relay_.Hear({"worker c", State::kConnecting, "", false});
  relay_.Hear({"worker c", State::kReady, "", false});
  EXPECT_EQ(Heard(), std::vector<std::string>{}) << "nobody's yet";
  relay_.AddWorker("worker c", 2);
  relay_.Hear({"worker c", State::kLost, "broke", false});
  EXPECT_EQ(Heard(), (std::vector<std::string>{"ready 2", "lost 2 broke"}));
  relay_.Hear({"worker a", State::kReady, "", false});
  relay_.AddWorker("worker a", 3);
  relay_.Hear({"worker a", State::kLost, "gone", false});
  EXPECT_EQ(Heard(), (std::vector<std::string>{"ready 3", "lost 3 gone"})) << "come back anew";
}

}  // namespace
}  // namespace whetstone
