#include "coordinator/report/machine_health.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "coordinator/report/health_limits.h"
#include "coordinator/report/measuring_health.h"

namespace whetstone {

std::optional<HealthFinding> DiskHealth(const std::string& folder, int64_t checkpoint_bytes) {
  struct statvfs info = {};
  if (statvfs(folder.c_str(), &info) != 0) return std::nullopt;
  const double free = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize);
  // One more than is kept is there while the next is written, and the one after it will be.
  const double needed = kDiskFreeMin + 2 * static_cast<double>(checkpoint_bytes);
  if (free >= needed) return std::nullopt;
  return HealthFinding{
      "disk_full",
      absl::StrFormat("%.1f GB are free where the run lies, and it should have %.1f", free / 1e9,
                      needed / 1e9),
      "free space, or set checkpoint.keep lower; a full disk stops the run, and loses nothing"};
}

int64_t BytesBelow(const std::string& folder, const std::vector<CheckpointEntry>& checkpoints) {
  const bool below =
      !checkpoints.empty() && absl::StartsWith(checkpoints.back().path, folder + "/");
  return below ? checkpoints.back().bytes : 0;
}

double LongestStep(const std::vector<std::map<std::string, double>>& rows) {
  double longest_s = 0;
  for (size_t i = rows.size() - std::min<size_t>(rows.size(), kHealthSteps); i < rows.size(); ++i) {
    const auto took_s = rows[i].find("time/step");
    if (took_s != rows[i].end()) longest_s = std::max(longest_s, took_s->second);
  }
  return longest_s;
}

std::optional<HealthFinding> StallHealth(double silent_s, double step_s) {
  if (silent_s < std::max(kStallSecondsMin, kStallSteps * step_s)) return std::nullopt;
  return HealthFinding{
      "stalled", absl::StrFormat("nothing has come of it for %.0f minutes", silent_s / 60),
      "whet logs RUN says what it waits for, whet workers RUN who measures; what is journaled "
      "stays, also if it is stopped and resumed"};
}

absl::StatusOr<std::vector<HealthFinding>> OtherHealth(
    const RunPaths& paths, const Journal& journal, const std::vector<CheckpointEntry>& checkpoints,
    std::optional<double> step_s) {
  ASSIGN_OR_RETURN(std::vector<HealthFinding> found, MeasuringHealth(journal));
  const auto disk = DiskHealth(paths.root(), BytesBelow(paths.root(), checkpoints));
  if (disk) found.push_back(*disk);
  if (!step_s) return found;
  ASSIGN_OR_RETURN(const std::optional<int64_t> last_us, journal.LastTimeUs());
  const double silent_s = last_us ? static_cast<double>(UnixMicros() - *last_us) / 1e6 : 0;
  const auto stall = StallHealth(silent_s, *step_s);
  if (stall) found.push_back(*stall);
  return found;
}

}  // namespace whetstone
