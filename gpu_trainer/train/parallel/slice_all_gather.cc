#include "gpu_trainer/train/parallel/slice_all_gather.h"

#include <algorithm>
#include <utility>

#include "gpu_trainer/train/optim/shard_plan.h"

namespace whetstone {
namespace {

// One message has so many bytes of all ranks together.
constexpr int64_t kMessageBytes = int64_t{8} << 20;
// One message is on its way and the next is ready.
constexpr size_t kSentMax = 2;

}  // namespace

SliceAllGather::SliceAllGather(RankGroup& ranks)
    : ranks_(ranks),
      message_bytes_(kMessageBytes / ranks.size()),
      next_(static_cast<size_t>(ranks.size())),
      next_bytes_(next_.size()) {}

void SliceAllGather::Add(size_t index, const torch::Tensor& tensor) {
  if (ranks_.alone()) return;
  device_ = tensor.device();
  const torch::Tensor bytes = tensor.view({-1}).view(torch::kByte);
  const int64_t width = static_cast<int64_t>(tensor.itemsize());
  std::vector<torch::Tensor> slices;
  int64_t longest = 0;
  for (int r = 0; r < ranks_.size(); ++r) {
    const Slice slice = SliceOf(tensor.numel(), index, r, ranks_.size());
    slices.push_back(bytes.narrow(0, width * slice.begin, width * slice.size()));
    longest = std::max(longest, slices.back().numel());
  }
  for (int64_t at = 0; at < longest; at += message_bytes_) {
    for (size_t r = 0; r < slices.size(); ++r) {
      const int64_t n = std::min(slices[r].numel() - at, message_bytes_);
      if (n <= 0) continue;
      next_[r].push_back(slices[r].narrow(0, at, n));
      next_bytes_[r] += n;
    }
    if (*std::max_element(next_bytes_.begin(), next_bytes_.end()) >= message_bytes_) Send();
  }
}

absl::Status SliceAllGather::Finish() {
  Send();
  while (!sent_.empty()) Receive();
  return status_;
}

void SliceAllGather::Send() {
  const int64_t row = *std::max_element(next_bytes_.begin(), next_bytes_.end());
  if (row == 0) return;
  if (sent_.size() == kSentMax) Receive();
  std::fill(next_bytes_.begin(), next_bytes_.end(), 0);
  Message message{.runs = std::exchange(next_, RunsByRank(next_.size())), .rows = {}, .finish = {}};
  const size_t me = static_cast<size_t>(ranks_.rank());
  message.rows = torch::empty({ranks_.size(), row}, torch::dtype(torch::kByte).device(device_));
  int64_t at = 0;
  for (const torch::Tensor& run : message.runs[me]) {
    message.rows[ranks_.rank()].narrow(0, at, run.numel()).copy_(run);
    at += run.numel();
  }
  message.finish = ranks_.StartAllGather("the others' weights", message.rows);
  sent_.push_back(std::move(message));
}

void SliceAllGather::Receive() {
  const Message message = std::move(sent_.front());
  sent_.pop_front();
  const absl::Status status = message.finish();
  if (status_.ok()) status_ = status;
  if (!status.ok()) return;
  for (int r = 0; r < ranks_.size(); ++r) {
    if (r == ranks_.rank()) continue;
    int64_t at = 0;
    for (torch::Tensor run : message.runs[static_cast<size_t>(r)]) {
      run.copy_(message.rows[r].narrow(0, at, run.numel()));
      at += run.numel();
    }
  }
}

}  // namespace whetstone
