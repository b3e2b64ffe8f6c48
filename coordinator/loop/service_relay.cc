#include "coordinator/loop/service_relay.h"

#include <chrono>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

namespace whetstone {

void ServiceRelay::Hear(const ServiceEvent& event) {
  if (on_detail_) on_detail_(absl::StrCat(event.service, ": ", event.detail));
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto before = latest_.find(event.service);
  const bool was_ready =
      before != latest_.end() && before->second.state == ServiceEvent::State::kReady;
  latest_[event.service] = event;
  if (!post_) return;
  // "Ready" again without anything lost in between says nothing new.
  if (event.state == ServiceEvent::State::kReady && was_ready && !event.restarted) return;
  Pass(event);
}

void ServiceRelay::Pass(const ServiceEvent& event) {
  const auto index = indices_.find(event.service);
  if (index == indices_.end()) return;
  switch (event.state) {
    case ServiceEvent::State::kConnecting:
      return;
    case ServiceEvent::State::kReady:
      return post_(event::ServiceReady{index->second});
    case ServiceEvent::State::kLost:
      return post_(event::ServiceLost{index->second, event.detail});
    case ServiceEvent::State::kFailed:
      return post_(event::ServiceFailed{index->second, event.detail});
  }
}

// An open cluster's services are healthy unless it said otherwise since.
void ServiceRelay::PassPresent(const std::string& name) {
  ServiceEvent& event = latest_[name];
  if (event.service.empty() || event.state == ServiceEvent::State::kConnecting) {
    event = {name, ServiceEvent::State::kReady, "", false};
  }
  Pass(event);
}

void ServiceRelay::Attach(const Cluster& cluster, std::function<void(CampaignEvent)> post) {
  const std::lock_guard<std::mutex> lock(mutex_);
  indices_[cluster.trainer().name] = kTrainer;
  ServiceIndex next = 0;
  for (const Endpoint& worker : cluster.workers()) indices_[worker.name] = next++;
  post_ = std::move(post);
  for (const auto& [name, index] : indices_) PassPresent(name);
}

void ServiceRelay::AddWorker(const std::string& name, ServiceIndex index) {
  const std::lock_guard<std::mutex> lock(mutex_);
  indices_[name] = index;
  if (post_) PassPresent(name);
}

std::string ServiceRelay::Missing() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string missing;
  for (const auto& [name, event] : latest_) {
    if (event.state != ServiceEvent::State::kConnecting &&
        event.state != ServiceEvent::State::kLost) {
      continue;
    }
    absl::StrAppend(&missing, missing.empty() ? "" : ", ", name);
    if (event.state == ServiceEvent::State::kLost)
      absl::StrAppend(&missing, " (", event.detail, ")");
  }
  return missing;
}

void ServiceRelay::Detach() {
  const std::lock_guard<std::mutex> lock(mutex_);
  post_ = nullptr;
}

std::function<bool()> StoppedWhileOpening(ServiceRelay* relay, const StopSignals* signals,
                                          Console* console) {
  using std::chrono::steady_clock;
  return [=, since = steady_clock::now(), told_s = int64_t{0}]() mutable {
    const int64_t waited_s =
        std::chrono::duration_cast<std::chrono::seconds>(steady_clock::now() - since).count();
    if (std::exchange(told_s, waited_s) != waited_s) {
      const std::string missing = relay->Missing();
      if (!missing.empty()) {
        console->Status(absl::StrCat(waited_s, " s waiting for ", missing));
      }
    }
    return signals->stopped();
  };
}

}  // namespace whetstone
