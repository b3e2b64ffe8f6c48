#include "cpu_bench_worker/shared_memory/shared_region.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/unique_fd.h"

namespace whetstone {
namespace {

TEST(SharedRegionTest, ReadOnlyStaysReadOnly) {
  auto region = SharedRegion::Make("test", 8192, SharedRegion::Access::kReadOnly, -1);
  ASSERT_TRUE(region.ok()) << region.status();
  region->data()[0] = 7;  // Our own mapping is writable.
  EXPECT_EQ(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, region->fd(), 0), MAP_FAILED);
  void* view = mmap(nullptr, 8192, PROT_READ, MAP_SHARED, region->fd(), 0);
  ASSERT_NE(view, MAP_FAILED);
  EXPECT_EQ(static_cast<char*>(view)[0], 7);
  EXPECT_NE(mprotect(view, 8192, PROT_READ | PROT_WRITE), 0);
  munmap(view, 8192);
  // Opening the file again for writing does not help either.
  const UniqueFd again(
      open(absl::StrCat("/proc/self/fd/", region->fd()).c_str(), O_RDWR | O_CLOEXEC));
  if (again.get() >= 0) {
    EXPECT_EQ(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, again.get(), 0), MAP_FAILED);
    EXPECT_LT(pwrite(again.get(), "x", 1, 0), 0);
  }
}

TEST(SharedRegionTest, TheSizeIsSealed) {
  auto region = SharedRegion::Make("test", 4096, SharedRegion::Access::kReadWrite, -1);
  ASSERT_TRUE(region.ok()) << region.status();
  EXPECT_NE(ftruncate(region->fd(), 0), 0);
  EXPECT_NE(ftruncate(region->fd(), 8192), 0);
  auto empty = SharedRegion::Make("test", 0, SharedRegion::Access::kReadOnly, -1);
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->fd(), -1);
}

TEST(SharedRegionTest, IsBoundToItsNodeForEveryMapping) {
  const auto region = SharedRegion::Make("test", 8192, SharedRegion::Access::kReadWrite, 0);
  ASSERT_TRUE(region.ok()) << region.status();
  void* childs = mmap(nullptr, 8192, PROT_READ, MAP_SHARED, region->fd(), 0);
  ASSERT_NE(childs, MAP_FAILED);
  for (const void* mapping :
       {static_cast<const void*>(region->data()), static_cast<const void*>(childs)}) {
    int policy = -1;
    unsigned long nodes[16] = {};
    ASSERT_EQ(syscall(SYS_get_mempolicy, &policy, nodes, 8 * sizeof nodes, mapping, MPOL_F_ADDR),
              0);
    EXPECT_EQ(policy, MPOL_BIND);
    EXPECT_EQ(nodes[0], 1u);
  }
  munmap(childs, 8192);
  const auto nowhere = SharedRegion::Make("test", 8192, SharedRegion::Access::kReadWrite, 1000);
  EXPECT_EQ(nowhere.status().code(), absl::StatusCode::kResourceExhausted) << nowhere.status();
}

}  // namespace
}  // namespace whetstone
