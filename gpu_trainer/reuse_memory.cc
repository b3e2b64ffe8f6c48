#include "gpu_trainer/reuse_memory.h"

#include <c10/core/CPUAllocator.h>
#include <malloc.h>
#include <sys/mman.h>

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

// A mapping of `bytes` (whole pages), at a huge page's boundary where it is that large.
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
  madvise(aligned, bytes, MADV_HUGEPAGE);  // a wish: without it everything works, only slower
  return aligned;
}

class CachingAllocator final : public at::Allocator {
 public:
  // Never destroyed: tensors may outlive every static object.
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
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

  void ReleaseUnused() {
    const std::lock_guard lock(mutex_);
    Unmap(unused_bytes_);
  }
  TensorMemory Current() const {
    const std::lock_guard lock(mutex_);
    return {static_cast<int64_t>(used_bytes_), static_cast<int64_t>(unused_bytes_), mapped_};
  }

 private:
  CachingAllocator() : small_(c10::GetDefaultCPUAllocator()) {}

  static void Free(void* block) { Get().Give(block); }

  void* Take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto it = unused_.lower_bound(bytes);
    if (it == unused_.end() || it->first > bytes + bytes / 8) {
      Unmap(bytes);
      void* const block = Map(bytes);
      if (block == nullptr) return nullptr;
      ++mapped_;
      used_[block] = bytes;
      used_bytes_ += bytes;
      return block;
    }
    const auto [size, block] = *it;
    unused_.erase(it);
    unused_bytes_ -= size;
    used_[block] = size;
    used_bytes_ += size;
    return block;
  }

  void Give(void* block) {
    {
      const std::lock_guard lock(mutex_);
      const auto it = used_.find(block);
      if (it != used_.end()) {
        const size_t bytes = it->second;
        used_.erase(it);
        used_bytes_ -= bytes;
        unused_.emplace(bytes, block);
        unused_bytes_ += bytes;
        return;
      }
    }
    small_->raw_deleter()(block);
  }

  // At least `bytes` of unused blocks, or all, the largest first. Under mutex_.
  void Unmap(size_t bytes) {
    for (size_t freed = 0; freed < bytes && !unused_.empty();) {
      const auto largest = std::prev(unused_.end());
      munmap(largest->second, largest->first);
      freed += largest->first;
      unused_bytes_ -= largest->first;
      unused_.erase(largest);
    }
  }

  at::Allocator* const small_;
  mutable std::mutex mutex_;  // guards all below
  std::multimap<size_t, void*> unused_;
  std::unordered_map<void*, size_t> used_;
  size_t used_bytes_ = 0, unused_bytes_ = 0;
  int64_t mapped_ = 0;
};

}  // namespace

void ReuseTensorMemory() {
  c10::SetCPUAllocator(&CachingAllocator::Get(), /*priority=*/255);
  // The scratch memory of the matrix products comes from malloc: keep that, too.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

void ReleaseUnusedTensorMemory() { CachingAllocator::Get().ReleaseUnused(); }

TensorMemory CurrentTensorMemory() { return CachingAllocator::Get().Current(); }

}  // namespace whetstone
