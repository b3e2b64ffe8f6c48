#include "gpu_trainer/rpc/sample_partition.h"

namespace whetstone {

std::vector<std::vector<int32_t>> SamplesOfRank(const v1::GenerateRequest& request, int rank,
                                                int ranks) {
  int64_t all = 0;
  for (const v1::PromptGroup& group : request.groups()) all += group.samples_size();
  const int64_t begin = all * rank / ranks, end = all * (rank + 1) / ranks;
  std::vector<std::vector<int32_t>> mine;
  int64_t i = 0;
  for (const v1::PromptGroup& group : request.groups()) {
    std::vector<int32_t>& samples = mine.emplace_back();
    for (const int32_t sample : group.samples()) {
      if (i >= begin && i < end) samples.push_back(sample);
      ++i;
    }
  }
  return mine;
}

}  // namespace whetstone
