#include "gpu_trainer/train/parallel/gradient_reducer.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace whetstone {

GradientReducer::~GradientReducer() { Finish().IgnoreError(); }

void GradientReducer::Begin() {
  started_ = opened_ = 0;
  if (!buckets_.sharded()) return;
  while (!pending_.empty()) FinishOne();
  for (size_t i = 0; i < buckets_.buckets().size(); ++i) {
    torch::Tensor flat = buckets_.buckets()[i].flat;
    if (!buckets_.TakesTurns(i)) flat.zero_();
  }
  Open(0);
}

void GradientReducer::Open(size_t i) {
  const std::vector<GradientBuckets::Bucket>& buckets = buckets_.buckets();
  for (; opened_ <= i && opened_ < buckets.size(); ++opened_) {
    if (!buckets_.TakesTurns(opened_)) continue;
    while (!pending_.empty() && pending_.front().bucket + GradientBuckets::kTurns <= opened_) {
      FinishOne();
    }
    torch::Tensor flat = buckets[opened_].flat;
    flat.zero_();
  }
}

void GradientReducer::CompleteDownTo(int64_t layer) {
  const std::vector<GradientBuckets::Bucket>& buckets = buckets_.buckets();
  while (started_ < buckets.size() && buckets[started_].down_to >= layer) {
    const GradientBuckets::Bucket& bucket = buckets[started_];
    pending_.push_back(
        {.bucket = started_,
         .finish = ranks_.StartAllReduce(absl::StrCat("gradients of ", bucket.name), bucket.flat)});
    ++started_;
    Open(started_);
  }
}

void GradientReducer::FinishOne() {
  const Pending first = std::move(pending_.front());
  pending_.pop_front();
  status_.Update(first.finish());
  if (buckets_.sharded() && status_.ok()) buckets_.Keep(buckets_.buckets()[first.bucket]);
}

absl::Status GradientReducer::Finish() {
  while (!pending_.empty()) FinishOne();
  return status_;
}

}  // namespace whetstone
