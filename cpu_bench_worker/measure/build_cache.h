// What screening and compiling made of sources seen before: a policy that has found something
// repeats itself to the letter.
//
//   const std::string key = BuildKey(problem_hash, compiler.version(), source);
//   if (const auto artefact = cache.Find(key)) return *artefact;
//
// Thread-safe.
#ifndef WHETSTONE_CPU_BENCH_WORKER_MEASURE_BUILD_CACHE_H_
#define WHETSTONE_CPU_BENCH_WORKER_MEASURE_BUILD_CACHE_H_

#include <memory>
#include <mutex>
#include <string>

#include "cpu_bench_worker/measure/pipeline.h"
#include "cpu_bench_worker/measure/recently_used.h"

namespace whetstone {

// SHA-256 (hex) over everything that decides what a source becomes: the problem (its signature,
// flags and headers), the tool chain and the source itself.
std::string BuildKey(const std::string& problem_hash, const std::string& tool_chain,
                     const std::string& source);

class BuildCache {
 public:
  // Keeps at most `bytes_max` of objects and verdicts; the least recently used go first.
  explicit BuildCache(size_t bytes_max) : artefacts_(bytes_max) {}

  // Null: it is not known, or not any more.
  std::shared_ptr<const Artefact> Find(const std::string& key);
  // Keeps what another build would end with too, but for the time that it took: finding takes none.
  void Add(const std::string& key, const Artefact& artefact);

 private:
  std::mutex mutex_;
  RecentlyUsed<const Artefact> artefacts_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_MEASURE_BUILD_CACHE_H_
