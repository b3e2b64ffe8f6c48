#include "coordinator/doctor/version_and_clock_check.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace whetstone {
namespace {

constexpr double kSkewSecondsMax = 2;

}  // namespace

void CheckVersion(const std::string& service, const std::string& theirs, const std::string& ours,
                  const FindingSink& found) {
  if (theirs == ours) return;
  found({Finding::Level::kWarn, service + ": version",
         absl::StrCat("it is version ", theirs, ", this is ", ours),
         "install the newer one everywhere"});
}

void CheckClock(const std::string& service, double theirs, double asked, double answered,
                const FindingSink& found) {
  if (theirs == 0 || (theirs >= asked - kSkewSecondsMax && theirs <= answered + kSkewSecondsMax))
    return;
  const double ahead = theirs - (asked + answered) / 2;
  found({Finding::Level::kWarn, service + ": clock",
         absl::StrFormat("it is %.0f s %s: the hosts' logs can't be put in order", std::fabs(ahead),
                         ahead > 0 ? "ahead" : "behind"),
         "timedatectl set-ntp true    # on that host, or here"});
}

void CheckGpu(const std::string& service, const std::string& unused_gpu, const FindingSink& found) {
  if (unused_gpu.empty()) return;
  found({Finding::Level::kWarn, service + ": GPU",
         absl::StrCat("the CPU computes there: ", unused_gpu),
         "nvidia-smi    # on that host; or start the trainer with --device cpu, if that is meant"});
}

}  // namespace whetstone
