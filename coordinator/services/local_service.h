// A LocalService is one service of this project as a child of this process: started, watched,
// restarted when it dies alone, stopped with us.
#ifndef WHETSTONE_COORDINATOR_SERVICES_LOCAL_SERVICE_H_
#define WHETSTONE_COORDINATOR_SERVICES_LOCAL_SERVICE_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/retry_policy.h"
#include "coordinator/process/child_process.h"
#include "coordinator/services/cluster.h"

namespace whetstone {

// Returns the path of a service's program, in `bin_dir` or, if that is empty, beside this program.
// NOT_FOUND says that it is not there.
absl::StatusOr<std::string> FindServiceBinary(const std::string& bin_dir, const std::string& name);

struct LocalServiceOptions {
  std::string name;               // "trainer"
  std::vector<std::string> argv;  // without --life-line-fd, which is added
  std::string target;             // the gRPC target it will listen on
  std::string log_path;
  // The listener is called from this service's thread. It may be empty.
  ServiceListener on_event;
  // The service may take this long from the start until it is healthy.
  std::chrono::milliseconds start_deadline{120000};
  // It is started again so often when it dies, and afresh so often once it has been healthy for
  // `settled`.
  int restarts_max = 3;
  std::chrono::milliseconds settled = kSettled;
};

// The class is thread-safe.
class LocalService {
 public:
  // Starts the service in the background.
  explicit LocalService(LocalServiceOptions options);
  // Stops it: SIGTERM, SIGKILL 5 s later.
  ~LocalService();
  // Begins to stop it, without waiting: several services then stop side by side.
  void BeginStop();

  // Waits until the service is healthy (OK), has failed (why), or `cancelled` returns true
  // (CANCELLED).
  absl::Status WaitReady(const std::function<bool()>& cancelled);
  // Returns OK while it runs or is being restarted; otherwise why it was given up.
  absl::Status status() const;

 private:
  void Run();
  // Starts the child and waits until it is healthy; the error says how that went wrong.
  absl::Status StartOnce();
  // Returns the error that tells of a child that ended.
  absl::Status Ended(const std::string& how) const;
  bool Stopping() const;
  // Sleeps; returns whether the service is being stopped.
  bool SleepUnlessStopping(std::chrono::milliseconds time);
  void Report(ServiceEvent::State state, const std::string& detail, bool restarted = false);

  const LocalServiceOptions options_;
  std::unique_ptr<ChildProcess> child_;  // used by the thread alone
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // these three protected by mutex_
  bool ready_ = false;
  absl::Status failed_;
  std::thread thread_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_SERVICES_LOCAL_SERVICE_H_
