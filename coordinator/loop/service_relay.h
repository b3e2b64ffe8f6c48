// Turns a cluster's service events into events of the campaign.
//
// The cluster speaks from its own threads, about names, and already while it is being opened; the
// campaign knows indices and exists only afterwards. The relay remembers each service's latest
// state until the campaign is there, and then passes on changes. Thread-safe.
#ifndef WHETSTONE_COORDINATOR_LOOP_SERVICE_RELAY_H_
#define WHETSTONE_COORDINATOR_LOOP_SERVICE_RELAY_H_

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "coordinator/campaign/campaign_events.h"
#include "coordinator/services/cluster.h"
#include "coordinator/terminal/console.h"
#include "coordinator/terminal/stop_signals.h"

namespace whetstone {

class ServiceRelay {
 public:
  // `on_detail` (may be empty) hears every event's text, for the console.
  explicit ServiceRelay(std::function<void(const std::string&)> on_detail)
      : on_detail_(std::move(on_detail)) {}
  // Takes an event of the cluster; it is meant for ClusterOptions::on_event.
  void Hear(const ServiceEvent& event);
  // Sends events to `post` from here on, at first the present state of every service of `cluster`.
  void Attach(const Cluster& cluster, std::function<void(CampaignEvent)> post);
  // Adds the worker that the cluster has got, with its index, and passes on its present state. It
  // is called while attached.
  void AddWorker(const std::string& name, ServiceIndex index);
  void Detach();
  // Returns the services that are being connected or have been lost, and why those were, "trainer
  // gpu01, worker cpu03 (connection reset)"; empty: none is.
  std::string Missing();

 private:
  void Pass(const ServiceEvent& event);
  void PassPresent(const std::string& name);
  const std::function<void(const std::string&)> on_detail_;
  std::mutex mutex_;
  std::map<std::string, ServiceEvent> latest_;   // protected by mutex_
  std::map<std::string, ServiceIndex> indices_;  // protected by mutex_
  std::function<void(CampaignEvent)> post_;      // protected by mutex_
};

// Returns a ClusterOptions::cancelled that says whether the run was stopped; meanwhile, every
// second, it tells whom the cluster waits for, as logins and starts may take minutes. All are
// borrowed, the relay as the cluster's listener.
std::function<bool()> StoppedWhileOpening(ServiceRelay* relay, const StopSignals* signals,
                                          Console* console);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_LOOP_SERVICE_RELAY_H_
