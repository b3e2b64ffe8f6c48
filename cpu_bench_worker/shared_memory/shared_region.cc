#include "cpu_bench_worker/shared_memory/shared_region.h"

#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

// Calls mbind(2) without libnuma; returns true when it worked.
bool Bind(void* data, size_t bytes, int node) {
  constexpr int kWordBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask(static_cast<size_t>(node / kWordBits + 1), 0);
  mask.back() = 1ul << (node % kWordBits);
  return syscall(SYS_mbind, data, bytes, MPOL_BIND, mask.data(), mask.size() * kWordBits + 1, 0) ==
         0;
}

absl::Status Failed(const char* step, const char* name, size_t bytes) {
  return absl::ResourceExhaustedError(absl::StrCat(step, " of shared memory '", name, "' (", bytes,
                                                   " bytes): ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<SharedRegion> SharedRegion::Make(const char* name, size_t bytes, Access access,
                                                int node) {
  SharedRegion region;
  if (bytes == 0) return region;
  region.size_ = bytes;
  region.fd_ = UniqueFd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (region.fd() < 0) return Failed("memfd_create", name, bytes);
  if (ftruncate(region.fd(), static_cast<off_t>(bytes)) != 0) return Failed("sizing", name, bytes);
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, region.fd(), 0);
  if (data == MAP_FAILED) return Failed("mapping", name, bytes);
  region.data_ = static_cast<char*>(data);
  // The policy belongs to the file, so it holds for the children's mappings too.
  if (node >= 0 && !Bind(data, bytes, node)) return Failed("binding to its node", name, bytes);
  // Pages that can't be had are an error here and not a SIGBUS later.
  if (const int error = posix_fallocate(region.fd(), 0, static_cast<off_t>(bytes)); error != 0) {
    errno = error;
    return Failed("allocation", name, bytes);
  }
  for (size_t at = 0; at < bytes; at += 4096) region.data_[at] = 0;
  int seals = F_SEAL_SHRINK | F_SEAL_GROW;
  if (access == Access::kReadOnly) seals |= F_SEAL_FUTURE_WRITE;
  if (fcntl(region.fd(), F_ADD_SEALS, seals | F_SEAL_SEAL) != 0)
    return Failed("sealing", name, bytes);
  if (access == Access::kReadOnly) {
    const std::string path = absl::StrCat("/proc/self/fd/", region.fd());
    UniqueFd read_only(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (read_only.get() < 0) return Failed("opening read-only", name, bytes);
    region.fd_ = std::move(read_only);
  }
  return region;
}

SharedRegion& SharedRegion::operator=(SharedRegion&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(fd_, other.fd_);
  return *this;
}

SharedRegion::~SharedRegion() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace whetstone
