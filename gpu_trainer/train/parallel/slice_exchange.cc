#include "gpu_trainer/train/parallel/slice_exchange.h"

#include <algorithm>
#include <utility>

#include "gpu_trainer/train/optim/shard_plan.h"

namespace whetstone {
namespace {

// Of all ranks together.
constexpr int64_t kPieceBytes = int64_t{8} << 20;
// One is on its way and the next is ready.
constexpr size_t kSentMost = 2;

}  // namespace

SliceExchange::SliceExchange(RankGroup& ranks)
    : ranks_(ranks),
      piece_bytes_(kPieceBytes / ranks.size()),
      next_(static_cast<size_t>(ranks.size())),
      next_bytes_(next_.size()) {}

void SliceExchange::Add(size_t index, const torch::Tensor& tensor) {
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
  for (int64_t at = 0; at < longest; at += piece_bytes_) {
    for (size_t r = 0; r < slices.size(); ++r) {
      const int64_t n = std::min(slices[r].numel() - at, piece_bytes_);
      if (n <= 0) continue;
      next_[r].push_back(slices[r].narrow(0, at, n));
      next_bytes_[r] += n;
    }
    if (*std::max_element(next_bytes_.begin(), next_bytes_.end()) >= piece_bytes_) Send();
  }
}

absl::Status SliceExchange::Finish() {
  Send();
  while (!sent_.empty()) Receive();
  return status_;
}

void SliceExchange::Send() {
  const int64_t row = *std::max_element(next_bytes_.begin(), next_bytes_.end());
  if (row == 0) return;
  if (sent_.size() == kSentMost) Receive();
  std::fill(next_bytes_.begin(), next_bytes_.end(), 0);
  Sent sent{.parts = std::exchange(next_, Parts(next_.size())), .rows = {}, .finish = {}};
  const size_t me = static_cast<size_t>(ranks_.rank());
  sent.rows = torch::empty({ranks_.size(), row}, torch::dtype(torch::kByte).device(device_));
  int64_t at = 0;
  for (const torch::Tensor& part : sent.parts[me]) {
    sent.rows[ranks_.rank()].narrow(0, at, part.numel()).copy_(part);
    at += part.numel();
  }
  sent.finish = ranks_.StartExchange("the others' weights", sent.rows);
  sent_.push_back(std::move(sent));
}

void SliceExchange::Receive() {
  const Sent sent = std::move(sent_.front());
  sent_.pop_front();
  const absl::Status status = sent.finish();
  if (status_.ok()) status_ = status;
  if (!status.ok()) return;
  for (int r = 0; r < ranks_.size(); ++r) {
    if (r == ranks_.rank()) continue;
    int64_t at = 0;
    for (torch::Tensor part : sent.parts[static_cast<size_t>(r)]) {
      part.copy_(sent.rows[r].narrow(0, at, part.numel()));
      at += part.numel();
    }
  }
}

}  // namespace whetstone
