// Tests run ranks as threads of their process, that meet on loopback as processes do.
//
//   RunAsRanks(2, [](RankGroup& ranks) { EXPECT_EQ(ranks.size(), 2); });
#ifndef WHETSTONE_GPU_TRAINER_DISTRIBUTED_RANKS_TESTING_H_
#define WHETSTONE_GPU_TRAINER_DISTRIBUTED_RANKS_TESTING_H_

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "gpu_trainer/distributed/free_port.h"
#include "gpu_trainer/distributed/rank_group.h"

namespace whetstone {

inline RankOptions QuickRanks() {
  return {.join_deadline = std::chrono::seconds(60),
          .work_deadline = std::chrono::seconds(60),
          .heartbeat = std::chrono::milliseconds(200)};
}

// A rank's body throws it to end as a killed process does: its connections close and its heart
// stops.
struct Vanish {};

// Each rank has one CPU thread. Returns when all have returned.
inline void RunAsRanks(int size, const std::function<void(RankGroup&)>& body,
                       const RankOptions& options = QuickRanks()) {
  // c10d's flight recorder is one for the process and adds a group to its map without a lock:
  // groups in several threads break it. It reads this once, at the first use.
  setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/1);
  RankPlace place{.world_size = size, .local_size = size, .master_address = "127.0.0.1"};
  place.master_port = FreeLoopbackPort().value();
  std::vector<std::thread> threads;
  for (place.rank = 0; place.rank < size; ++place.rank) {
    threads.emplace_back([place, &body, &options] {
      at::set_num_threads(1);
      auto ranks = RankGroup::Join(place, options);
      ASSERT_TRUE(ranks.ok()) << ranks.status();
      try {
        body(**ranks);
      } catch (const Vanish&) {
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_DISTRIBUTED_RANKS_TESTING_H_
