// Ctrl-C asks the program to finish cleanly the first time (as a first SIGTERM does), and ends it
// now the second time. The end of the terminal, or of whoever reads the output, stops nothing: what
// is printed then is lost, and the run's log has it all.
//
//   StopSignals signals;                       // before any other thread is started
//   signals.OnStop([&] { loop.Post(event::Stop{}); });
#ifndef WHETSTONE_COORDINATOR_TERMINAL_STOP_SIGNALS_H_
#define WHETSTONE_COORDINATOR_TERMINAL_STOP_SIGNALS_H_

#include <atomic>
#include <functional>
#include <mutex>

namespace whetstone {

// There is one per process, made on the main thread while it is alone: the signals stay blocked in
// this and all later threads; SIGHUP and SIGPIPE are ignored from then on. The second signal ends
// the process with exit code 130.
class StopSignals {
 public:
  StopSignals();
  // `call` is called once, on another thread, at the first signal (at once if that was before).
  // Null forgets the one given before.
  void OnStop(std::function<void()> call);
  bool stopped() const { return stopped_; }

 private:
  void Wait();
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::function<void()> call_;  // protected by mutex_
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TERMINAL_STOP_SIGNALS_H_
