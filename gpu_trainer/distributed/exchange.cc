// Tensors that ranks hold in parts: RankGroup::StartExchange and ToFirst.
#include <algorithm>

#include "common/status_macros.h"
#include "gpu_trainer/distributed/channel.h"
#include "gpu_trainer/distributed/rank_group.h"

namespace whetstone {

RankGroup::Finish RankGroup::StartExchange(absl::string_view what, const torch::Tensor& rows) {
  // A ring carries every other rank's row over each link.
  const double bytes = static_cast<double>(rows.nbytes()) * (size() - 1) / size();
  return Start(what, bytes, rows.is_cpu(), [&] {
    torch::Tensor out = rows, mine = rows.narrow(0, rank(), 1);
    return channel_->BackendFor(rows.device())._allgather_base(out, mine);
  });
}

absl::StatusOr<std::vector<torch::Tensor>> RankGroup::ToFirst(absl::string_view what,
                                                              const torch::Tensor& mine,
                                                              const std::vector<int64_t>& sizes) {
  if (alone()) return std::vector<torch::Tensor>{mine};
  // c10d gathers pieces of one size.
  const int64_t longest = *std::max_element(sizes.begin(), sizes.end());
  std::vector<torch::Tensor> in = {mine};
  if (mine.numel() < longest) {
    in[0] = torch::zeros({longest}, torch::kByte);
    in[0].narrow(0, 0, mine.numel()).copy_(mine);
  }
  std::vector<std::vector<torch::Tensor>> out;
  if (rank() == 0) {
    out.emplace_back();
    for (size_t r = 0; r < sizes.size(); ++r) {
      out[0].push_back(torch::empty({longest}, torch::kByte));
    }
  }
  RETURN_IF_ERROR(channel_->Meet(
      what, [&] { return Works{channel_->BackendFor(torch::kCPU).gather(out, in)}; }));
  if (rank() > 0) return std::vector<torch::Tensor>();
  for (size_t r = 0; r < sizes.size(); ++r) out[0][r] = out[0][r].narrow(0, 0, sizes[r]);
  return out[0];
}

}  // namespace whetstone
