// Memory shared with a kernel process: a memory file of fixed size that this process maps writable.
#ifndef WHETSTONE_CPU_BENCH_WORKER_SHARED_MEMORY_SHARED_REGION_H_
#define WHETSTONE_CPU_BENCH_WORKER_SHARED_MEMORY_SHARED_REGION_H_

#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace whetstone {

class SharedRegion {
 public:
  enum class Access {
    kReadWrite,  // the child may write too
    // `fd` is opened read-only and the file is sealed: no process can map or write it again, so
    // neither mprotect nor a re-opened descriptor undoes it. Our own mapping stays writable.
    kReadOnly,
  };
  // `bytes` of 0 makes an empty region (data null, fd -1). The size is sealed: a child can't shrink
  // it under our feet. All its pages are there at once, on NUMA node `node` (-1: wherever the
  // kernel puts them). RESOURCE_EXHAUSTED: no memory, or none on that node.
  static absl::StatusOr<SharedRegion> Make(const char* name, size_t bytes, Access access, int node);

  SharedRegion() = default;
  SharedRegion(SharedRegion&& other) noexcept { *this = std::move(other); }
  SharedRegion& operator=(SharedRegion&& other) noexcept;
  ~SharedRegion();

  char* data() const { return data_; }
  size_t size() const { return size_; }
  // The descriptor for the child; stays owned by the region.
  int fd() const { return fd_.get(); }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
  UniqueFd fd_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_SHARED_MEMORY_SHARED_REGION_H_
