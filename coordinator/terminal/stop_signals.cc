#include "coordinator/terminal/stop_signals.h"

#include <signal.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <utility>

#include "common/server.h"

namespace whetstone {

StopSignals::StopSignals() {
  BlockStopSignals();
  for (const int s : {SIGHUP, SIGPIPE}) std::signal(s, SIG_IGN);
  // The thread is detached: it lives as long as the process, and so must this object.
  std::thread([this] { Wait(); }).detach();
}

void StopSignals::Wait() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  while (true) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) continue;
    if (stopped_.exchange(true)) _exit(130);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (call_) call_();
  }
}

void StopSignals::OnStop(std::function<void()> call) {
  const std::lock_guard<std::mutex> lock(mutex_);
  call_ = std::move(call);
  if (call_ && stopped_) call_();
}

}  // namespace whetstone
