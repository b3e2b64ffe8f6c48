#include "sandbox/init/work_files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "common/unique_fd.h"
#include "sandbox/init/report.h"

namespace whetstone {
namespace {

int OpenInWork(std::string_view name, uint64_t flags, uint64_t mode) {
  open_how how = {};
  how.flags = flags | O_NOFOLLOW | O_CLOEXEC;
  how.mode = mode;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS;
  const int directory = open("/work", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return -1;
  const long fd = syscall(SYS_openat2, directory, name.data(), &how, sizeof(how));
  const int error = errno;
  close(directory);
  errno = error;
  return static_cast<int>(fd);
}

bool ReadRegular(int fd, int64_t bytes_max, std::string* content) {
  struct stat info = {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > bytes_max) return false;
  content->resize(static_cast<size_t>(info.st_size));
  size_t done = 0;
  while (done < content->size()) {
    const ssize_t got = read(fd, content->data() + done, content->size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

void WriteWorkFiles(const Plan& plan) {
  for (const auto& [name, content] : plan.files) {
    const UniqueFd fd(OpenInWork(name, O_WRONLY | O_CREAT | O_EXCL, 0644));
    if (fd.get() < 0) FailSetup(SetupStep::kWriteFiles, errno, name);
    size_t done = 0;
    while (done < content.size()) {
      const ssize_t wrote = write(fd.get(), content.data() + done, content.size() - done);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) FailSetup(SetupStep::kWriteFiles, errno, name);
      done += static_cast<size_t>(wrote);
    }
  }
}

std::vector<CollectedFile> CollectWorkFiles(const Plan& plan) {
  std::vector<CollectedFile> files;
  for (size_t i = 0; i < plan.collect.size(); ++i) {
    // With O_NONBLOCK opening a FIFO does not wait for a writer.
    const UniqueFd fd(OpenInWork(plan.collect[i], O_RDONLY | O_NONBLOCK, 0));
    if (fd.get() < 0) continue;
    CollectedFile file;
    file.collect_index = static_cast<int64_t>(i);
    if (ReadRegular(fd.get(), plan.file_bytes, &file.content)) files.push_back(std::move(file));
  }
  return files;
}

}  // namespace whetstone
