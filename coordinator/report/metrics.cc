#include "coordinator/report/metrics.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/durable/step_row.h"

namespace whetstone {
namespace {

// GRPO scalars keep their names and steps; warm-up ones get a prefix, as those of evaluations have,
// so that curves do not mix.
std::map<std::string, double> Tagged(const MetricsRow& row) {
  if (row.name.phase() != v1::UpdateName::WARMUP) return row.values;
  std::map<std::string, double> tagged;
  for (const auto& [key, value] : row.values) tagged["warmup/" + key] = value;
  return tagged;
}

// An earlier version wrote no times: its points get that of the reading.
double UnixTimeOf(const MetricsRow& row) {
  return row.time_us ? static_cast<double>(*row.time_us) / 1e6 : UnixSeconds();
}

std::string LineOf(const MetricsRow& row) {
  return absl::StrCat(RowJson(row.name, row.time_us, row.values), "\n");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Metrics>> Metrics::Open(const RunPaths& paths,
                                                       const Journal& journal) {
  std::unique_ptr<Metrics> metrics(new Metrics());
  metrics->path_ = paths.metrics();
  std::error_code error;
  std::filesystem::remove_all(paths.tensorboard(), error);
  RETURN_IF_ERROR(MakeDirectories(paths.tensorboard()));
  ASSIGN_OR_RETURN(metrics->tensorboard_, TensorBoardWriter::Create(paths.tensorboard()));
  std::string lines;
  absl::Status status;
  RETURN_IF_ERROR(journal.ForEachRow([&](const MetricsRow& row) {
    lines += LineOf(row);
    if (status.ok()) {
      status = metrics->tensorboard_->Add(UnixTimeOf(row), row.name.step(), Tagged(row));
    }
  }));
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(WriteFileAtomically(paths.metrics(), lines));
  metrics->fd_ = open(paths.metrics().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (metrics->fd_ < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", paths.metrics()));
  }
  return metrics;
}

Metrics::~Metrics() {
  if (fd_ >= 0) close(fd_);
}

absl::Status Metrics::Add(const MetricsRow& row) {
  const std::string line = LineOf(row);
  const ssize_t n = write(fd_, line.data(), line.size());
  if (n != static_cast<ssize_t>(line.size())) {
    const bool full = n >= 0 || errno == ENOSPC;
    return full ? absl::ResourceExhaustedError(
                      absl::StrCat("cannot write ", path_,
                                   ": the disk is full; nothing is lost: free some "
                                   "space, then go on with whet resume"))
                : absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path_));
  }
  return tensorboard_->Add(UnixTimeOf(row), row.name.step(), Tagged(row));
}

}  // namespace whetstone
