// A CalibrationCache keeps calibrations from one worker process to the next, for programs measured
// by hand: one file each, in a folder of the user's own. What cannot be trusted or read is as if it
// were not there.
//
//   const CalibrationCache cache(CalibrationCache::DefaultFolder(), {"/opt/bin/whet-worker", …});
//   std::optional<v1::Calibration> kept = cache.Find(problem_hash, info, UnixSeconds());
//   if (!kept) cache.Keep(problem_hash, info, measured).IgnoreError();
//
// It is thread-safe, also among processes: files appear whole.
#ifndef WHETSTONE_CPU_BENCH_WORKER_MEASURE_CALIBRATION_CACHE_H_
#define WHETSTONE_CPU_BENCH_WORKER_MEASURE_CALIBRATION_CACHE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "whetstone/v1/worker.pb.h"

namespace whetstone {

class CalibrationCache {
 public:
  // A calibration that is older is measured again.
  static constexpr double kSecondsMax = 24 * 3600;
  // Beyond so many files the oldest are removed.
  static constexpr size_t kFilesMax = 64;

  // Returns $XDG_CACHE_HOME/whetstone/calibrations, or that below ~/.cache; "" where neither is
  // known.
  static std::string DefaultFolder();

  // `programs` are those that measure: with one of another size or time of writing, nothing of what
  // was kept is found. Nothing is kept in the folder "".
  CalibrationCache(std::string folder, std::vector<std::string> programs)
      : folder_(std::move(folder)), programs_(std::move(programs)) {}

  // Returns what was kept of the problem on a host of which `info` told the same (its boot,
  // processor, cores, compilers and isolation; not the noise of the moment), measured at most
  // kSecondsMax before `unix_now`. Returns none where there is no such file, it is damaged, or
  // folder or file is not this user's or may be written by others.
  std::optional<v1::Calibration> Find(const std::string& problem_hash, const v1::WorkerInfo& info,
                                      double unix_now) const;

  // Keeps one that has its unix_time; makes the folder, mode 0700, where it is missing.
  // PERMISSION_DENIED: the folder is another user's, or others may write to it.
  absl::Status Keep(const std::string& problem_hash, const v1::WorkerInfo& info,
                    const v1::Calibration& calibration) const;

 private:
  // KeyOf returns all that a calibration hangs on, NameOf the name of the file kept under it.
  std::string KeyOf(const std::string& problem_hash, v1::WorkerInfo info) const;
  static std::string NameOf(const std::string& key);
  void RemoveOldest() const;

  const std::string folder_;
  const std::vector<std::string> programs_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_MEASURE_CALIBRATION_CACHE_H_
