// Ends the process of rank 0 when nothing more will come of it, so that the job can be launched
// anew: when another rank is gone, as soon as the call in progress has its answer; and, of a rank
// that is alone, when an update or a generation gets no further. Several ranks watch each other's
// work (rank_group.h).
//
//   const RankWatch watch(ranks, [&] { return service.Busy(); }, std::chrono::minutes(10), End);
#ifndef WHETSTONE_GPU_TRAINER_PROCESS_RANK_WATCH_H_
#define WHETSTONE_GPU_TRAINER_PROCESS_RANK_WATCH_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "gpu_trainer/distributed/rank_group.h"

namespace whetstone {

// Stillness is how long a process has been busy with one thing and got no further. It counts looks,
// not the clock: a process that was suspended was not still.
class Stillness {
 public:
  static constexpr std::chrono::milliseconds kLookEvery{200};

  // `busy` is the work in progress, and `work` how many pieces of it (and others) are done. It is
  // called every kLookEvery, and returns how long that has been so.
  std::chrono::milliseconds Look(const std::string& busy, int64_t work);

 private:
  std::string busy_;
  int64_t work_ = 0;
  int looks_ = 0;
};

class RankWatch {
 public:
  // `busy` names the work in progress, or nothing. The end comes as SIGTERM to this process where
  // another rank is gone, and through `hangs` (UNAVAILABLE, once, on the watch's thread) where the
  // work has got no further for `work_deadline`: it can't be interrupted. Borrows the ranks.
  RankWatch(const RankGroup& ranks, std::function<std::string()> busy,
            std::chrono::milliseconds work_deadline,
            std::function<void(const absl::Status&)> hangs);
  ~RankWatch();

 private:
  void Loop();

  const RankGroup& ranks_;
  const std::function<std::string()> busy_;
  const std::chrono::milliseconds work_deadline_;
  const std::function<void(const absl::Status&)> hangs_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // protected by mutex_
  std::thread thread_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_PROCESS_RANK_WATCH_H_
