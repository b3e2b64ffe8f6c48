// whet-kernel OBJECT: calls the function of one loaded object whenever the doorbell rings. Runs
// inside the sandbox (Profile::kRun), hostile from the moment the object is loaded; everything it
// is told stands in doorbell.h. Small on purpose: no allocation, no locks, no files after loading.
#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdio>

#include "cpu_bench_worker/shared_memory/doorbell.h"

namespace whetstone {
namespace {

void FutexWait(std::atomic<uint32_t>* word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT, value, nullptr, nullptr, 0);
}

void FutexWake(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Maps `fd` where the parent wants it, every page present, and closes it.
bool MapAt(int fd, uint64_t address, uint64_t bytes, int protection) {
  if (bytes == 0) return true;
  void* want = reinterpret_cast<void*>(address);  // NOLINT: an address chosen by the parent
  void* got = mmap(want, bytes, protection, MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_POPULATE, fd, 0);
  close(fd);
  return got == want;
}

int Serve(const char* object) {
  void* page = mmap(nullptr, kSlotTableOffset, PROT_READ | PROT_WRITE, MAP_SHARED, kDoorbellFd, 0);
  if (page == MAP_FAILED) return kKernelExitSetup;
  const auto* head = static_cast<Doorbell*>(page);
  if (head->magic != kDoorbellMagic) return kKernelExitSetup;
  const uint64_t slots_per_call = head->slots_per_call;
  const size_t bytes = kSlotTableOffset + slots_per_call * head->calls_max * sizeof(uint64_t);
  if (!MapAt(kInputFd, head->input_address, head->input_bytes, PROT_READ) ||
      !MapAt(kOutputFd, head->output_address, head->output_bytes, PROT_READ | PROT_WRITE)) {
    std::perror("whet-kernel: mapping inputs or outputs");
    return kKernelExitSetup;
  }
  munmap(page, kSlotTableOffset);
  page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, kDoorbellFd, 0);
  close(kDoorbellFd);
  if (page == MAP_FAILED) return kKernelExitSetup;
  auto* door = static_cast<Doorbell*>(page);
  const auto* table =
      reinterpret_cast<const uint64_t*>(static_cast<const char*>(page) + kSlotTableOffset);

  void* handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
  void* symbol = handle == nullptr ? nullptr : dlsym(handle, kEntrySymbol);
  if (symbol == nullptr) {
    std::fprintf(stderr, "whet-kernel: %s\n", dlerror());
    return kKernelExitLoad;
  }
  const auto entry = reinterpret_cast<EntryFunction>(symbol);

  door->ready.store(1, std::memory_order_release);
  FutexWake(&door->ready);
  for (uint32_t seen = 0;;) {
    while (door->bell.load(std::memory_order_acquire) == seen) FutexWait(&door->bell, seen);
    ++seen;
    const uint32_t calls = door->calls;
    const uint32_t wake = door->wake;
    for (uint32_t call = 0; call < calls; ++call) entry(table + call * slots_per_call);
    door->answer.store(seen, std::memory_order_release);
    if (wake != 0) FutexWake(&door->answer);
  }
}

}  // namespace
}  // namespace whetstone

int main(int argc, char** argv) {
  return argc == 2 ? whetstone::Serve(argv[1]) : whetstone::kKernelExitSetup;
}
