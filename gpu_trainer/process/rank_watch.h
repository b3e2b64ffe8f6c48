// Ends the server of rank 0 when another rank is gone, as soon as the call in progress has its
// answer: nothing more can be done until the job is launched anew.
#ifndef WHETSTONE_GPU_TRAINER_PROCESS_RANK_WATCH_H_
#define WHETSTONE_GPU_TRAINER_PROCESS_RANK_WATCH_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "gpu_trainer/distributed/rank_group.h"

namespace whetstone {

class RankWatch {
 public:
  // `busy` names the work in progress, or nothing. The end comes as SIGTERM to this process.
  // Borrows the ranks; a rank that is alone has nothing to watch.
  RankWatch(const RankGroup& ranks, std::function<std::string()> busy);
  ~RankWatch();

 private:
  void Loop();

  const RankGroup& ranks_;
  const std::function<std::string()> busy_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // protected by mutex_
  std::thread thread_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_PROCESS_RANK_WATCH_H_
