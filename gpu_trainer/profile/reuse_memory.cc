#include "gpu_trainer/profile/reuse_memory.h"

#include <c10/core/CPUAllocator.h>
#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>

namespace whetstone {
namespace {

constexpr size_t kSmallest = size_t{1} << 20;
constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;

size_t RoundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

// Maps `bytes` (whole pages), at a huge page's boundary where it is that large.
void* Map(size_t bytes) {
  const size_t slack = bytes >= kHugePage ? kHugePage : 0;
  void* mapped =
      mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(mapped);
  if (slack == 0) return begin;
  char* const aligned =
      reinterpret_cast<char*>(RoundUp(reinterpret_cast<size_t>(begin), kHugePage));
  if (aligned > begin) munmap(begin, static_cast<size_t>(aligned - begin));
  const size_t tail = static_cast<size_t>(begin + slack - aligned);
  if (tail > 0) munmap(aligned + bytes, tail);
  madvise(aligned, bytes,
          MADV_HUGEPAGE);  // It is a wish: without it everything works, only slower.
  return aligned;
}

class CachingAllocator final : public at::Allocator {
 public:
  // The allocator is never destroyed: tensors may outlive every static object.
  static CachingAllocator& Get() {
    static CachingAllocator* const allocator = new CachingAllocator();
    return *allocator;
  }

  at::DataPtr allocate(size_t bytes) override {
    if (bytes < kSmallest) return small_->allocate(bytes);
    void* const block = Take(RoundUp(bytes, kPage));
    TORCH_CHECK_WITH(OutOfMemoryError, block != nullptr, "no memory for a tensor of ", bytes,
                     " bytes");
    return {block, block, &Free, at::Device(at::kCPU)};
  }
  at::DeleterFnPtr raw_deleter() const override { return &Free; }
  int64_t unused_bytes() {
    const std::lock_guard lock(mutex_);
    return static_cast<int64_t>(unused_bytes_);
  }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

 private:
  CachingAllocator() : small_(c10::GetDefaultCPUAllocator()) {}

  static void Free(void* block) { Get().Give(block); }

  void* Take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto fit = unused_.lower_bound(bytes);
    if (fit == unused_.end() || fit->first > bytes + bytes / 8) {
      most_used_bytes_ = std::max(most_used_bytes_, used_bytes_ + bytes);
      UnmapDownTo(most_used_bytes_ - used_bytes_ - bytes);
      void* const block = Map(bytes);
      if (block != nullptr) Use(block, bytes);
      return block;
    }
    const size_t size = fit->first;
    // The block given back last is most likely still in a cache.
    const auto last_given = std::prev(unused_.upper_bound(size));
    void* const block = last_given->second.memory;
    unused_.erase(last_given);
    unused_bytes_ -= size;
    Use(block, size);
    return block;
  }

  void Use(void* block, size_t bytes) {
    used_[block] = bytes;
    used_bytes_ += bytes;
  }

  void Give(void* block) {
    {
      const std::lock_guard lock(mutex_);
      const auto it = used_.find(block);
      if (it != used_.end()) {
        const size_t bytes = it->second;
        used_.erase(it);
        used_bytes_ -= bytes;
        unused_.emplace(bytes, Unused{block, ++given_});
        unused_bytes_ += bytes;
        return;
      }
    }
    small_->raw_deleter()(block);
  }

  // Unmaps unused blocks, those longest unused first, until at most `bytes` of them are left.
  void UnmapDownTo(size_t bytes) {
    while (unused_bytes_ > bytes) {
      const auto oldest = std::min_element(
          unused_.begin(), unused_.end(),
          [](const auto& a, const auto& b) { return a.second.given < b.second.given; });
      munmap(oldest->second.memory, oldest->first);
      unused_bytes_ -= oldest->first;
      unused_.erase(oldest);
    }
  }

  struct Unused {
    void* memory;
    uint64_t given;  // The count of blocks given back when this one was.
  };

  at::Allocator* const small_;
  std::mutex mutex_;                      // It guards all below.
  std::multimap<size_t, Unused> unused_;  // By bytes.
  std::unordered_map<void*, size_t> used_;
  size_t used_bytes_ = 0, unused_bytes_ = 0;
  size_t most_used_bytes_ = 0;
  uint64_t given_ = 0;
};

}  // namespace

int64_t UnusedTensorBytes() { return CachingAllocator::Get().unused_bytes(); }

void ReuseTensorMemory() {
  c10::SetCPUAllocator(&CachingAllocator::Get(), /*priority=*/255);
  // The scratch memory of the matrix products comes from malloc, so that is kept, too.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

}  // namespace whetstone
