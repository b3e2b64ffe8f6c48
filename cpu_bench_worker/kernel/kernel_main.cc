// whet-kernel OBJECT calls the function of one loaded object whenever a request comes. It runs
// inside the sandbox (Profile::kRun) and is hostile from the moment the object is loaded;
// everything it is told stands in mailbox.h. It is small on purpose: it allocates nothing, takes no
// locks and opens no files after loading.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

#include "common/futex.h"
#include "cpu_bench_worker/shared_memory/mailbox.h"

namespace whetstone {
namespace {

// Maps `fd` where the parent wants it, every page present, and closes it.
bool MapAt(int fd, uint64_t address, uint64_t bytes, int protection) {
  if (bytes == 0) return true;
  void* want = reinterpret_cast<void*>(address);  // NOLINT: an address chosen by the parent
  void* got = mmap(want, bytes, protection, MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_POPULATE, fd, 0);
  close(fd);
  return got == want;
}

int Serve(const char* object) {
  void* page = mmap(nullptr, kCallTableOffset, PROT_READ | PROT_WRITE, MAP_SHARED, kMailboxFd, 0);
  if (page == MAP_FAILED) return kKernelExitSetup;
  const auto* head = static_cast<Mailbox*>(page);
  if (head->magic != kMailboxMagic) return kKernelExitSetup;
  const uint64_t words_per_call = head->words_per_call;
  const size_t bytes = kCallTableOffset + words_per_call * head->calls_max * sizeof(uint64_t);
  if (!MapAt(kInputFd, head->input_address, head->input_bytes, PROT_READ) ||
      !MapAt(kOutputFd, head->output_address, head->output_bytes, PROT_READ | PROT_WRITE)) {
    std::perror("whet-kernel: mapping inputs or outputs");
    return kKernelExitSetup;
  }
  munmap(page, kCallTableOffset);
  page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, kMailboxFd, 0);
  close(kMailboxFd);
  if (page == MAP_FAILED) return kKernelExitSetup;
  auto* mailbox = static_cast<Mailbox*>(page);
  const auto* table =
      reinterpret_cast<const uint64_t*>(static_cast<const char*>(page) + kCallTableOffset);

  void* handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
  void* symbol = handle == nullptr ? nullptr : dlsym(handle, kEntrySymbol);
  if (symbol == nullptr) {
    std::fprintf(stderr, "whet-kernel: %s\n", dlerror());
    return kKernelExitLoad;
  }
  const auto entry = reinterpret_cast<EntryFunction>(symbol);

  mailbox->ready.store(1, std::memory_order_release);
  FutexWake(&mailbox->ready, FutexScope::kShared);
  for (uint32_t seen = 0;;) {
    while (mailbox->request.load(std::memory_order_acquire) == seen)
      FutexWait(&mailbox->request, seen, FutexScope::kShared);
    ++seen;
    const uint32_t calls = mailbox->calls;
    const uint32_t wake = mailbox->wake;
    for (uint32_t call = 0; call < calls; ++call) entry(table + call * words_per_call);
    mailbox->response.store(seen, std::memory_order_release);
    if (wake != 0) FutexWake(&mailbox->response, FutexScope::kShared);
  }
}

}  // namespace
}  // namespace whetstone

int main(int argc, char** argv) {
  return argc == 2 ? whetstone::Serve(argv[1]) : whetstone::kKernelExitSetup;
}
